//! H1: how far back history goes. The floor cuts source candles by trading day, never stamps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{at, date, flat, local, market, venue};
use market::{Calendar, Candles, Floors, Market, Session, SessionTable, Venue, fold};

#[test]
fn h1_floors_of_every_market() {
    let check = |name: &str, day: &str, minute: &str| {
        assert_eq!(venue(market(name)).floors(), Floors { day: date(day), minute: date(minute) }, "{name}");
    };
    check("HK", "2004-06-01", "2022-09-28");
    check("US", "2010-06-01", "2023-12-04");
    check("CN", "1999-11-01", "2022-08-25");
}

#[test]
fn h1_every_calendar_reaches_back_to_its_floor() {
    for market in Market::ALL {
        let calendar = venue(market).calendar();
        assert_eq!(calendar.first(), venue(market).floors().day, "{market}");
        for floor in [venue(market).floors().day, venue(market).floors().minute] {
            assert!(calendar.covers(floor) && calendar.kind(floor).is_some(), "{market} {floor}");
        }
    }
}

#[test]
fn h1_the_first_candles_are_built_from_the_floor_on_and_stamped_before_it() {
    let check = |name: &str, period: &str, expected: &str| {
        let market = market(name);
        let floor = venue(market).floors().day;
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
fn h1_the_evening_before_the_us_minute_floor_belongs_to_it() {
    let venue = venue(Market::Us);
    assert_eq!(venue.trading_day(at(Market::Us, "2023-12-03 20:00")), Some(venue.floors().minute));
    assert_eq!(venue.trading_day(at(Market::Us, "2023-12-01 19:59")), Some(date("2023-12-01")));
}

#[test]
fn h1_floors_are_configuration() {
    let lower = Floors { day: date("1995-01-01"), minute: date("2000-01-01") };
    let calendar = Calendar::parse(Venue::built_in_calendar(Market::Hk)).unwrap();
    let sessions = SessionTable::parse(Venue::built_in_sessions(), Market::Hk).unwrap();
    let venue = Venue::new(Market::Hk, calendar, sessions);
    assert_eq!(venue.floors(), Floors::of(Market::Hk));
    assert_eq!(venue.with_floors(lower).floors(), lower);
}
