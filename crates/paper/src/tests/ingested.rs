//! Orders, and minutes that are ingested while they are incomplete.

use history::ingest::{CandleInput, GRACE_S, Head, Intake, Merger};
use market::{Candle, Grain, Price, Session, Timestamp, Turnover, Venues};
use store::{Access, AccountId, Store};
use trading::{OrderId, Side};

use super::house::{House, MACHINE, Service, at, limit, live};

struct Feed {
    intake: Intake,
    merger: Merger,
}

impl Feed {
    fn of(house: &House) -> Feed {
        let store = Store::open(house.dir.path(), Access::Write { now: MACHINE }).unwrap();
        let (intake, merger) = Intake::open(&store, &Venues::built_in().unwrap(), GRACE_S).unwrap();
        Feed { intake, merger }
    }

    /// Adds a minute of 700.HK at an instant.
    fn add(&mut self, minute: &str, prices: [&str; 4], now: &str) {
        let [open, high, low, close] = prices.map(|text| Price::parse(text).unwrap());
        let (volume, turnover, session) = (50_000, Turnover(0), Session::Intraday);
        let candle = Candle { time: at(minute), open, high, low, close, volume, turnover, session };
        let symbol = "700.HK".parse().unwrap();
        let row = CandleInput { symbol, grain: Grain::Minute, candle, is_final: None };
        let head = Head { source: "feed", seq: None, gap: false, build: false };
        self.intake.candles(&head, vec![Ok(row)], at(now).0 * 1_000_000, &|_| String::new()).unwrap();
        self.merge(now);
    }

    fn merge(&mut self, now: &str) {
        self.merger.merge(at(now)).unwrap();
    }
}

fn filled_at(service: &Service, id: AccountId, order: OrderId) -> Timestamp {
    service.read(id, live("10:03"), |reading| reading.account.order(order).unwrap().fills[0].at)
}

const FIRST: [&str; 1] = ["10:00 305 305 300 305 50000"];
const FILLING: [&str; 4] = ["305.2", "305.8", "305", "305.6"];

#[test]
fn a_partial_minute_takes_effect_when_the_next_one_arrives() {
    let house = House::new(&FIRST);
    let (id, service, mut feed) = (house.account("ann"), house.service(), Feed::of(&house));
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "306.00"));
    feed.add("10:01", ["305.2"; 4], "10:01:05");
    feed.add("10:01", FILLING, "10:01:40");
    assert_eq!(service.seen(id, live("10:01:50"), order), "NewStatus 0@- 500000.00");
    // The minute has ended, but more of it may arrive.
    assert_eq!(service.seen(id, live("10:02:00"), order), "NewStatus 0@- 500000.00");
    feed.add("10:02", ["305.6"; 4], "10:02:01");
    // It takes effect in the second of its arrival, because no account was advanced to that second
    // before.
    assert_eq!(service.seen(id, live("10:02:01"), order), "FilledStatus 200@305.200 438875.25");
    assert_eq!(filled_at(&service, id, order), at("10:02:01"));
}

#[test]
fn a_second_without_a_candle_is_not_changed_after_it_has_passed() {
    let house = House::new(&FIRST);
    let (ids, service, mut feed) =
        (["ann", "bob"].map(|name| house.account(name)), house.service(), Feed::of(&house));
    let orders = ids.map(|id| service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "306.00")));
    feed.add("10:01", FILLING, "10:01:40");
    assert!(service.seen(ids[1], live("10:02:01"), orders[1]).starts_with("NewStatus"));
    feed.add("10:02", ["305.6"; 4], "10:02:01");
    assert!(service.seen(ids[0], live("10:02:01"), orders[0]).starts_with("NewStatus"));
    for (id, order) in ids.into_iter().zip(orders) {
        assert!(service.seen(id, live("10:02:02"), order).starts_with("FilledStatus"));
        assert_eq!(filled_at(&service, id, order), at("10:02:02"));
    }
}

#[test]
fn a_partial_minute_takes_effect_some_seconds_after_its_end() {
    let house = House::new(&FIRST);
    let (id, service, mut feed) = (house.account("ann"), house.service(), Feed::of(&house));
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "306.00"));
    feed.add("10:01", FILLING, "10:01:40");
    feed.merge("10:02:04");
    assert_eq!(service.seen(id, live("10:02:04"), order), "NewStatus 0@- 500000.00");
    feed.merge("10:02:05");
    assert_eq!(service.seen(id, live("10:02:05"), order), "FilledStatus 200@305.200 438875.25");
    assert_eq!(filled_at(&service, id, order), at("10:02:05"));
    // A correction neither fills orders nor changes fills (I8).
    feed.add("10:01", ["299"; 4], "10:02:30");
    assert_eq!(service.seen(id, live("10:02:40"), order), "FilledStatus 200@305.200 438875.25");
}

/// Example I9 of the specification: an older minute that arrives after a later one has taken effect.
#[test]
fn a_minute_older_than_one_that_took_effect_fills_nothing() {
    let house = House::new(&FIRST);
    let (id, service, mut feed) = (house.account("ann"), house.service(), Feed::of(&house));
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "300.00"));
    for (minute, now) in [("10:09", "10:09:30"), ("10:10", "10:10:01")] {
        feed.add(minute, FILLING, now);
        service.seen(id, live(now), order);
    }
    feed.add("10:01", ["299"; 4], "10:10:20");
    assert_eq!(service.seen(id, live("10:10:30"), order), "NewStatus 0@- 500000.00");
    assert_eq!(service.seen(id, live("11:00"), order), "NewStatus 0@- 500000.00");
    // The next minute fills the order.
    feed.add("11:00", ["299"; 4], "11:00:30");
    feed.merge("11:01:05");
    assert!(service.seen(id, live("11:01:05"), order).starts_with("FilledStatus 200@299.000"));
}
