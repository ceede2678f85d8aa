//! B: stamps. Minute candles are stamped with their start. Daily and longer candles are stamped
//! with local midnight of their first day.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{at, date, full_day, market, minutes, stamp, venue};
use market::{Market, Period, Session, Span, Timestamp, fold};

fn check(name: &str, when: &str, period: &str, unix: i64, utc: &str) {
    let period: Period = period.parse().unwrap();
    let found =
        stamp(market(name), period, when).unwrap_or_else(|| panic!("{name} {when} {period}: no candle"));
    assert_eq!(found, Timestamp(unix), "{name} {when} {period}");
    assert_eq!(found.to_string(), utc, "{name} {when} {period}");
}

#[test]
fn b1_a_minute_candle_is_stamped_with_its_start() {
    check("HK", "2022-04-27 09:30", "1m", 1_651_023_000, "2022-04-27T01:30:00Z");
    check("HK", "2022-04-27 09:30:59", "1m", 1_651_023_000, "2022-04-27T01:30:00Z");
    let ten = Period::Clock(minutes(10));
    let regular = common::only(&full_day(Market::Us, "2025-07-03"), Session::Intraday);
    let last = fold::fold(venue(Market::Us), ten, &regular).unwrap().last().unwrap();
    assert_eq!(last.time.to_string(), "2025-07-03T16:50:00Z");
    assert_eq!(venue(Market::Us).zone().rfc3339(last.time), "2025-07-03T12:50:00-04:00");
}

#[test]
fn b2_longer_candles_start_on_the_first_calendar_day() {
    let check = |period: &str, day: &str, expected: &str| {
        assert_eq!(common::span(period).floor(date(day)), date(expected), "{period} of {day}");
    };
    check("day", "2022-01-06", "2022-01-06");
    // Holidays and weekends do not move a stamp: 3 January 2022 was a holiday, 1 January a Saturday
    // and 1 May a Sunday.
    check("week", "2022-01-06", "2022-01-03");
    check("month", "2022-01-06", "2022-01-01");
    check("month", "2022-05-18", "2022-05-01");
    check("week", "2022-01-03", "2022-01-03");
    check("week", "2022-01-09", "2022-01-03");
    for (month, first) in [
        ("01", "01"),
        ("02", "01"),
        ("03", "01"),
        ("04", "04"),
        ("05", "04"),
        ("06", "04"),
        ("07", "07"),
        ("08", "07"),
        ("09", "07"),
        ("10", "10"),
        ("11", "10"),
        ("12", "10"),
    ] {
        check("quarter", &format!("2026-{month}-28"), &format!("2026-{first}-01"));
        check("month", &format!("2026-{month}-28"), &format!("2026-{month}-01"));
        check("year", &format!("2026-{month}-28"), "2026-01-01");
    }
}

#[test]
fn b3_stamps_match_the_worked_examples() {
    check("HK", "2026-03-18 09:30", "1m", 1_773_797_400, "2026-03-18T01:30:00Z");
    check("HK", "2026-03-18 16:08:37", "1m", 1_773_820_800, "2026-03-18T08:00:00Z");
    check("HK", "2026-03-18", "day", 1_773_763_200, "2026-03-17T16:00:00Z");
    check("HK", "2026-03-18", "week", 1_773_590_400, "2026-03-15T16:00:00Z");
    check("HK", "2026-03-18", "month", 1_772_294_400, "2026-02-28T16:00:00Z");
    check("HK", "2026-03-18", "quarter", 1_767_196_800, "2025-12-31T16:00:00Z");
    check("HK", "2026-03-18", "year", 1_767_196_800, "2025-12-31T16:00:00Z");

    check("US", "2026-01-14 09:30", "1m", 1_768_401_000, "2026-01-14T14:30:00Z");
    check("US", "2026-01-14", "day", 1_768_366_800, "2026-01-14T05:00:00Z");
    check("US", "2026-01-14", "week", 1_768_194_000, "2026-01-12T05:00:00Z");
    check("US", "2026-01-14", "month", 1_767_243_600, "2026-01-01T05:00:00Z");
    check("US", "2026-01-14", "quarter", 1_767_243_600, "2026-01-01T05:00:00Z");
    check("US", "2026-01-14", "year", 1_767_243_600, "2026-01-01T05:00:00Z");

    check("US", "2026-07-15 09:30", "1m", 1_784_122_200, "2026-07-15T13:30:00Z");
    check("US", "2026-07-15 04:00", "1m", 1_784_102_400, "2026-07-15T08:00:00Z");
    check("US", "2026-07-15 16:00", "1m", 1_784_145_600, "2026-07-15T20:00:00Z");
    check("US", "2026-07-15 20:00", "1m", 1_784_160_000, "2026-07-16T00:00:00Z");
    check("US", "2026-07-15", "day", 1_784_088_000, "2026-07-15T04:00:00Z");
    check("US", "2026-07-15", "week", 1_783_915_200, "2026-07-13T04:00:00Z");
    check("US", "2026-07-15", "month", 1_782_878_400, "2026-07-01T04:00:00Z");
    check("US", "2026-07-15", "quarter", 1_782_878_400, "2026-07-01T04:00:00Z");

    // The month began in summer time. The week began after the clock change.
    check("US", "2026-11-04", "week", 1_793_595_600, "2026-11-02T05:00:00Z");
    check("US", "2026-11-04", "month", 1_793_505_600, "2026-11-01T04:00:00Z");

    check("CN", "2026-05-20 09:30", "1m", 1_779_240_600, "2026-05-20T01:30:00Z");
    check("CN", "2026-05-20 15:00", "1m", 1_779_260_400, "2026-05-20T07:00:00Z");
    check("CN", "2026-05-20", "day", 1_779_206_400, "2026-05-19T16:00:00Z");
    check("CN", "2026-05-20", "week", 1_779_033_600, "2026-05-17T16:00:00Z");
    check("CN", "2026-05-20", "month", 1_777_564_800, "2026-04-30T16:00:00Z");
    check("CN", "2026-05-20", "quarter", 1_774_972_800, "2026-03-31T16:00:00Z");
    check("CN", "2026-05-20", "year", 1_767_196_800, "2025-12-31T16:00:00Z");
}

#[test]
fn b3_a_us_day_has_four_sessions() {
    let check = |when: &str, expected: Session| {
        assert_eq!(venue(Market::Us).slot(at(Market::Us, when)).unwrap().segment.session, expected, "{when}");
    };
    check("2026-07-15 04:00", Session::Pre);
    check("2026-07-15 09:30", Session::Intraday);
    check("2026-07-15 16:00", Session::Post);
    check("2026-07-15 20:00", Session::Overnight);
}

#[test]
fn b3_a_stamp_has_the_offset_of_its_instant() {
    let zone = venue(Market::Us).zone();
    let (friday, monday) = (zone.midnight(date("2026-03-06")), zone.midnight(date("2026-03-09")));
    assert_eq!((friday, monday), (Timestamp(1_772_773_200), Timestamp(1_773_028_800)));
    assert_eq!((monday.0 - friday.0) / 3600, 71);
}

#[test]
fn b4_daily_stamps_match_the_published_examples() {
    let days = |name: &str, expected: &[(i64, &str)]| {
        for (unix, day) in expected {
            let zone = venue(market(name)).zone();
            assert_eq!(zone.midnight(date(day)), Timestamp(*unix), "{name} {day}");
            assert_eq!(zone.local(Timestamp(*unix)), (date(day), 0), "{name} {day}");
        }
    };
    let history = [
        (1_650_384_000, "2022-04-20"),
        (1_650_470_400, "2022-04-21"),
        (1_650_556_800, "2022-04-22"),
        (1_650_816_000, "2022-04-25"),
        (1_650_902_400, "2022-04-26"),
    ];
    days("HK", &history);
    // The example lists every trading day from its first to its last date.
    let trading = venue(Market::Hk).calendar().days(date("2022-04-20"), date("2022-04-26"));
    assert_eq!(trading.map(|(day, _)| day).collect::<Vec<_>>(), history.map(|(_, day)| date(day)));
    days("US", &[(1_775_534_400, "2026-04-07")]);
    assert_eq!(venue(Market::Us).zone().midnight(date("2025-03-10")).to_string(), "2025-03-10T04:00:00Z");
}

#[test]
fn a_daily_candle_is_stamped_with_its_own_day() {
    for market in Market::ALL {
        for day in ["2026-03-06", "2026-03-09", "2026-11-02"] {
            assert_eq!(
                stamp(market, Period::Calendar(Span::Day), day),
                Some(at(market, day)),
                "{market} {day}"
            );
        }
    }
}
