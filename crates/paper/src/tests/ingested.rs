//! Orders, and minutes that arrive while they form.

use history::ingest::{CandleInput, GRACE_S, Head, Intake, Merger};
use market::{Candle, Grain, Price, Session, Turnover, Venues};
use store::{Access, Store};
use trading::Side;

use super::house::{House, MACHINE, at, limit, live};

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
    // It has ended, but more of it may come.
    assert_eq!(service.seen(id, live("10:02:00"), order), "NewStatus 0@- 500000.00");
    feed.add("10:02", ["305.6"; 4], "10:02:01");
    service.seen(id, live("10:02:01"), order);
    assert_eq!(service.seen(id, live("10:02:03"), order), "FilledStatus 200@305.200 438875.25");
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
    service.seen(id, live("10:02:05"), order);
    assert_eq!(service.seen(id, live("10:02:07"), order), "FilledStatus 200@305.200 438875.25");
    // A correction fills nothing and changes no fill.
    feed.add("10:01", ["299"; 4], "10:02:30");
    assert_eq!(service.seen(id, live("10:02:40"), order), "FilledStatus 200@305.200 438875.25");
}
