//! C: buckets. Buckets are counted from the start of their segment, and the last bucket of a
//! segment may be short.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;

use common::{at, clock, date, every_length, flat, full_day, local, market, minutes, only, stamp, venue};
use market::{Candles, Market, Period, Session, Timestamp, fold};

#[test]
fn c1_buckets_are_counted_from_the_segment_start() {
    let check = |name: &str, when: &str, length: u16, expected: &str| {
        let found = stamp(market(name), Period::Clock(minutes(length)), when);
        let found = found.map_or("none".to_owned(), |at| clock(market(name), at));
        assert_eq!(found, expected, "{name} {when} {length}");
    };
    // A new bucket begins after lunch, at each session start and at midnight.
    check("HK", "2026-03-18 11:59:59", 45, "11:45");
    check("HK", "2026-03-18 13:00:00", 45, "13:00");
    check("HK", "2026-03-18 13:44:59", 45, "13:00");
    check("HK", "2026-03-18 13:45:00", 45, "13:45");
    check("US", "2026-07-15 09:29:59", 20, "09:20");
    check("US", "2026-07-15 09:30:00", 20, "09:30");
    check("US", "2026-07-15 09:59:59", 60, "09:30");
    check("US", "2026-07-15 16:00:00", 60, "16:00");
    check("US", "2026-07-15 23:59:59", 180, "23:00");
    check("US", "2026-07-16 00:00:00", 180, "00:00");
    check("US", "2026-07-15 23:59:59", 1, "23:59");
    // Seconds are truncated.
    check("CN", "2026-05-20 09:34:59", 5, "09:30");
    check("CN", "2026-05-20 09:35:00", 5, "09:35");
}

#[test]
fn c2_the_closing_minute_joins_a_short_last_bucket() {
    let check = |lengths: &[u16], full: &str, half: &str, cn: &str| {
        for length in lengths {
            let closing = |name: &str, when: &str| {
                let found = stamp(market(name), Period::Clock(minutes(*length)), when).unwrap();
                clock(market(name), found)
            };
            for tail in ["0:00", "4:30", "8:37", "9:59"] {
                assert_eq!(closing("HK", &format!("2026-03-18 16:0{tail}")), full, "HK full {length} {tail}");
                assert_eq!(closing("HK", &format!("2026-12-24 12:0{tail}")), half, "HK half {length} {tail}");
                assert_eq!(closing("CN", &format!("2026-05-20 15:0{tail}")), cn, "CN {length} {tail}");
            }
        }
    };
    check(&[1, 2, 3, 5, 10, 15, 30], "16:00", "12:00", "15:00");
    check(&[20], "16:00", "11:50", "15:00");
    check(&[45], "16:00", "11:45", "14:30");
    check(&[60], "16:00", "11:30", "15:00");
    check(&[120], "15:00", "11:30", "15:00");
    check(&[180], "16:00", "09:30", "13:00");
    check(&[240], "13:00", "09:30", "13:00");
}

/// Formats all candles of a fully traded day in the specification's notation. `(n)` means that a
/// candle contains n minutes instead of its full length, `+c` that it also contains the closing
/// tail, and `(c)` that it contains only the closing tail. ` · ` marks midnight.
fn starts(name: &str, day: &str, session: Session, length: u16) -> String {
    let market = market(name);
    let sources = only(&full_day(market, day), session);
    let folded = fold::fold(venue(market), Period::Clock(minutes(length)), &sources).unwrap();
    let mut text = String::new();
    let mut before = None;
    for candle in folded.iter() {
        assert_eq!(candle.session, session);
        let today = venue(market).zone().date(candle.time);
        text += match before {
            None => "",
            Some(date) if date != today => " · ",
            Some(_) => " ",
        };
        before = Some(today);
        text += &clock(market, candle.time);
        text += &match (candle.volume, candle.turnover.0) {
            (n, 0) if n == i64::from(length) => String::new(),
            (n, 0) => format!("({n})"),
            (0, _) => "(c)".to_owned(),
            (n, _) => format!("({n}+c)"),
        };
    }
    text
}

const HK_FULL: (&str, &str) = ("HK", "2026-03-18");
const HK_HALF: (&str, &str) = ("HK", "2026-12-24");
const CN: (&str, &str) = ("CN", "2026-05-20");
const US_FULL: (&str, &str) = ("US", "2026-07-15");
const US_HALF: (&str, &str) = ("US", "2025-07-03");

#[test]
fn c3_candle_starts_match_the_specification() {
    let check = |(name, day): (&str, &str), session: Session, expected: [&str; 3]| {
        for (length, expected) in [60, 120, 240].into_iter().zip(expected) {
            assert_eq!(starts(name, day, session, length), expected, "{name} {day} {session} {length}");
        }
    };
    use Session::{Intraday, Overnight, Post, Pre};
    check(
        HK_FULL,
        Intraday,
        [
            "09:30 10:30 11:30(30) 13:00 14:00 15:00 16:00(c)",
            "09:30 11:30(30) 13:00 15:00(60+c)",
            "09:30(150) 13:00(180+c)",
        ],
    );
    check(HK_HALF, Intraday, ["09:30 10:30 11:30(30+c)", "09:30 11:30(30+c)", "09:30(150+c)"]);
    check(
        CN,
        Intraday,
        ["09:30 10:30 13:00 14:00 15:00(c)", "09:30 13:00 15:00(c)", "09:30(120) 13:00(120+c)"],
    );
    check(
        US_FULL,
        Intraday,
        ["09:30 10:30 11:30 12:30 13:30 14:30 15:30(30)", "09:30 11:30 13:30 15:30(30)", "09:30 13:30(150)"],
    );
    check(US_HALF, Intraday, ["09:30 10:30 11:30 12:30(30)", "09:30 11:30(90)", "09:30(210)"]);
    for day in [US_FULL, US_HALF] {
        check(
            day,
            Pre,
            ["04:00 05:00 06:00 07:00 08:00 09:00(30)", "04:00 06:00 08:00(90)", "04:00 08:00(90)"],
        );
        check(
            day,
            Overnight,
            [
                "20:00 21:00 22:00 23:00 · 00:00 01:00 02:00 03:00",
                "20:00 22:00 · 00:00 02:00",
                "20:00 · 00:00",
            ],
        );
    }
    check(US_FULL, Post, ["16:00 17:00 18:00 19:00", "16:00 18:00", "16:00"]);
    check(US_HALF, Post, ["13:00 14:00 15:00 16:00", "13:00 15:00", "13:00"]);
}

#[test]
fn c3_candle_counts_match_the_specification() {
    let check = |(name, day): (&str, &str), session: Session, expected: [usize; 13]| {
        let market = market(name);
        let sources = only(&full_day(market, day), session);
        let counts =
            every_length().map(|n| fold::fold(venue(market), Period::Clock(n), &sources).unwrap().len());
        assert_eq!(counts.collect::<Vec<_>>(), expected, "{name} {day} {session}");
    };
    use Session::{Intraday, Overnight, Post, Pre};
    //                        1    2    3    5  10  15  20  30  45  60 120 180 240
    check(HK_FULL, Intraday, [331, 166, 111, 67, 34, 23, 18, 12, 9, 7, 4, 3, 2]);
    check(HK_HALF, Intraday, [151, 76, 51, 31, 16, 11, 8, 6, 4, 3, 2, 1, 1]);
    check(CN, Intraday, [241, 121, 81, 49, 25, 17, 13, 9, 6, 5, 3, 2, 2]);
    check(US_FULL, Intraday, [390, 195, 130, 78, 39, 26, 20, 13, 9, 7, 4, 3, 2]);
    check(US_HALF, Intraday, [210, 105, 70, 42, 21, 14, 11, 7, 5, 4, 2, 2, 1]);
    for day in [US_FULL, US_HALF] {
        check(day, Pre, [330, 165, 110, 66, 33, 22, 17, 11, 8, 6, 3, 2, 2]);
        check(day, Post, [240, 120, 80, 48, 24, 16, 12, 8, 6, 4, 2, 2, 1]);
        check(day, Overnight, [480, 240, 160, 96, 48, 32, 24, 16, 12, 8, 4, 4, 2]);
    }
}

#[test]
fn c3_five_minute_candle_counts_match_the_live_service() {
    let day = full_day(Market::Us, US_FULL.1);
    let five = fold::fold(venue(Market::Us), Period::Clock(minutes(5)), &day).unwrap();
    let count =
        |sessions: &[Session]| five.iter().filter(|candle| sessions.contains(&candle.session)).count();
    assert_eq!(count(&[Session::Intraday]), 78);
    assert_eq!(count(&[Session::Pre, Session::Intraday, Session::Post]), 192);
}

#[test]
fn c3_sources_max_is_an_upper_bound() {
    for (name, day) in [HK_FULL, HK_HALF, CN, US_FULL, US_HALF] {
        let market = market(name);
        for length in every_length() {
            let period = Period::Clock(length);
            let sources =
                fold::fold(venue(market), period.source().period(), &full_day(market, day)).unwrap();
            let mut needed: BTreeMap<Timestamp, usize> = BTreeMap::new();
            for source in sources.iter() {
                let slot = venue(market).slot(source.time).unwrap();
                *needed.entry(slot.bucket(length, source.time).0).or_default() += 1;
            }
            let most = needed.values().max().copied().unwrap();
            assert!(most <= period.sources_max(), "{name} {day} {period}: {most} sources");
        }
    }
}

#[test]
fn c4_weeks_start_on_monday() {
    let check = |name: &str, day: &str, monday: &str| {
        let found = stamp(market(name), "week".parse().unwrap(), day).unwrap();
        assert_eq!(local(market(name), found), format!("{monday} 00:00"), "{name} {day}");
    };
    check("US", "2024-12-31", "2024-12-30");
    assert_eq!(stamp(Market::Us, "week".parse().unwrap(), "2024-12-31"), Some(Timestamp(1_735_534_800)));
    for day in ["2025-12-29", "2025-12-30", "2025-12-31"] {
        check("CN", day, "2025-12-29");
    }
    // 1 January is in week 53 of the previous year.
    check("HK", "2010-01-01", "2009-12-28");
    check("HK", "2016-01-01", "2015-12-28");
    check("HK", "2021-01-01", "2020-12-28");
    check("HK", "2027-01-01", "2026-12-28");
    // 1 January is in week 52 of the previous year, or in week 1.
    check("HK", "2022-01-01", "2021-12-27");
    check("HK", "2026-01-01", "2025-12-29");
    // A holiday on Monday does not move the stamp.
    check("US", "2026-01-20", "2026-01-19");
}

/// Folds one daily candle per trading day in a range, and formats the resulting stamps.
fn folded_days(name: &str, period: &str, from: &str, through: &str) -> String {
    let market = market(name);
    let days = venue(market).calendar().days(date(from), date(through));
    let candles: Candles =
        days.map(|(day, _)| flat(at(market, &day.to_string()), Session::Intraday)).collect();
    let folded = fold::fold(venue(market), period.parse().unwrap(), &candles).unwrap();
    let text = |candle: market::Candle| format!("{}({})", &local(market, candle.time)[..10], candle.volume);
    folded.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[test]
fn c4_a_week_without_trading_days_has_no_candle() {
    // The market was closed for Golden Week, 1 to 8 October 2025, and Lunar New Year, 16 to 23
    // February 2026.
    assert_eq!(
        folded_days("CN", "week", "2025-09-22", "2025-10-17"),
        "2025-09-22(5) 2025-09-29(2) 2025-10-06(2) 2025-10-13(5)"
    );
    assert_eq!(folded_days("CN", "week", "2026-02-09", "2026-02-27"), "2026-02-09(5) 2026-02-23(4)");
}

#[test]
fn c5_months_quarters_and_years_follow_the_calendar() {
    let year = "2025-01-01";
    let last = "2025-12-31";
    assert_eq!(
        folded_days("US", "month", year, last),
        "2025-01-01(20) 2025-02-01(19) 2025-03-01(21) 2025-04-01(21) 2025-05-01(21) 2025-06-01(20) \
         2025-07-01(22) 2025-08-01(21) 2025-09-01(21) 2025-10-01(23) 2025-11-01(19) 2025-12-01(22)"
    );
    assert_eq!(
        folded_days("US", "quarter", year, last),
        "2025-01-01(60) 2025-04-01(62) 2025-07-01(64) 2025-10-01(64)"
    );
    assert_eq!(folded_days("US", "year", year, last), "2025-01-01(250)");
    assert_eq!(folded_days("US", "year", "2024-12-30", "2025-01-03"), "2024-01-01(2) 2025-01-01(2)");
    // A period without trading days has no candle, so only the two ends of the gap have one.
    let ends: Candles = ["2025-01-02", "2025-08-01"]
        .map(|day| flat(at(Market::Us, day), Session::Intraday))
        .into_iter()
        .collect();
    assert_eq!(fold::fold(venue(Market::Us), "month".parse().unwrap(), &ends).unwrap().len(), 2);
}

/// Some vendors stamp candles with their end. `Venue::ended` converts an end to the candle's start.
#[test]
fn a_candle_is_found_by_its_end() {
    let check = |name: &str, length: u16, ends: &str, expected: &str| {
        let (day, clocks) = ends.split_once(' ').unwrap();
        let began = clocks.split(' ').map(|end| {
            let found = venue(market(name)).ended(minutes(length), at(market(name), &format!("{day} {end}")));
            found.map_or("none".to_owned(), |at| clock(market(name), at))
        });
        assert_eq!(began.collect::<Vec<_>>().join(" "), expected, "{name} {length} {ends}");
    };
    check("HK", 60, "2026-03-18 10:30 11:30 12:00 14:00 15:00 16:00", "09:30 10:30 11:30 13:00 14:00 15:00");
    check("HK", 60, "2026-03-18 09:30 11:00 12:30 13:00 13:30 16:10", "none none none none none none");
    // On a half day, the last hourly candle includes the closing minute.
    check("HK", 60, "2026-12-24 11:30 12:00 12:01", "10:30 11:30 11:30");
    check("HK", 5, "2026-03-18 09:35 12:00 13:05 16:00 16:01", "09:30 11:55 13:00 15:55 16:00");
    check("US", 60, "2026-07-15 10:30 15:30 16:00 16:30 17:00", "09:30 14:30 15:30 none 16:00");
    check("CN", 30, "2026-05-20 10:00 11:30 13:30 15:00", "09:30 11:00 13:00 14:30");
}

/// Coarse candles are folds of one-minute candles, so folding them further must give the same
/// result as folding the one-minute candles.
#[test]
fn folding_coarse_candles_equals_folding_minute_candles() {
    for (name, day) in
        [("HK", "2026-03-18"), ("HK", "2026-12-24"), ("US", "2026-07-15"), ("CN", "2026-05-20")]
    {
        let market = market(name);
        let day = full_day(market, day);
        for period in Period::all() {
            let whole = fold::fold(venue(market), period, &day).unwrap();
            for own in period.own_sources() {
                let coarse = fold::fold(venue(market), own.period(), &day).unwrap();
                let again = fold::fold(venue(market), period, &coarse).unwrap();
                assert_eq!(again, whole, "{name} {period} of {}", own.as_str());
            }
        }
    }
}
