//! A: markets and sessions. Tests which minutes exist, and which trading day an instant belongs to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{at, clock, date, every_length, flat, local, market, minutes, print, venue, wall, zone};
use market::{Candles, DayKind, Market, Period, Session, Timestamp, Venue, fold};

#[test]
fn a1_markets_have_their_local_time_zone() {
    let check = |name: &str, zone: &str, winter: i64, summer: i64| {
        let zone_of = venue(market(name)).zone();
        let hours = |day: &str| zone_of.offset(at(market(name), day)) / 3600;
        assert_eq!(
            (zone_of.name(), hours("2026-01-14"), hours("2026-07-15")),
            (zone, winter, summer),
            "{name}"
        );
    };
    check("HK", "Asia/Hong_Kong", 8, 8);
    check("CN", "Asia/Shanghai", 8, 8);
    check("US", "America/New_York", -5, -4);
}

#[test]
fn a1_us_clock_changes_are_outside_trading_days() {
    let new_york = zone(Market::Us);
    let start = jiff::Timestamp::from_second(at(Market::Us, "2010-01-01").0).unwrap();
    let changes: Vec<Timestamp> = new_york
        .following(start)
        .map(|change| Timestamp(change.timestamp().as_second()))
        .take_while(|change| *change < at(Market::Us, "2028-01-01"))
        .collect();
    assert_eq!(changes.len(), 2 * 18);
    for change in changes {
        // The second before the change is 01:59:59 on a Sunday, in the old offset.
        let before = Timestamp(change.0 - 1);
        assert_eq!(clock(Market::Us, before), "01:59");
        assert_eq!(venue(Market::Us).zone().date(before).weekday(), jiff::civil::Weekday::Sunday);
        assert_eq!(venue(Market::Us).slot(before), None);
        assert_eq!(venue(Market::Us).slot(change), None);
    }
}

/// Formats segments as `session start-end`. Appends `+tail` if a segment has a tail, and marks
/// segments on the previous evening.
fn hours(venue: &Venue, day: &str) -> String {
    let day = venue.day(date(day)).unwrap_or_else(|| panic!("{day} is no trading day"));
    let segment = |s: &market::Segment| {
        let end = if s.end == 0 { "24:00".to_owned() } else { wall(s.end) };
        let eve = if s.start < 0 { " of the eve" } else { "" };
        let tail = if s.tail > 0 { format!("+{}", s.tail) } else { String::new() };
        format!("{} {}-{end}{tail}{eve}", s.session.code(), wall(s.start))
    };
    day.segments.iter().map(segment).collect::<Vec<_>>().join(", ")
}

#[test]
fn a2_days_with_minute_candles_have_the_specified_hours() {
    let check = |name: &str, day: &str, kind: DayKind, expected: &str| {
        let venue = venue(market(name));
        assert_eq!(venue.calendar().kind(date(day)), Some(kind), "{name} {day}");
        assert_eq!(hours(venue, day), expected, "{name} {day}");
    };
    use DayKind::{Full, Half};
    check("HK", "2026-03-18", Full, "0 09:30-12:00, 0 13:00-16:00+10");
    check("HK", "2026-12-24", Half, "0 09:30-12:00+10");
    check("CN", "2026-05-20", Full, "0 09:30-11:30, 0 13:00-15:00+10");
    let overnight_and_pre = "3 20:00-24:00 of the eve, 3 00:00-04:00, 1 04:00-09:30";
    check("US", "2026-07-15", Full, &format!("{overnight_and_pre}, 0 09:30-16:00, 2 16:00-20:00"));
    check("US", "2025-07-03", Half, &format!("{overnight_and_pre}, 0 09:30-13:00, 2 13:00-17:00"));
    // The first day of each market's minute history has the same hours.
    check("HK", "2022-09-28", Full, "0 09:30-12:00, 0 13:00-16:00+10");
    check("CN", "2022-08-25", Full, "0 09:30-11:30, 0 13:00-15:00+10");
    check("US", "2023-12-04", Full, &format!("{overnight_and_pre}, 0 09:30-16:00, 2 16:00-20:00"));
}

#[test]
fn a2_session_codes_round_trip() {
    let check = |code: u8, session: Session, name: &str| {
        assert_eq!(session.code(), code);
        assert_eq!(session.as_str(), name);
        assert_eq!(Session::from_code(code), Some(session));
        assert_eq!(Session::parse(name), Some(session));
        assert_eq!(Session::parse(&code.to_string()), Some(session));
    };
    check(0, Session::Intraday, "intraday");
    check(1, Session::Pre, "pre");
    check(2, Session::Post, "post");
    check(3, Session::Overnight, "overnight");
    assert_eq!(Session::from_code(4), None);
    assert_eq!(Session::parse("100"), None);
    assert_eq!(Session::parse(""), None);
}

/// Checks the stamp of the one-minute candle and the session of a trade at a local time. `none`
/// means that the trade has no candle.
fn check_print(name: &str, when: &str, expected: &str) {
    let market = market(name);
    let found = print(market, at(market, when));
    let found = found.map_or("none".to_owned(), |(slot, minute)| {
        format!("{} {}", clock(market, minute), slot.segment.session)
    });
    assert_eq!(found, expected, "{name} {when}");
}

#[test]
fn a3_the_closing_tail_is_in_the_closing_minute() {
    // Hong Kong full day
    check_print("HK", "2026-03-18 15:59:59", "15:59 intraday");
    check_print("HK", "2026-03-18 16:00:00", "16:00 intraday");
    check_print("HK", "2026-03-18 16:08:37", "16:00 intraday");
    check_print("HK", "2026-03-18 16:09:59", "16:00 intraday");
    check_print("HK", "2026-03-18 16:10:00", "none");
    // Hong Kong half day
    check_print("HK", "2026-12-24 11:59:59", "11:59 intraday");
    check_print("HK", "2026-12-24 12:00:00", "12:00 intraday");
    check_print("HK", "2026-12-24 12:08:00", "12:00 intraday");
    check_print("HK", "2026-12-24 12:09:59", "12:00 intraday");
    check_print("HK", "2026-12-24 12:10:00", "none");
    check_print("HK", "2026-12-24 13:00:00", "none");
    check_print("HK", "2026-12-24 16:00:00", "none");
    // Mainland continuous trading ends at 14:57, but there are candles until 15:00.
    check_print("CN", "2026-05-20 14:57:00", "14:57 intraday");
    check_print("CN", "2026-05-20 14:59:59", "14:59 intraday");
    check_print("CN", "2026-05-20 15:00:00", "15:00 intraday");
    check_print("CN", "2026-05-20 15:09:59", "15:00 intraday");
    check_print("CN", "2026-05-20 15:10:00", "none");
}

#[test]
fn a4_trades_outside_all_segments_have_no_minute_candle() {
    // An opening auction is before the first segment.
    check_print("CN", "2026-05-20 09:25:00", "none");
    check_print("CN", "2026-05-20 09:29:59", "none");
    check_print("CN", "2026-05-20 09:30:00", "09:30 intraday");
    check_print("HK", "2026-03-18 09:20:00", "none");
    check_print("HK", "2026-03-18 09:29:59", "none");
    check_print("HK", "2026-03-18 09:30:00", "09:30 intraday");
    // The morning segment has no closing tail.
    check_print("CN", "2026-05-20 11:29:59", "11:29 intraday");
    check_print("CN", "2026-05-20 11:30:00", "none");
    check_print("HK", "2026-03-18 11:59:59", "11:59 intraday");
    check_print("HK", "2026-03-18 12:00:00", "none");
    check_print("HK", "2026-03-18 12:59:59", "none");
    check_print("HK", "2026-03-18 13:00:00", "13:00 intraday");
    // At US session boundaries, a trade belongs to the session that begins.
    check_print("US", "2026-07-15 03:59:59", "03:59 overnight");
    check_print("US", "2026-07-15 04:00:00", "04:00 pre");
    check_print("US", "2026-07-15 09:29:59", "09:29 pre");
    check_print("US", "2026-07-15 09:30:00", "09:30 intraday");
    check_print("US", "2026-07-15 15:59:59", "15:59 intraday");
    check_print("US", "2026-07-15 16:00:00", "16:00 post");
    check_print("US", "2026-07-15 19:59:59", "19:59 post");
    check_print("US", "2026-07-15 20:00:00", "20:00 overnight");
    check_print("US", "2026-07-15 23:59:59", "23:59 overnight");
    check_print("US", "2026-07-16 00:00:00", "00:00 overnight");
    // On a US half day, post-market hours begin at 13:00, and there is a gap from 17:00 to 20:00.
    check_print("US", "2025-11-28 12:59:59", "12:59 intraday");
    check_print("US", "2025-11-28 13:00:00", "13:00 post");
    check_print("US", "2025-11-28 16:59:59", "16:59 post");
    check_print("US", "2025-11-28 17:00:00", "none");
    check_print("US", "2025-11-28 19:59:59", "none");
    // After-hours fixed-price trading of A shares starts within the tail and continues after it.
    check_print("CN", "2026-05-20 15:05:00", "15:00 intraday");
    check_print("CN", "2026-05-20 15:29:59", "none");
    // Closed days
    check_print("HK", "2026-03-21 10:00:00", "none");
    check_print("US", "2025-07-04 10:00:00", "none");
    check_print("CN", "2026-10-01 10:00:00", "none");
}

#[test]
fn a4_only_minutes_of_the_table_are_accepted() {
    let check = |name: &str, when: &str, accepted: bool| {
        let found = venue(market(name)).slot(at(market(name), when));
        assert_eq!(found.is_some(), accepted, "{name} {when}");
    };
    check("HK", "2026-03-18 09:29", false);
    check("HK", "2026-03-18 09:30", true);
    check("HK", "2026-03-18 11:59", true);
    check("HK", "2026-03-18 12:00", false);
    check("HK", "2026-03-18 16:00", true);
    check("HK", "2026-03-18 16:01", false);
    check("HK", "2026-03-18 16:08", false);
    check("HK", "2026-12-24 12:00", true);
    check("HK", "2026-12-24 12:01", false);
    check("CN", "2026-05-20 11:30", false);
    check("CN", "2026-05-20 15:00", true);
    check("CN", "2026-05-20 15:01", false);
    check("US", "2026-07-15 16:00", true);
    check("US", "2025-07-03 17:00", false);
    check("US", "2025-07-03 19:59", false);
}

#[test]
fn a5_hours_depend_on_the_date() {
    let check = |day: &str, expected: &str| assert_eq!(hours(venue(Market::Hk), day), expected, "{day}");
    check("2010-06-01", "0 10:00-12:30, 0 14:30-16:00");
    check("2010-12-24", "0 10:00-12:30");
    check("2011-03-04", "0 10:00-12:30, 0 14:30-16:00");
    check("2011-03-07", "0 09:30-12:00, 0 13:30-16:00");
    check("2011-06-01", "0 09:30-12:00, 0 13:30-16:00");
    check("2012-03-02", "0 09:30-12:00, 0 13:30-16:00");
    check("2012-03-05", "0 09:30-12:00, 0 13:00-16:00");
    check("2012-12-24", "0 09:30-12:00");
    check("2016-07-22", "0 09:30-12:00, 0 13:00-16:00");
    check("2016-07-25", "0 09:30-12:00, 0 13:00-16:00+10");
    check("2016-12-30", "0 09:30-12:00, 0 13:00-16:00+10");
    check("2018-12-24", "0 09:30-12:00+10");
    check("2027-12-31", "0 09:30-12:00+10");
}

/// Returns the stamps of the candles of one length on a day on which only `from..until` was traded.
fn traded(name: &str, day: &str, length: u16, from: &str, until: &str) -> String {
    let market = market(name);
    let (from, until) = (at(market, &format!("{day} {from}")), at(market, &format!("{day} {until}")));
    let day = venue(market).day(date(day)).unwrap();
    let traded = day.minutes().filter(|(time, _)| (from..until).contains(time));
    let candles: Candles = traded.map(|(time, slot)| flat(time, slot.segment.session)).collect();
    let folded = fold::fold(venue(market), Period::Clock(minutes(length)), &candles).unwrap();
    folded.iter().map(|candle| clock(market, candle.time)).collect::<Vec<_>>().join(" ")
}

#[test]
fn a5_bad_weather_does_not_move_buckets() {
    for day in ["2022-11-02", "2023-10-09"] {
        assert_eq!(venue(Market::Hk).calendar().kind(date(day)), Some(DayKind::Full), "{day}");
    }
    // Trading began at 14:00, but buckets are still counted from 13:00.
    let late = |length| traded("HK", "2023-10-09", length, "14:00", "16:01");
    assert_eq!(late(60), "14:00 15:00 16:00");
    assert_eq!(late(45), "13:45 14:30 15:15 16:00");
    assert_eq!(late(120), "13:00 15:00");
    assert_eq!(late(240), "13:00");
    // Trading stopped at about 13:55.
    let stopped = |length| traded("HK", "2022-11-02", length, "09:30", "13:55");
    assert_eq!(stopped(60), "09:30 10:30 11:30 13:00");
    assert_eq!(stopped(120), "09:30 11:30 13:00");
    assert_eq!(stopped(45), "09:30 10:15 11:00 11:45 13:00 13:45");
}

#[test]
fn a5_closures_and_half_days_are_in_the_calendar() {
    let check = |name: &str, day: &str, expected: &str| {
        let found = match venue(market(name)).calendar().kind(date(day)) {
            None => "closed",
            Some(DayKind::Full) => "full",
            Some(DayKind::Half) => "half",
        };
        assert_eq!(found, expected, "{name} {day}");
    };
    for day in ["2012-10-29", "2012-10-30", "2018-12-05", "2025-01-09", "2025-07-04", "2025-11-27"] {
        check("US", day, "closed");
    }
    // Half days are the day after Thanksgiving, 24 December and 3 July.
    for day in ["2025-11-28", "2025-12-24", "2025-07-03", "2026-11-27", "2024-07-03"] {
        check("US", day, "half");
    }
    // In 2026, 3 July is the observed holiday, and the day before it is a full day.
    check("US", "2026-07-03", "closed");
    check("US", "2026-07-02", "full");
    // Half days are the eves of Christmas, New Year and Lunar New Year.
    for day in ["2025-12-24", "2025-12-31", "2026-02-16", "2027-02-05"] {
        check("HK", day, "half");
    }
    // Bad weather closed the market for the last time in September 2024. Since then, trading
    // continues in bad weather.
    check("HK", "2023-09-01", "closed");
    check("HK", "2023-09-08", "closed");
    check("HK", "2024-09-06", "closed");
    check("HK", "2024-11-14", "full");
    check("CN", "2026-02-13", "full");
    check("CN", "2026-02-16", "closed");
}

#[test]
fn a6_an_overnight_instant_belongs_to_the_next_trading_day() {
    let check = |name: &str, when: &str, expected: &str| {
        let found = venue(market(name)).trading_day(at(market(name), when));
        let found = found.map_or("none".to_owned(), |day| day.to_string());
        assert_eq!(found, expected, "{name} {when}");
        // If the instant has a slot, the slot's day must be the same.
        if let Some(slot) = venue(market(name)).slot(at(market(name), when)) {
            assert_eq!(slot.day.to_string(), expected, "{name} {when}");
        }
    };
    check("US", "2025-07-06 20:00", "2025-07-07");
    check("US", "2025-07-06 19:59:59", "none");
    check("US", "2025-07-06 23:59:59", "2025-07-07");
    check("US", "2025-07-07 00:00", "2025-07-07");
    check("US", "2025-07-07 03:59:59", "2025-07-07");
    check("US", "2025-07-07 19:59:59", "2025-07-07");
    check("US", "2025-07-07 20:00", "2025-07-08");
    // The evening before a holiday has no trading day, but the evening of a holiday has one.
    check("US", "2025-07-03 20:00", "none");
    check("US", "2025-07-04 00:00", "none");
    check("US", "2025-11-26 20:00", "none");
    check("US", "2025-11-27 20:00", "2025-11-28");
    check("US", "2025-11-27 19:59:59", "none");
    // Friday evening has no overnight session.
    check("US", "2025-07-11 20:00", "none");
    check("US", "2025-07-11 19:59:59", "2025-07-11");
    // In markets without overnight sessions, the trading day is the local date at any hour.
    check("HK", "2026-03-18 00:00", "2026-03-18");
    check("HK", "2026-03-18 20:00", "2026-03-18");
    check("HK", "2026-03-18 23:59:59", "2026-03-18");
    check("HK", "2026-03-21 12:00", "none");
    check("CN", "2026-05-20 21:00", "2026-05-20");
    check("CN", "2026-10-01 10:00", "none");
}

#[test]
fn a6_only_trading_days_have_an_overnight_session() {
    let check = |evening: &str, expected: &str| {
        let found = venue(Market::Us).slot(at(Market::Us, &format!("{evening} 20:00")));
        let found = found.map_or("none".to_owned(), |slot| format!("{} {}", slot.segment.session, slot.day));
        assert_eq!(found, expected, "{evening}");
    };
    check("2025-07-02", "overnight 2025-07-03");
    check("2025-07-03", "none");
    check("2025-07-04", "none");
    check("2025-07-05", "none");
    check("2025-07-06", "overnight 2025-07-07");
    check("2025-11-26", "none");
    check("2025-11-27", "overnight 2025-11-28");
    check("2025-11-28", "none");
    // Overnight sessions on the Sundays of both clock changes
    check("2026-03-08", "overnight 2026-03-09");
    check("2026-11-01", "overnight 2026-11-02");
}

#[test]
fn a6_clock_changes_neither_drop_nor_repeat_minutes() {
    let check = |day: &str, first_utc: &str, last: &str| {
        let day = venue(Market::Us).day(date(day)).unwrap();
        let stamps: Vec<Timestamp> = day.minutes().map(|(time, _)| time).collect();
        assert_eq!(stamps.first().unwrap().to_string(), first_utc);
        assert_eq!(local(Market::Us, *stamps.last().unwrap()), last);
        assert_eq!(stamps.len(), 1440);
        assert!(
            stamps.windows(2).all(|pair| pair[1].0 - pair[0].0 == 60),
            "a minute is missing or stands twice"
        );
    };
    check("2026-03-09", "2026-03-09T00:00:00Z", "2026-03-09 19:59");
    check("2026-11-02", "2026-11-02T01:00:00Z", "2026-11-02 19:59");
}

#[test]
fn every_minute_of_a_day_has_its_own_slot() {
    for (name, day) in [
        ("HK", "2026-03-18"),
        ("HK", "2026-12-24"),
        ("CN", "2026-05-20"),
        ("US", "2026-07-15"),
        ("US", "2025-07-03"),
    ] {
        let venue = venue(market(name));
        for (time, slot) in venue.day(date(day)).unwrap().minutes() {
            assert_eq!(venue.slot(time), Some(slot), "{name} {time}");
            assert!(slot.holds(time) && slot.holds(Timestamp(time.0 + 59)));
            for length in every_length() {
                let (stamp, limit) = slot.bucket(length, time);
                assert!(stamp <= time && time < limit && slot.holds(stamp), "{name} {time} {length:?}");
            }
        }
    }
}

#[test]
fn extreme_stamps_are_in_no_session() {
    for market in Market::ALL {
        for seconds in [i64::MIN, i64::MIN + 1, -400_000_000_000, 400_000_000_000, i64::MAX - 1, i64::MAX] {
            assert_eq!(venue(market).slot(Timestamp(seconds)), None, "{market} {seconds}");
        }
    }
}

#[test]
fn a6_the_trading_date_changes_at_the_overnight_start() {
    let check = |market: Market, date: &str, roll: &str| {
        let day: market::Date = date.parse().unwrap();
        let found = venue(market).roll(day);
        assert_eq!(found, at(market, roll), "{market} {date}");
        assert_eq!(venue(market).rolled(found), Some(day), "{market} {date}");
        assert_ne!(venue(market).rolled(market::Timestamp(found.0 - 1)), Some(day), "{market} {date}");
    };
    check(Market::Hk, "2026-03-18", "2026-03-18 00:00");
    check(Market::Hk, "2026-03-16", "2026-03-16 00:00");
    check(Market::Us, "2026-03-18", "2026-03-17 20:00");
    // A Monday begins on Sunday evening, even if the clocks changed that morning.
    check(Market::Us, "2026-03-09", "2026-03-08 20:00");
    check(Market::Us, "2025-11-28", "2025-11-27 20:00");
    // A weekend belongs to the previous Friday.
    let rolled = |market, local| venue(market).rolled(at(market, local)).unwrap().to_string();
    assert_eq!(rolled(Market::Us, "2026-03-15 19:59:59"), "2026-03-13");
    assert_eq!(rolled(Market::Hk, "2026-03-15 12:00"), "2026-03-13");
    let after =
        |market, date: &str| venue(market).calendar().after(date.parse().unwrap()).unwrap().to_string();
    assert_eq!(after(Market::Hk, "2026-02-16"), "2026-02-20");
    assert_eq!(after(Market::Us, "2026-07-02"), "2026-07-06");
}
