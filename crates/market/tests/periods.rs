//! Tests the eighteen periods, their spellings, and the grain from which each period is folded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{date, minutes};
use market::{Grain, Minutes, Period, Span, parse_date, parse_time_of_day, parse_time_of_day_or_second};

#[test]
fn periods_are_listed_shortest_first() {
    let all: Vec<String> = Period::all().map(|period| period.to_string()).collect();
    assert_eq!(
        all.join(" "),
        "1m 2m 3m 5m 10m 15m 20m 30m 45m 60m 120m 180m 240m day week month quarter year"
    );
    assert!(Period::all().is_sorted());
    for period in Period::all() {
        assert_eq!(period.to_string().parse(), Ok(period), "what is written reads back");
    }
}

#[test]
fn the_thirteen_periods_shorter_than_a_day_are_served() {
    let served: Vec<u16> = (0..=u16::MAX).filter(|n| Minutes::new(*n).is_some()).collect();
    assert_eq!(served, [1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240]);
    assert_eq!(minutes(1), Minutes::ONE);
}

#[test]
fn alternative_spellings_of_periods_are_parsed() {
    let check = |read: &str, expected: &str| {
        assert_eq!(read.parse::<Period>().map(|p| p.to_string()).as_deref(), Ok(expected), "{read}")
    };
    check("1h", "60m");
    check("2h", "120m");
    check("3H", "180m");
    check("4h", "240m");
    check("5min", "5m");
    check("15MINUTES", "15m");
    check("1d", "day");
    check("Daily", "day");
    check("1w", "week");
    check("1mo", "month");
    check("1q", "quarter");
    check("1y", "year");
    for wrong in [
        "", "m", "0m", "4m", "7m", "90m", "480m", "5h", "1", "60", "-5m", "+5m", "1.5h", "5 m", "1x",
        "65541m", "2000h", "decade", "٥m",
    ] {
        assert!(wrong.parse::<Period>().is_err(), "{wrong:?}");
    }
}

#[test]
fn an_error_lists_every_period() {
    assert_eq!(
        "7m".parse::<Period>().unwrap_err().to_string(),
        "\"7m\" is not a period: 1m 2m 3m 5m 10m 15m 20m 30m 45m 60m 120m 180m 240m (or 1h 2h 3h 4h), day, week, month, \
         quarter, year"
    );
}

#[test]
fn a_capital_m_is_ambiguous() {
    let check = |read: &str, asks: &str| {
        let error = read.parse::<Period>().unwrap_err().to_string();
        assert!(error.ends_with(&format!("did you mean {asks}?")), "{error}");
    };
    check("1M", "1m or month");
    check("3M", "3m or quarter");
    check("12M", "year");
    check("15M", "15m");
    assert!(!"7M".parse::<Period>().unwrap_err().to_string().contains("did you mean"));
}

#[test]
fn periods_are_folded_from_the_coarsest_grain() {
    let check = |period: &str, grain: Grain, most: usize| {
        let period: Period = period.parse().unwrap();
        assert_eq!((period.source(), period.sources_max()), (grain, most), "{period}");
    };
    // The maximum is one more than the quotient, because the last bucket may include the closing
    // minute.
    check("1m", Grain::Minute, 1);
    check("2m", Grain::Minute, 3);
    check("3m", Grain::Minute, 4);
    check("5m", Grain::Minute, 6);
    check("10m", Grain::Minute, 11);
    check("15m", Grain::Minute15, 1);
    check("20m", Grain::Minute, 21);
    check("30m", Grain::Minute15, 3);
    check("45m", Grain::Minute15, 4);
    check("60m", Grain::Minute60, 1);
    check("120m", Grain::Minute60, 3);
    check("180m", Grain::Minute60, 4);
    check("240m", Grain::Minute60, 5);
    check("day", Grain::Day, 1);
    check("week", Grain::Day, 7);
    check("month", Grain::Day, 31);
    check("quarter", Grain::Day, 92);
    check("year", Grain::Day, 366);
}

#[test]
fn a_stored_grain_is_its_own_source() {
    let names = ["1m", "15m", "60m", "own5m", "own15m", "own30m", "own60m", "1d"];
    assert_eq!(Grain::ALL.map(Grain::as_str), names);
    for grain in Grain::ALL.into_iter().filter(|grain| !grain.is_own()) {
        assert_eq!(grain.period().source(), grain);
        assert_eq!(grain.as_str().parse(), Ok(grain.period()));
    }
    assert_eq!(Grain::ROLLED_UP.map(Grain::as_str), ["15m", "60m"]);
    for grain in Grain::OWN {
        assert_eq!(grain.as_str().strip_prefix("own").unwrap().parse(), Ok(grain.period()));
        assert_eq!(Grain::of_rows(grain.period()), Some(grain));
    }
    assert_eq!(
        (Grain::of_rows(Period::MINUTE), Grain::of_rows(Period::DAY)),
        (Some(Grain::Minute), Some(Grain::Day))
    );
}

#[test]
fn coarse_files_provide_their_period_and_its_multiples() {
    let check = |period: &str, grains: &str| {
        let period: Period = period.parse().unwrap();
        let own: Vec<&str> = period.own_sources().map(Grain::as_str).collect();
        assert_eq!(own.join(" "), grains, "{period}");
    };
    for nothing in ["1m", "2m", "3m", "day", "week", "month", "quarter", "year"] {
        check(nothing, "");
    }
    check("5m", "own5m");
    check("10m", "own5m");
    check("15m", "own5m own15m");
    check("20m", "own5m");
    check("30m", "own5m own15m own30m");
    check("45m", "own5m own15m");
    for hours in ["60m", "120m", "180m", "240m"] {
        check(hours, "own5m own15m own30m own60m");
    }
}

#[test]
fn span_floors_of_extreme_dates_do_not_panic() {
    for span in [Span::Day, Span::Week, Span::Month, Span::Quarter, Span::Year] {
        assert!(span.floor(market::Date::MIN) <= market::Date::MIN);
        assert!(span.floor(market::Date::MAX) <= market::Date::MAX);
    }
}

#[test]
fn dates_are_eight_digits() {
    let check = |read: &str, expected: &str| assert_eq!(parse_date(read), Ok(date(expected)), "{read}");
    check("20260318", "2026-03-18");
    check("20240229", "2024-02-29");
    check("19991101", "1999-11-01");
    for wrong in [
        "",
        "2026318",
        "2026-03-18",
        "20260229",
        "20261301",
        "20260431",
        "20260300",
        "202603181",
        "2026031a",
        " 2026031",
        "+2026031",
        "２０２６",
    ] {
        assert!(parse_date(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_time_of_day_may_have_a_colon() {
    let check = |read: &str, expected: i32| assert_eq!(parse_time_of_day(read), Ok(expected), "{read}");
    check("0000", 0);
    check("0930", 570);
    check("09:30", 570);
    check("2359", 1439);
    check("23:59", 1439);
    for wrong in [
        "", "930", "9:30", "2400", "24:00", "1260", "09-30", "09:3", "09:300", "0 30", "+930", "093a",
        "09:30:00",
    ] {
        assert!(parse_time_of_day(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn seconds_are_validated_and_dropped() {
    for read in ["0930", "09:30", "09:30:00", "09:30:59"] {
        assert_eq!(parse_time_of_day_or_second(read), Ok(570), "{read}");
    }
    for wrong in [
        "",
        "09:30:",
        "09:30:1",
        "09:30:1x",
        "09:30:60",
        "09:30 08",
        "09:30+08",
        "0930x:00",
        "093000",
        "0930:00",
        "24:00:00",
        "é9:30:0",
        "09:30:001",
    ] {
        assert!(parse_time_of_day_or_second(wrong).is_err(), "{wrong:?}");
    }
}
