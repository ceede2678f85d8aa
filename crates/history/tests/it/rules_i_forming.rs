//! I: tests that the forming candle is included, and contains no data from the future.

use crate::common::{at, full_shop, minutes, question_of, symbol, venue, volume};
use history::{Adjust, Anchor, AsOf, Direction, Query, Select, Sessions};
use market::{Floors, Market, Period, Timestamp};

fn check(now: &str, question: &str, expected: &str) {
    assert_eq!(full_shop().ask_with(now, question, volume), expected, "{question} at {now}");
}

#[test]
fn i1_the_forming_candle_is_the_last_one() {
    check("2026-11-12 10:45:30", "700.HK 1m {0, -, -, 2}", "2026-11-12 10:44×1 10:45×1");
    check("2026-11-12 10:45:30", "700.HK 2m {0, -, -, 2}", "2026-11-12 10:42×2 10:44×2");
    check("2026-11-12 10:45:30", "700.HK 5m {0, -, -, 2}", "2026-11-12 10:40×5 10:45×1");
    check("2026-11-12 10:44:59", "700.HK 5m {0, -, -, 2}", "2026-11-12 10:35×5 10:40×5");
    check("2026-11-12 10:45:30", "700.HK 60m {0, -, -, 2}", "2026-11-12 09:30×60 10:30×16");
    check("2026-11-12 10:45:30", "700.HK 240m {0, -, -, 2}", "2026-11-11 13:00×181 2026-11-12 09:30×76");
    check("2026-11-12 10:45:30", "700.HK 60m [20261112, 20261112]", "2026-11-12 09:30×60 10:30×16");
    check("2026-11-12 10:45:30", "700.HK 60m {1, 20261112, -, 9}", "2026-11-12 09:30×60 10:30×16");
    check("2026-11-12 10:45:30", "700.HK 60m {1, 20261112, 1031, 9}", "");
}

#[test]
fn i2_a_candle_forms_starting_with_its_first_minute() {
    check("2026-11-12 09:29:59", "700.HK 60m {0, -, -, 1}", "2026-11-11 16:00×1");
    check("2026-11-12 09:30:00", "700.HK 60m {0, -, -, 1}", "2026-11-12 09:30×1");
    check("2026-11-12 12:30:00", "700.HK 60m {0, -, -, 1}", "2026-11-12 11:30×30");
    check("2026-11-12 15:59:59", "700.HK 60m {0, -, -, 1}", "2026-11-12 15:00×60");
    check("2026-11-12 16:00:00", "700.HK 60m {0, -, -, 1}", "2026-11-12 16:00×1");
    check("2026-11-12 15:59:59", "700.HK 120m {0, -, -, 1}", "2026-11-12 15:00×60");
    check("2026-11-12 16:05:00", "700.HK 120m {0, -, -, 1}", "2026-11-12 15:00×61");
    check("2025-12-24 12:00:00", "700.HK 60m {0, -, -, 1}", "2025-12-24 11:30×31");
    check("2025-12-24 11:59:59", "700.HK 60m {0, -, -, 1}", "2025-12-24 11:30×30");
    check("2026-11-12 14:59:59", "600519.SH 240m {0, -, -, 1}", "2026-11-12 13:00×120");
    check("2026-11-12 15:00:00", "600519.SH 240m {0, -, -, 1}", "2026-11-12 13:00×121");
    check("2026-11-12 20:10:00", "AAPL.US 60m +all {0, -, -, 2}", "2026-11-12 19:00×60 20:00×11");
    check("2026-11-12 20:10:00", "AAPL.US 60m +ext {0, -, -, 2}", "2026-11-12 18:00×60 19:00×60");
    check("2026-11-12 20:10:00", "AAPL.US 60m {0, -, -, 2}", "2026-11-12 14:30×60 15:30×30");
    check("2026-11-13 09:40:00", "AAPL.US 60m +all {0, -, -, 2}", "2026-11-13 09:00×30 09:30×11");
}

#[test]
fn i2_daily_candles_are_included_from_local_midnight() {
    check("2026-11-11 23:59:59", "700.HK day {0, -, -, 1}", "2026-11-11×1");
    check("2026-11-12 00:00:00", "700.HK day {0, -, -, 1}", "2026-11-12×1");
    // An unfinished day is folded from its one-minute candles. The volume is 150 for the morning,
    // plus one for each earlier daily candle.
    check("2026-11-11 12:00:00", "700.HK week {0, -, -, 1}", "2026-11-09×152");
    check("2026-11-11 12:00:00", "700.HK month {0, -, -, 1}", "2026-11-01×157");
    check("2026-11-11 12:00:00", "AAPL.US week {0, -, -, 1}", "2026-11-09×153");
    check("2026-11-11 12:00:00", "700.HK week [20261109, 20261109]", "2026-11-09×152");
    check("2026-11-11 16:10:00", "700.HK week {0, -, -, 1}", "2026-11-09×3");
}

#[test]
fn i2_forming_candles_contain_the_minutes_up_to_now() {
    for (market, name, day) in [
        (Market::Hk, "700.HK", "2026-11-12"),
        (Market::Us, "AAPL.US", "2026-11-12"),
        (Market::Cn, "600519.SH", "2026-11-12"),
    ] {
        let stored = minutes(market, day, day);
        for (row, time) in stored.time.iter().enumerate().step_by(37) {
            let now = Timestamp(time + 29);
            let slot = venue(market).slot(now).unwrap();
            for period in Period::all().filter(|period| period.is_clock()) {
                let Period::Clock(length) = period else { continue };
                let (stamp, _) = slot.bucket(length, now);
                let held = stored.time[..=row].iter().filter(|time| **time >= stamp.0).count();
                let select = Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: 1 };
                let query = Query {
                    symbol: symbol(name),
                    period,
                    adjust: Adjust::None,
                    sessions: Sessions::All,
                    floors: Floors::published(market),
                    select,
                };
                let answer = full_shop().candles(&query, AsOf::Live(now)).unwrap().candles.last().unwrap();
                assert_eq!((answer.time, answer.volume), (stamp, held as i64), "{name} {period} at {now}");
            }
        }
    }
}

#[test]
fn i2_a_query_for_the_future_returns_the_forming_candle() {
    let now = at(Market::Hk, "2026-11-12 10:45:30");
    for question in
        ["700.HK 60m {0, 20261116, 1500, 1}", "700.HK 60m [-, 20261116]", "700.HK 60m {0, -, 1600, 1}"]
    {
        let answer = full_shop().candles(&question_of(question).unwrap(), AsOf::Live(now)).unwrap();
        let last = answer.candles.last().unwrap();
        assert_eq!((last.time, last.volume), (at(Market::Hk, "2026-11-12 10:30"), 16), "{question}");
    }
}
