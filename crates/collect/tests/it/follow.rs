//! Following a source in memory whose connections are cut, with a simulated clock.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use collect::{Connect, Delivered, Delivery, FollowState, Following, Link, Received, Sink, follow, followed};
use market::{Candle, Price, Session, Symbol, Timestamp, TradeEffect, Turnover};
use source::{Answer, Page, Push, PushedTrade, Request, SourceError};

use crate::fake::{Source, VirtualTime, refusal};
use crate::runs::{NOW, Silent, Target, symbol};

/// 10:00 of 2026-03-18 in Hong Kong.
const TEN: i64 = NOW - 7 * 3_600;

/// What a connection receives next.
enum Step {
    /// A trade of 700.HK: seconds after 10:00, price and volume. The source has it from then on.
    Trade(i64, i64, i64),
    /// A trade that is not pushed, because the connection was lost.
    Missed(i64, i64, i64),
    /// Time passes, in seconds.
    Wait(i64),
    Cut,
    Stop,
}

struct Market {
    steps: VecDeque<Step>,
    candles: BTreeMap<i64, Candle>,
    requests: Vec<(i64, String)>,
    refusals: BTreeMap<String, VecDeque<u64>>,
    /// The newest version of each stored row, and the number of the last batch.
    stored: BTreeMap<(Symbol, i64), Candle>,
    last_seq: i64,
    /// Outcomes of the next batches.
    outcomes: VecDeque<Delivered>,
    time: VirtualTime,
    following: Option<Following>,
}

#[derive(Clone)]
struct Shared(Rc<RefCell<Market>>);

struct FakeLink {
    market: Shared,
    answers: VecDeque<(u32, Result<Answer, SourceError>)>,
    subscribed: Vec<Symbol>,
    next: u32,
}

impl Market {
    fn trade(&mut self, second: i64, price: i64, volume: i64) -> Push {
        let time = Timestamp(TEN + second);
        let stamp = time.0 - time.0 % 60;
        let price = Price(price * 1_000_000);
        let candle = self.candles.entry(stamp).or_insert(Candle {
            time: Timestamp(stamp),
            open: price,
            high: price,
            low: price,
            close: price,
            volume: 0,
            turnover: Turnover(0),
            session: Session::Intraday,
        });
        (candle.high, candle.low) = (candle.high.max(price), candle.low.min(price));
        candle.close = price;
        candle.volume += volume;
        candle.turnover = Turnover(candle.turnover.0 + i128::from(price.0) * i128::from(volume));
        let price = i128::from(price.0) * 100;
        let (session, effect) = (Session::Intraday, TradeEffect::PriceAndVolume);
        let turnover = price * i128::from(volume);
        Push {
            symbol: symbol("700.HK"),
            trades: vec![PushedTrade { time, session, price, volume, turnover, effect }],
        }
    }

    fn advance_to(&mut self, second: i64) {
        let at = (TEN + second) * 1_000;
        self.time.0.set(self.time.0.get().max(at));
    }
}

impl Connect for Shared {
    fn connect(&mut self, _: i64) -> Result<Box<dyn Link>, SourceError> {
        Ok(Box::new(FakeLink {
            market: self.clone(),
            answers: VecDeque::new(),
            subscribed: Vec::new(),
            next: 1,
        }))
    }
}

impl Link for FakeLink {
    fn send(&mut self, request: &Request) -> Result<u32, SourceError> {
        let mut market = self.market.0.borrow_mut();
        let now_ms = market.time.0.get();
        let of = request.symbol().unwrap().clone();
        let what = if matches!(request, Request::Subscribe { .. }) { "subscribe" } else { "candles" };
        market.requests.push((now_ms, format!("{what} {of}")));
        let refused = market.refusals.get_mut(of.as_str()).and_then(VecDeque::pop_front);
        let answer = match (refused, request) {
            (Some(code), _) => Err(refusal(code)),
            (None, Request::Candles { .. }) => {
                let candles = market.candles.values().copied().filter(|_| of.as_str() == "700.HK").collect();
                Ok(Answer::Candles(Page { candles, wrong: Vec::new(), decimals: 3 }))
            }
            (None, Request::Subscribe { .. }) => {
                self.subscribed.push(of);
                Ok(Answer::Subscribed(true))
            }
            (None, other) => panic!("{other:?}"),
        };
        self.next += 1;
        self.answers.push_back((self.next, answer));
        Ok(self.next)
    }

    fn next(&mut self, _: Duration) -> Result<Option<Received>, SourceError> {
        if let Some(answer) = self.answers.pop_front() {
            return Ok(Some(Received::Answer(answer)));
        }
        let mut market = self.market.0.borrow_mut();
        // The next step comes after the security is subscribed.
        if !self.subscribed.contains(&symbol("700.HK")) {
            return Ok(None);
        }
        match market.steps.pop_front() {
            Some(Step::Trade(second, price, volume)) => {
                market.advance_to(second);
                Ok(Some(Received::Push(market.trade(second, price, volume))))
            }
            Some(Step::Missed(second, price, volume)) => {
                market.advance_to(second);
                market.trade(second, price, volume);
                Ok(None)
            }
            Some(Step::Wait(seconds)) => {
                let now_ms = market.time.0.get();
                market.time.0.set(now_ms + seconds * 1_000);
                Ok(None)
            }
            Some(Step::Cut) => Err(SourceError::Closed { reason: "cut".to_owned() }),
            Some(Step::Stop) | None => {
                market.following.as_ref().unwrap().stop();
                Ok(None)
            }
        }
    }
}

impl Sink for Shared {
    fn put(&self, delivery: &Delivery) -> Delivered {
        let mut market = self.0.borrow_mut();
        assert_eq!(delivery.source, "mirror-live");
        if let Some(outcome) = market.outcomes.pop_front() {
            return outcome;
        }
        let follows = delivery.seq == market.last_seq + 1 || delivery.gap;
        assert!(delivery.seq > market.last_seq && follows, "{} after {}", delivery.seq, market.last_seq);
        market.last_seq = delivery.seq;
        for row in &delivery.rows {
            market.stored.insert((row.symbol.clone(), row.candle.time.0), row.candle);
        }
        Delivered::Stored
    }
}

/// Follows until the steps end. Returns the source and the state.
fn followed_through(
    target: &Target,
    steps: Vec<Step>,
    prepare: impl FnOnce(&mut Market),
) -> (Shared, FollowState) {
    let time = Source::new(TEN * 1_000).borrow().time.clone();
    let (following, follower) = follow("live");
    let mut market = Market {
        steps: steps.into(),
        candles: BTreeMap::new(),
        requests: Vec::new(),
        refusals: BTreeMap::new(),
        stored: BTreeMap::new(),
        last_seq: 0,
        outcomes: VecDeque::new(),
        time: time.clone(),
        following: Some(following.clone()),
    };
    prepare(&mut market);
    let market = Shared(Rc::new(RefCell::new(market)));
    let venues = market::Venues::built_in().unwrap();
    let opened = market.clone();
    follower.run((&target.store, &venues), &time, &market, &Silent, &|_| Ok(Box::new(opened.clone())));
    (market, following.state())
}

/// Asserts that the stored candles of 700.HK are those of the source.
fn assert_equal(market: &Shared) {
    let market = market.0.borrow();
    let stored: Vec<Candle> = market.stored.values().copied().collect();
    assert_eq!(stored, market.candles.values().copied().collect::<Vec<_>>());
}

#[test]
fn a_lost_connection_leaves_no_gap_and_no_trade_is_counted_twice() {
    let target = Target::new(&["700.HK"], "2026-03-18");
    let steps = vec![
        Step::Trade(5, 300, 100),
        Step::Trade(65, 301, 100),
        Step::Trade(70, 299, 50),
        Step::Cut,
        Step::Missed(80, 305, 10),
        Step::Trade(85, 302, 10),
        Step::Cut,
        Step::Missed(130, 303, 7),
        Step::Missed(250, 303, 8),
        Step::Cut,
        Step::Trade(255, 304, 9),
        Step::Wait(700),
        Step::Wait(70),
        Step::Wait(1),
        Step::Stop,
    ];
    let (market, state) = followed_through(&target, steps, |market| {
        market.trade(-120, 298, 40);
        market.trade(2, 299, 60);
        let not_yet = || Delivered::NotYet("the disk is full".to_owned());
        market.outcomes.extend([not_yet(), not_yet(), Delivered::OutOfOrder]);
    });
    assert_equal(&market);
    assert_eq!((state.connections, state.error), (4, None));
    // The stored state is that of the end, and nobody follows any more.
    let (stored, is_running) = followed(&target.store, &target.row()).unwrap().unwrap();
    assert!(!is_running && !stored.is_connected && stored.rows == state.rows, "{stored:?}");
    // A run keeps the state.
    let source = crate::runs::source_of(&[]);
    target.run(&source, &collect::RunOptions::default()).unwrap();
    assert!(followed(&target.store, &target.row()).unwrap().is_some());
    // The day is recorded as incomplete, so that it is requested again.
    let jobs = target.store.reader().unwrap().view().mirror_jobs(target.row().id).unwrap();
    assert!(jobs.iter().any(|job| job.purpose == "today"), "{jobs:?}");
}

#[test]
fn requests_are_spaced_and_refused_securities_are_tried_again_later() {
    let target = Target::new(&["5.HK", "9.HK", "700.HK"], "2026-03-18");
    let steps =
        vec![Step::Wait(60), Step::Wait(541), Step::Wait(1), Step::Wait(61), Step::Wait(1), Step::Wait(1)];
    let (market, state) = followed_through(&target, steps, |market| {
        market.refusals.insert("5.HK".to_owned(), VecDeque::from([301_603, 301_604]));
        market.refusals.insert("9.HK".to_owned(), VecDeque::from([301_606]));
    });
    let market = market.0.borrow();
    let times = |what: &str| -> Vec<i64> {
        let of = market.requests.iter().filter(|(_, request)| request == what);
        of.map(|(at, _)| (at - TEN * 1_000) / 1_000).collect()
    };
    assert!(times("candles 5.HK").len() >= 2, "{:?}", market.requests);
    let [refused, again, ..] = times("candles 9.HK")[..] else { panic!("{:?}", market.requests) };
    assert!(again - refused >= 30, "{:?}", market.requests);
    assert_eq!(times("subscribe 9.HK").len(), 1);
    assert!(state.left_out["5.HK"].contains("301604"), "{state:?}");
    let candles: Vec<i64> = market
        .requests
        .iter()
        .filter(|(_, request)| request.starts_with("candles"))
        .map(|(at, _)| *at)
        .collect();
    assert!(candles.windows(2).all(|pair| pair[1] - pair[0] >= 500), "{candles:?}");
}
