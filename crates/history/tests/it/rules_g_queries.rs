//! G: tests which candles a query selects. Unless stated otherwise, the time is Sunday 2026-11-15,
//! 12:00.

use crate::common::{Shop, days, full_shop, symbol, volume};
use market::Market;

fn check(question: &str, expected: &str) {
    check_at("2026-11-15 12:00", question, expected);
}

fn check_at(now: &str, question: &str, expected: &str) {
    assert_eq!(full_shop().ask(now, question), expected, "{question} at {now}");
}

#[test]
fn g1_anchors_are_stamps_and_are_not_rounded() {
    check("700.HK week {0, 20231018, -, 2}", "2023-10-09 2023-10-16");
    check("700.HK week {1, 20231018, -, 2}", "2023-10-23 2023-10-30");
    check("700.HK month {0, 20231018, -, 1}", "2023-10-01");
    check("700.HK month {1, 20231018, -, 1}", "2023-11-01");
    check("700.HK quarter {0, 20231231, -, 2}", "2023-07-01 2023-10-01");
    check("700.HK year {1, 20230102, -, 2}", "2024-01-01 2025-01-01");
    check("700.HK 60m {0, 20230103, 0935, 1}", "2023-01-03 09:30");
    check("700.HK 60m {0, 20230103, 0930, 1}", "2023-01-03 09:30");
    check("700.HK 60m {1, 20230103, 0931, 1}", "2023-01-03 10:30");
    check("700.HK 240m {1, 20230103, 0931, 2}", "2023-01-03 13:00 2023-01-04 09:30");
}

#[test]
fn g1_an_anchor_does_not_cut_the_candle_it_selects() {
    let content = |question: &str| full_shop().ask_with("2026-11-15 12:00", question, volume);
    // The candle of the anchor's week is selected by its stamp and served whole.
    assert_eq!(content("700.HK week {0, 20231018, -, 1}"), "2023-10-16×5");
    assert_eq!(content("700.HK 60m {0, 20230103, 0935, 1}"), "2023-01-03 09:30×60");
    assert_eq!(content("700.HK 120m {0, 20230103, 1500, 1}"), "2023-01-03 15:00×61");
    assert_eq!(content("700.HK 120m {1, 20230103, 1301, 1}"), "2023-01-03 15:00×61");
    assert_eq!(
        content("700.HK year {0, 20200101, -, 1}"),
        format!("2020-01-01×{}", days(Market::Hk, "2020-01-01", "2020-12-31").len())
    );
}

#[test]
fn g2_dates_are_the_local_dates_of_the_stamps() {
    // Sunday evening belongs to Monday's trading day, but is selected by Sunday's date.
    check("AAPL.US 60m +all [20250706, 20250706]", "2025-07-06 20:00 21:00 22:00 23:00");
    // On the half day before the holiday, there is no evening session and a gap after 17:00.
    check("AAPL.US 60m +all [20250703, 20250703]", "2025-07-03 00:00 … 2025-07-03 16:00 (18)");
    check("AAPL.US 60m +all [20250704, 20250705]", "");
    check("AAPL.US 60m +all {1, 20250704, -, 1}", "2025-07-06 20:00");
    check("AAPL.US 120m +all [20251127, 20251127]", "2025-11-27 20:00 22:00");
    check("AAPL.US 60m +all {0, 20250707, 0000, 2}", "2025-07-06 23:00 2025-07-07 00:00");
}

#[test]
fn g3_invalid_dates_and_times_are_refused() {
    let date = |text: &str| format!("bad: {text:?} is not a date: write YYYYMMDD or YYYY-MM-DD");
    for wrong in
        ["2023081", "202308180", "2023-08-18", "20230230", "20231301", "20230800", "2023081a", "+2023081"]
    {
        check(&format!("700.HK day {{0, {wrong}, -, 3}}"), &date(wrong));
        check(&format!("700.HK day [{wrong}, -]"), &date(wrong));
        check(&format!("700.HK day [-, {wrong}]"), &date(wrong));
    }
    check("700.HK 1m {1, 20251223, 1158, 2}", "2025-12-23 11:58 11:59");
    check("700.HK 1m {1, 20251223, 11:58, 2}", "2025-12-23 11:58 11:59");
    for wrong in ["2400", "24:00", "1160", "9:30", "930", "09-30", "093000", "noon"] {
        let expected = format!("bad: {wrong:?} is not a time of day: write HHMM or HH:MM");
        check(&format!("700.HK 1m {{1, 20251223, {wrong}, 2}}"), &expected);
    }
}

#[test]
fn g3_daily_queries_ignore_the_minute() {
    for minute in ["0000", "1158", "2400", "noon", "99:99"] {
        for period in ["day", "week", "month", "quarter", "year"] {
            let with =
                full_shop().ask("2026-11-15 12:00", &format!("700.HK {period} {{0, 20230818, {minute}, 3}}"));
            let without =
                full_shop().ask("2026-11-15 12:00", &format!("700.HK {period} {{0, 20230818, -, 3}}"));
            assert_eq!(with, without, "{period} {minute}");
        }
    }
    check("700.HK day {0, -, noon, 1}", "2026-11-13");
}

#[test]
fn g4_direction_and_count_are_validated() {
    check("700.HK day {2}", "bad: direction 2 is neither 0 (toward the past) nor 1 (toward the present)");
    check("700.HK day {-1}", "bad: direction -1 is neither 0 (toward the past) nor 1 (toward the present)");
    check(
        "700.HK day {0, -, -, 0}",
        "2026-11-02 2026-11-03 2026-11-04 2026-11-05 2026-11-06 2026-11-09 2026-11-10 2026-11-11 2026-11-12 2026-11-13",
    );
    check("700.HK day {0, -, -, 1}", "2026-11-13");
    check("700.HK day {0, -, -, -1}", "bad: count -1 is outside 1 to 1000");
    check("700.HK day {0, -, -, 1001}", "bad: count 1001 is outside 1 to 1000");
    check("700.HK day {1, 20040601, -, 1000}", &thousand_from("2004-06-01"));
}

#[test]
fn g5_both_directions_include_the_anchor() {
    check("700.HK 1m {0, 20251223, 1158, 2}", "2025-12-23 11:57 11:58");
    check("700.HK 1m {1, 20251223, 1158, 2}", "2025-12-23 11:58 11:59");
    check("700.HK 60m {0, 20251223, -, 2}", "2025-12-23 15:00 16:00");
    check("700.HK 60m {1, 20251223, -, 2}", "2025-12-23 09:30 10:30");
    check("700.HK day {0, 20251223, -, 2}", "2025-12-22 2025-12-23");
    check("700.HK day {1, 20251223, -, 2}", "2025-12-23 2025-12-24");
}

#[test]
fn g5_the_default_date_is_the_latest_trading_day() {
    check("700.HK day {0, -, -, 2}", "2026-11-12 2026-11-13");
    check("700.HK day {1, -, -, 2}", "2026-11-13");
    check("700.HK 60m {0, -, -, 2}", "2026-11-13 15:00 16:00");
    check("700.HK 60m {1}", "2026-11-13 09:30 10:30 11:30 13:00 14:00 15:00 16:00");
    check("700.HK 60m {1, -, 1400, 3}", "2026-11-13 14:00 15:00 16:00");
    check("700.HK 60m {0, -, 1030, 2}", "2026-11-13 09:30 10:30");
    // The latest trading day changes when the quotes roll over to the new day. Candles with today's
    // stamp exist earlier.
    check_at("2026-11-16 08:49:59", "700.HK day {1}", "2026-11-13 2026-11-16");
    check_at("2026-11-16 08:50", "700.HK day {1}", "2026-11-16");
    check_at("2026-11-16 08:50", "700.HK 60m {1}", "");
    check_at("2026-11-16 08:50", "700.HK 60m {0, -, 1600, 1}", "2026-11-13 16:00");
    check_at("2026-11-16 08:59:59", "600519.SH day {1}", "2026-11-13 2026-11-16");
    check_at("2026-11-16 09:00", "600519.SH day {1}", "2026-11-16");
    check_at("2026-11-16 09:19:59", "AAPL.US 240m {1}", "2026-11-13 09:30 13:30");
    check_at(
        "2026-11-16 09:19:59",
        "AAPL.US 240m +all {1, -, 2000, 9}",
        "2026-11-15 20:00 2026-11-16 00:00 04:00 08:00",
    );
    check_at("2026-11-16 09:20", "AAPL.US 240m +all {1}", "2026-11-16 00:00 04:00 08:00");
    // Weekly candles are also selected by their stamp: Monday is before the anchor, which is
    // Friday.
    check("700.HK week {1}", "");
    check("700.HK week {0, -, -, 1}", "2026-11-09");
}

#[test]
fn g6_anchors_may_be_on_dates_without_candles() {
    check("700.HK day {1, 20230121, -, 1}", "2023-01-26");
    check("700.HK day {0, 20230125, -, 1}", "2023-01-20");
    check("700.HK day {1, 19900101, -, 2}", "2004-06-01 2004-06-02");
    check("700.HK day {0, 19900101, -, 2}", "");
    check("700.HK day {0, 20040531, -, 2}", "");
    check("700.HK day {0, 20300101, -, 2}", "2026-11-12 2026-11-13");
    check("700.HK day {1, 20300101, -, 2}", "");
    check("700.HK 60m {0, 20300101, 0930, 1}", "2026-11-13 16:00");
    check("700.HK 60m {1, 20300101, 0930, 1}", "");
    check("700.HK day {1, 20261112, -, 9}", "2026-11-12 2026-11-13");
    check("700.HK day {0, 00010101, -, 2}", "");
    check("700.HK day {1, 00010101, -, 1}", "2004-06-01");
    check("700.HK week {0, 99991231, -, 1}", "2026-11-09");
    check("700.HK 1m {1, 99991231, 2359, 1}", "");
    check("700.HK 1m {0, 99991231, 2359, 1}", "2026-11-13 16:00");
    check("700.HK 1m {1, 00010101, 0000, 1}", "2022-09-28 09:30");
}

#[test]
fn g6_the_examples_of_the_specification_are_answered() {
    check(
        "700.HK day {0}",
        "2026-11-02 2026-11-03 2026-11-04 2026-11-05 2026-11-06 2026-11-09 2026-11-10 2026-11-11 2026-11-12 2026-11-13",
    );
    check(
        "700.HK day {0, 20230818, 0000, 10}",
        "2023-08-07 2023-08-08 2023-08-09 2023-08-10 2023-08-11 2023-08-14 2023-08-15 2023-08-16 2023-08-17 2023-08-18",
    );
    check("700.HK day {1, 20230101, -, 3}", "2023-01-03 2023-01-04 2023-01-05");
    check("700.HK day {0, 20230101, -, 3}", "2022-12-28 2022-12-29 2022-12-30");
    check("700.HK 1m {1, 20251223, 1158, 5}", "2025-12-23 11:58 11:59 13:00 13:01 13:02");
    check("700.HK 1m {0, 20251223, 0000, 2}", "2025-12-22 15:59 16:00");
    check("700.HK 60m {1, 20230103, 0935, 3}", "2023-01-03 10:30 11:30 13:00");
    check("700.HK 60m {0, 20230103, 0935, 3}", "2022-10-05 15:00 16:00 2023-01-03 09:30");
}

#[test]
fn g7_only_a_range_without_an_end_is_read_from_its_start() {
    check("700.HK day [-, -]", &thousand_until("2026-11-13"));
    check("700.HK day [20040601, -]", &thousand_from("2004-06-01"));
    check("700.HK day [-, 20120601]", &thousand_until("2012-06-01"));
    check("700.HK day [20040601, 20261113]", &thousand_until("2026-11-13"));
    check("700.HK day [20040601, 20120601]", &thousand_until("2012-06-01"));
    check(
        "AAPL.US day [20250102, 20250110]",
        "2025-01-02 2025-01-03 2025-01-06 2025-01-07 2025-01-08 2025-01-10",
    );
    check("AAPL.US 1m +all [20250708, 20250708]", "2025-07-08 07:20 … 2025-07-08 23:59 (1000)");
    check("AAPL.US 1m +all [20250708, -]", "2025-07-08 00:00 … 2025-07-08 16:39 (1000)");
    check("AAPL.US 1m [20250708, 20250708]", "2025-07-08 09:30 … 2025-07-08 15:59 (390)");
}

#[test]
fn g8_date_ranges_select_candles_by_stamp() {
    check("700.HK day [20230106, 20230105]", "bad: start date 2023-01-06 is after end date 2023-01-05");
    check("700.HK day [20230105, 20230105]", "2023-01-05");
    check("700.HK day [20230121, 20230125]", "");
    check("700.HK day [20270101, -]", "");
    check("700.HK day [20270101, 20270201]", "");
    check("700.HK day [20261112, 20991231]", "2026-11-12 2026-11-13");
    check("700.HK week [20231018, 20231029]", "2023-10-23");
    check("700.HK week [20231016, 20231022]", "2023-10-16");
    check("700.HK year [20040101, 20041231]", "2004-01-01");
    check("700.HK year [20040102, 20041231]", "");
    check("700.HK 60m [20230107, 20230108]", "");
}

#[test]
fn g8_minute_queries_below_the_floor_are_refused() {
    const REFUSED: &str = "bad: out of minute kline begin date";
    check("700.HK 60m [20220927, 20220929]", REFUSED);
    check("700.HK 60m [20220927, -]", REFUSED);
    check("700.HK 60m [-, 20220927]", REFUSED);
    check("700.HK 1m [20200101, 20200102]", REFUSED);
    check("700.HK 240m [20220928, 20220928]", "2022-09-28 09:30 13:00");
    check("700.HK 240m [-, 20220928]", "2022-09-28 09:30 13:00");
    check("AAPL.US 240m +all [20231203, 20231204]", REFUSED);
    check("AAPL.US 240m [20231204, 20231204]", "2023-12-04 09:30 13:30");
    check("600519.SH 240m [20220824, 20220825]", REFUSED);
    check("600519.SH 240m [20220825, 20220825]", "2022-08-25 09:30 13:00");
    // Daily queries and offset queries are clamped instead.
    check("700.HK day [20000101, 20040602]", "2004-06-01 2004-06-02");
    check("700.HK day [-, 20040531]", "");
    check("700.HK 240m {1, 20200101, 0930, 1}", "2022-09-28 09:30");
    check("700.HK 240m {0, 20200101, 0930, 1}", "");
}

#[test]
fn the_limit_applies_after_folding() {
    let shop = Shop::new();
    let us = symbol("AAPL.US");
    shop.stock(
        &us,
        &Default::default(),
        &days(Market::Us, "2010-06-01", "2026-11-13"),
        crate::common::COARSE,
    );
    let weeks = shop.ask("2026-11-15 12:00", "AAPL.US week [-, -]");
    assert_eq!(weeks, "2010-05-31 … 2026-11-09 (859)");
    assert_eq!(shop.ask("2026-11-15 12:00", "AAPL.US week {0, -, -, 800}"), "2011-07-18 … 2026-11-09 (800)");
}

fn thousand_from(first: &str) -> String {
    let all = days(Market::Hk, first, "2026-11-13");
    spell(first, all.time[999], 1000)
}

fn thousand_until(last: &str) -> String {
    let all = days(Market::Hk, "2003-01-01", last);
    let first = all.time[all.len() - 1000];
    format!("{} … {last} (1000)", day_of(first))
}

fn spell(first: &str, last: i64, count: usize) -> String {
    format!("{first} … {} ({count})", day_of(last))
}

fn day_of(time: i64) -> market::Date {
    crate::common::venue(Market::Hk).zone().date(market::Timestamp(time))
}
