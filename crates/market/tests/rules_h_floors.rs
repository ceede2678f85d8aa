//! H1: the start of served history. A floor excludes source candles by trading day; it does not
//! filter stamps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{at, date, flat, local, market, venue};
use market::{Candles, FloorTable, Floors, Market, Period, Session, fold};

#[test]
fn h1_default_floors_are_the_published_ones() {
    let check = |name: &str, day: &str, minute: &str| {
        let expected = Floors { day: Some(date(day)), minute: Some(date(minute)) };
        assert_eq!(Floors::published(market(name)), expected, "{name}");
        assert_eq!(FloorTable::default().of(market(name)), expected, "{name}");
    };
    check("HK", "2004-06-01", "2022-09-28");
    check("US", "2010-06-01", "2023-12-04");
    check("CN", "1999-11-01", "2022-08-25");
}

#[test]
fn h1_every_calendar_covers_its_floor() {
    for market in Market::ALL {
        let calendar = venue(market).calendar();
        let Floors { day, minute } = Floors::published(market);
        assert_eq!(Some(calendar.first()), day, "{market}");
        for floor in [day, minute].map(Option::unwrap) {
            assert!(calendar.covers(floor) && calendar.kind(floor).is_some(), "{market} {floor}");
        }
    }
}

#[test]
fn h1_the_first_candle_may_be_stamped_before_the_floor() {
    let check = |name: &str, period: &str, expected: &str| {
        let market = market(name);
        let floor = Floors::published(market).day.unwrap();
        let month = venue(market).calendar().days(floor, floor.last_of_month());
        let days: Candles =
            month.map(|(day, _)| flat(at(market, &day.to_string()), Session::Intraday)).collect();
        let first = fold::fold(venue(market), period.parse().unwrap(), &days).unwrap().get(0).unwrap();
        assert_eq!(local(market, first.time), format!("{expected} 00:00"), "{name} {period}");
    };
    check("HK", "day", "2004-06-01");
    check("HK", "week", "2004-05-31");
    check("HK", "month", "2004-06-01");
    check("HK", "quarter", "2004-04-01");
    check("HK", "year", "2004-01-01");
    check("US", "week", "2010-05-31");
    check("US", "quarter", "2010-04-01");
    check("US", "year", "2010-01-01");
    check("CN", "week", "1999-11-01");
    check("CN", "quarter", "1999-10-01");
    check("CN", "year", "1999-01-01");
}

#[test]
fn h1_us_minutes_start_on_the_evening_before_the_floor() {
    let venue = venue(Market::Us);
    assert_eq!(venue.trading_day(at(Market::Us, "2023-12-03 20:00")), Floors::published(Market::Us).minute);
    assert_eq!(venue.trading_day(at(Market::Us, "2023-12-01 19:59")), Some(date("2023-12-01")));
}

#[test]
fn h1_floors_are_configurable() {
    let check = |text: &str, expected: &str| {
        let parsed: Result<FloorTable, _> = text.parse();
        let shown = parsed.map_or_else(|_| "wrong".to_owned(), |table| table.to_string());
        assert_eq!(shown, expected, "{text:?}");
        if shown != "wrong" {
            assert_eq!(shown.parse::<FloorTable>().unwrap(), text.parse().unwrap(), "{text:?}");
        }
    };
    check("published", "published");
    check("none", "none");
    check("HK.day=1995-01-03", "HK.day=1995-01-03");
    check(" hk.day=19950103 , US.minute=none", "HK.day=1995-01-03,US.minute=none");
    // Floors with their published date are omitted from the text.
    check("HK.day=2004-06-01", "published");
    check("US.minute=2020-01-02,US.day=none", "US.day=none,US.minute=2020-01-02");
    for wrong in [
        "",
        "all",
        "HK",
        "HK=1995-01-03",
        "HK.day",
        "HK.week=none",
        "XX.day=none",
        "HK.day=soon",
        "none,HK.day=none",
    ] {
        check(wrong, "wrong");
    }
    check("HK.day=none,hk.day=1995-01-03", "wrong");
    let mixed: FloorTable = "HK.day=none,CN.minute=2020-01-02".parse().unwrap();
    assert_eq!(mixed.of(Market::Hk), Floors { day: None, ..Floors::published(Market::Hk) });
    assert_eq!(mixed.of(Market::Cn).of(Period::MINUTE), Some(date("2020-01-02")));
    assert_eq!(mixed.of(Market::Us), Floors::published(Market::Us));
}
