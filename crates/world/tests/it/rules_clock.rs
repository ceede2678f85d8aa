//! Clock arithmetic: speed, skipped time, and the edges of trading segments.

use std::time::Duration;

use market::{Market, Timestamp, Venue, Venues};
use world::{Course, Settings, TradingHours};

/// Parses a time in a market's zone, such as `2026-03-20 16:10:00`.
pub(crate) fn at(market: Market, text: &str) -> Timestamp {
    let (date, time) = text.split_once(' ').unwrap();
    let [hour, minute, second]: [i64; 3] =
        time.split(':').map(|part| part.parse().unwrap()).collect::<Vec<_>>().try_into().unwrap();
    let venue = Venue::built_in(market).unwrap();
    venue.zone().instant(date.parse().unwrap(), hour * 3_600 + minute * 60 + second)
}

fn check(
    settings: &str,
    market: Market,
    rows: &[(&str, &str)],
    next: impl Fn(&TradingHours<'_>, Timestamp) -> Option<Timestamp>,
) {
    let (venues, settings): (Venues, Settings) = (Venues::built_in().unwrap(), settings.parse().unwrap());
    let hours = TradingHours::new(&venues, &settings);
    for (from, to) in rows {
        let to = (!to.is_empty()).then(|| at(market, to));
        assert_eq!(next(&hours, at(market, from)), to, "{settings}: {from}");
    }
}

#[test]
fn closed_hours_are_skipped_to_five_minutes_before_the_next_trading() {
    let skip = |hours: &TradingHours<'_>, at| hours.skips_to(at);
    // Example W4 and similar ones.
    let hong_kong = [
        ("2026-03-20 16:09:59", ""),
        ("2026-03-20 16:10:00", "2026-03-23 08:55:00"),
        ("2026-03-22 12:00:00", "2026-03-23 08:55:00"),
        ("2026-03-23 08:54:59", "2026-03-23 08:55:00"),
        ("2026-03-23 08:55:00", ""),
        ("2026-03-23 09:00:00", ""),
        // Lunch is part of the trading day.
        ("2026-03-23 12:30:00", ""),
        // The half day before the Lunar New Year and three holidays.
        ("2026-02-16 12:09:59", ""),
        ("2026-02-16 12:10:00", "2026-02-20 08:55:00"),
    ];
    check("markets=HK", Market::Hk, &hong_kong, skip);
    check("markets=CN", Market::Cn, &[("2026-03-20 15:10:00", "2026-03-23 09:10:00")], skip);
    let new_york = [
        ("2026-03-20 19:59:59", ""),
        ("2026-03-20 20:00:00", "2026-03-23 03:55:00"),
        // Daylight saving time begins on this weekend.
        ("2026-03-06 20:00:00", "2026-03-09 03:55:00"),
        ("2025-11-28 17:00:00", "2025-12-01 03:55:00"),
    ];
    check("markets=US", Market::Us, &new_york, skip);
    let night = [
        ("2026-03-19 20:00:00", ""),
        ("2026-03-20 03:59:59", ""),
        ("2026-03-20 20:00:00", "2026-03-22 19:55:00"),
    ];
    check("markets=US overnight=on", Market::Us, &night, skip);
    // Hong Kong opens an hour after the post-market session in New York ends, and New York opens
    // before Hong Kong closes.
    let both = [("2026-03-18 16:10:00", ""), ("2026-03-19 08:00:00", "2026-03-19 08:55:00")];
    check("markets=HK,US", Market::Hk, &both, skip);
    check("markets=HK skip=none", Market::Hk, &[("2026-03-20 16:10:00", "")], skip);
}

#[test]
fn a_session_step_ends_when_regular_trading_begins() {
    let session = |hours: &TradingHours<'_>, at| hours.next_session(at);
    let hong_kong = [
        ("2026-03-18 09:29:59", "2026-03-18 09:30:00"),
        ("2026-03-18 09:30:00", "2026-03-19 09:30:00"),
        // The afternoon belongs to the same session.
        ("2026-03-18 12:30:00", "2026-03-19 09:30:00"),
        ("2026-03-20 10:00:00", "2026-03-23 09:30:00"),
        // The half day before the Lunar New Year and three holidays.
        ("2026-02-16 12:10:00", "2026-02-20 09:30:00"),
    ];
    check("markets=HK", Market::Hk, &hong_kong, session);
    let new_york = [
        // Pre-market and post-market hours do not begin a session.
        ("2026-03-18 04:00:00", "2026-03-18 09:30:00"),
        ("2026-03-18 16:00:00", "2026-03-19 09:30:00"),
        ("2026-03-06 20:00:00", "2026-03-09 09:30:00"),
    ];
    check("markets=US overnight=on", Market::Us, &new_york, session);
    let both =
        [("2026-03-18 10:00:00", "2026-03-18 21:30:00"), ("2026-03-18 21:30:00", "2026-03-19 09:30:00")];
    check("markets=HK,US", Market::Hk, &both, session);
}

#[test]
fn a_step_ends_when_a_segment_begins_or_ends() {
    let edge = |hours: &TradingHours<'_>, at| hours.next_edge(at);
    let hong_kong = [
        ("2026-03-18 08:00:00", "2026-03-18 09:30:00"),
        ("2026-03-18 09:29:59", "2026-03-18 09:30:00"),
        ("2026-03-18 09:30:00", "2026-03-18 12:00:00"),
        ("2026-03-18 12:00:00", "2026-03-18 13:00:00"),
        ("2026-03-18 13:00:00", "2026-03-18 16:00:00"),
        ("2026-03-18 16:00:00", "2026-03-18 16:10:00"),
        ("2026-03-20 16:10:00", "2026-03-23 09:30:00"),
    ];
    check("markets=HK", Market::Hk, &hong_kong, edge);
    let new_york = [
        ("2026-07-14 20:00:00", "2026-07-15 04:00:00"),
        ("2026-07-15 04:00:00", "2026-07-15 09:30:00"),
        ("2026-07-15 16:00:00", "2026-07-15 20:00:00"),
    ];
    check("markets=US", Market::Us, &new_york, edge);
    check("markets=US overnight=on", Market::Us, &[("2026-07-14 19:59:59", "2026-07-14 20:00:00")], edge);
}

#[test]
fn a_running_clock_moves_at_its_speed() {
    let (start, since) = (at(Market::Hk, "2026-03-18 09:30:00"), Duration::from_secs(7));
    let after = |milliseconds| since + Duration::from_millis(milliseconds);
    // Example W7.
    let course = Course::new(start, since, 60_000);
    assert_eq!(course.now(after(500)), at(Market::Hk, "2026-03-18 09:30:30"));
    assert_eq!(course.reaches(at(Market::Hk, "2026-03-18 09:31:00")), after(1_000));
    assert_eq!(course.now(Duration::ZERO), start, "before it began");
    assert_eq!(course.reaches(Timestamp(start.0 - 1)), since);
    let slow = Course::new(start, since, 1);
    assert_eq!((slow.now(after(999_999)), slow.now(after(1_000_000))), (start, Timestamp(start.0 + 1)));
    let fast = Course::new(start, since, world::SPEED_THOUSANDTHS_MAX);
    assert_eq!(fast.now(after(1)), Timestamp(start.0 + 1_000));
    // The slowest and the fastest clock do not overflow.
    assert_eq!(fast.now(Duration::MAX), Timestamp(i64::MAX));
    assert!(slow.reaches(Timestamp(i64::MAX)) > after(1_000_000));
}
