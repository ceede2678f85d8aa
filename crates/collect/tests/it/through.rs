//! Read-through: requests whose data the store does not have.

use std::cell::RefCell;
use std::time::Duration;

use collect::{Connect, Fetched, Fetcher, Missing, Progress, ReadThrough, Scope, Wants, Watch, read_through};
use history::{Adjust, Anchor, AsOf, Direction, History, Query, Select, Sessions};
use market::{Candle, Candles, Floors, Grain, Market, Period, Price, Timestamp, Venues};
use store::{AccountId, Store};

use crate::fake::{Connector, Fault, Shared, hk};
use crate::runs::{NOW, Target, date, of_source, source_of, symbol};

const WAIT: Duration = Duration::from_secs(30);
const ANN: Option<AccountId> = Some(AccountId(1));
const BOB: Option<AccountId> = Some(AccountId(2));

/// Collects the notes for the user.
#[derive(Default)]
struct Notes(RefCell<Vec<String>>);

impl Watch for Notes {
    fn progress(&self, _: &Progress) {}

    fn note(&self, text: &str) {
        self.0.borrow_mut().push(text.to_owned());
    }
}

/// A client, whose requests are read through.
struct Client<'a> {
    read_through: &'a ReadThrough,
    store: &'a Store,
}

impl Client<'_> {
    /// Requests the data of a query. Returns whether a fetch was needed.
    fn asks(&self, query: &Query, now: i64) -> bool {
        self.asks_for(query, now, WAIT)
    }

    fn asks_for(&self, query: &Query, now: i64, at_most: Duration) -> bool {
        self.wants(Wants::Candles { query, paging: None }, now, at_most)
    }

    fn wants(&self, wants: Wants<'_>, now: i64, at_most: Duration) -> bool {
        let Some(missing) = self.missing(wants, now) else { return false };
        self.read_through.fetch(missing, ANN, Timestamp(now), at_most);
        true
    }

    fn missing(&self, wants: Wants<'_>, now: i64) -> Option<Missing> {
        let need = self.read_through.needs(wants, Timestamp(now))?;
        self.read_through.missing(&need, &mut self.store.reader().unwrap()).unwrap()
    }

    /// Returns the candles of the response.
    fn answer(&self, query: &Query, now: i64) -> Vec<Candle> {
        let history = History::new(Venues::built_in().unwrap());
        let answer = history.candles(&mut self.store.reader().unwrap(), query, AsOf::Live(Timestamp(now)));
        answer.map_or_else(|_| Candles::default(), |answer| answer.candles).iter().collect()
    }
}

/// Ends the fetcher, also after a failed assertion.
struct Stop<'a>(&'a ReadThrough);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn everything() -> Scope {
    Scope { markets: Market::ALL.to_vec(), periods: vec![Period::DAY, Period::MINUTE] }
}

/// Runs a fetcher while the client sends its requests. Returns the notes for the user.
fn serve(target: &Target, source: &Shared, client: impl FnOnce(&Client<'_>) + Send) -> Vec<String> {
    serve_scope(target, source, everything(), client)
}

fn serve_scope(
    target: &Target,
    source: &Shared,
    scope: Scope,
    client: impl FnOnce(&Client<'_>) + Send,
) -> Vec<String> {
    serve_with(target, source, live(scope), client)
}

fn live(scope: Scope) -> (ReadThrough, Fetcher) {
    read_through("live", &Venues::built_in().unwrap(), scope, 16)
}

fn serve_with(
    target: &Target,
    source: &Shared,
    (read_through, fetcher): (ReadThrough, Fetcher),
    client: impl FnOnce(&Client<'_>) + Send,
) -> Vec<String> {
    let venues = Venues::built_in().unwrap();
    let (time, notes) = (source.borrow().time.clone(), Notes::default());
    let store = target.store.clone();
    std::thread::scope(|threads| {
        let (handle, store) = (read_through.clone(), store.clone());
        let requests = threads.spawn(move || {
            let _stop = Stop(&handle);
            client(&Client { read_through: &handle, store: &store });
        });
        let open = |_: &store::MirrorRow| Ok(Box::new(Connector(source.clone())) as Box<dyn Connect>);
        fetcher.run((&target.store, &venues), &time, &notes, &open);
        requests.join().unwrap();
    });
    notes.0.into_inner()
}

fn query(text: &str, period: Period, anchor: Anchor, count: usize) -> Query {
    Query {
        symbol: symbol(text),
        period,
        adjust: Adjust::None,
        sessions: Sessions::Intraday,
        floors: Floors::NONE,
        select: Select::Offset { direction: Direction::Past, anchor, count },
    }
}

fn latest(text: &str, period: Period, count: usize) -> Query {
    query(text, period, Anchor::Latest, count)
}

fn tail(all: &[Candle], count: usize) -> Vec<Candle> {
    all[all.len() - count..].to_vec()
}

#[test]
fn a_missing_security_is_requested_once() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let days = of_source(&source, "700.HK", true, "2018-01-01");
    serve(&target, &source, |client| {
        let query = latest("700.HK", Period::DAY, 10);
        assert!(client.answer(&query, NOW).is_empty());
        assert!(client.asks(&query, NOW));
        assert_eq!(client.answer(&query, NOW), tail(&days, 10));
        assert!(!client.asks(&query, NOW + 1));
        assert!(!client.asks(&latest("700.HK", Period::DAY, 3), NOW + 100), "the last day is stored");
    });
    let source = source.borrow();
    assert_eq!((source.history.len(), source.connections), (1, 1));
    assert_eq!(source.most_in_second(), source.all.len(), "profile, static data and one page");
    let mut reader = target.store.reader().unwrap();
    let security = reader.view().security(&symbol("700.HK")).unwrap().unwrap();
    assert_eq!((security.lot_size, security.decimals), (Some(100), 3));
    let row = target.row();
    assert!(reader.view().mirror_securities(row.id).unwrap().is_empty(), "the list is the user's");
    let state = collect::State::parse(&row.state);
    assert_eq!((state.in_work, state.began_at, state.outcome), (0, None, None));
}

#[test]
fn concurrent_requests_for_a_series_share_one_fetch() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let minutes = of_source(&source, "700.HK", false, "2026-03-09");
    serve(&target, &source, |client| {
        let query = latest("700.HK", Period::MINUTE, 300);
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    client.asks(&query, NOW);
                    assert_eq!(client.answer(&query, NOW), tail(&minutes, 300));
                });
            }
        });
    });
    assert_eq!(source.borrow().history.len(), 1);
}

#[test]
fn data_fetched_since_it_was_missing_is_not_requested_again() {
    // 11:00:30 in Hong Kong.
    let during = hk().zone().instant(date("2026-03-18"), 11 * 3_600 + 30).0;
    let adjusted = Query { adjust: Adjust::Forward, ..latest("700.HK", Period::DAY, 10) };
    let today = latest("700.HK", Period::MINUTE, 5);
    // One day, and four days that include it.
    let minutes =
        [300, 1_000].map(|count| query("700.HK", Period::MINUTE, Anchor::Day(date("2026-03-16")), count));
    for (now, queries) in
        [(NOW, [adjusted.clone(), adjusted]), (during, [today.clone(), today]), (NOW, minutes)]
    {
        let requests = |is_concurrent: bool| {
            let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
            source.borrow().time.0.set(now * 1_000);
            // The source answers after the time of both requests.
            source.borrow_mut().latency_ms = 1_000;
            serve(&target, &source, |client| {
                let missing = |query: &Query| client.missing(Wants::Candles { query, paging: None }, now);
                let early: Vec<Option<Missing>> = queries.iter().map(missing).collect();
                assert!(early.iter().all(Option::is_some));
                for (query, early) in queries.iter().zip(early) {
                    let wanted = if is_concurrent { early } else { missing(query) };
                    if let Some(wanted) = wanted {
                        let fetched = client.read_through.fetch(wanted, ANN, Timestamp(now), WAIT);
                        assert_eq!(fetched, Fetched::Done);
                    }
                    assert!(missing(query).is_none(), "{query:?}");
                }
            });
            source.borrow().requests
        };
        assert_eq!(requests(true), requests(false), "{queries:?}");
    }
}

#[test]
fn one_account_cannot_use_all_orders() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let (read_through, fetcher) = live(everything());
    let now = Timestamp(NOW);
    let fetches = || read_through.counts(now).fetches;
    let client = Client { read_through: &read_through, store: &target.store };
    let order = |client: &Client<'_>, account, text: &str, at_most| {
        let missing = client.missing(Wants::Statics(&[symbol(text)]), NOW).unwrap();
        client.read_through.fetch(missing, account, now, at_most)
    };
    for number in 1..=40 {
        assert_eq!(order(&client, ANN, &format!("{number}.HK"), Duration::ZERO), Fetched::Pending);
        assert_eq!(fetches(), number.min(32));
    }
    assert_eq!(order(&client, BOB, "700.HK", Duration::ZERO), Fetched::Pending);
    assert_eq!(fetches(), 33);
    serve_with(&target, &source, (read_through.clone(), fetcher), |client| {
        // Orders are executed in their sequence, so the others are complete as well.
        assert_eq!(order(client, BOB, "9999.HK", WAIT), Fetched::Done);
        assert!(client.missing(Wants::Statics(&[symbol("700.HK")]), NOW).is_none());
        assert_eq!(fetches(), 0);
        assert_eq!(order(client, ANN, "40.HK", WAIT), Fetched::Done);
    });
}

#[test]
fn a_restarted_server_requests_nothing_that_it_has() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let old = query("700.HK", Period::DAY, Anchor::Day(date("2017-06-01")), 20);
    let page = query("700.HK", Period::DAY, Anchor::Day(date("2025-06-02")), 1_000);
    serve(&target, &source, |client| {
        // The source has no candles before 2018.
        assert!(client.asks(&old, NOW));
        assert!(!client.asks(&old, NOW));
        assert!(client.asks(&page, NOW));
    });
    let sent = source.borrow().requests;
    serve(&target, &source, |client| {
        assert!(!client.asks(&page, NOW));
        assert!(!client.asks(&old, NOW));
        assert_eq!(client.answer(&page, NOW).len(), 1_000);
    });
    assert_eq!(source.borrow().requests, sent);
}

#[test]
fn a_range_between_stored_candles_is_requested() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let days = of_source(&source, "700.HK", true, "2018-01-01");
    let in_2020 = query("700.HK", Period::DAY, Anchor::Day(date("2020-03-31")), 20);
    let in_2023 = query("700.HK", Period::DAY, Anchor::Day(date("2023-03-31")), 20);
    serve(&target, &source, |client| {
        assert!(client.asks(&in_2020, NOW) && client.asks(&latest("700.HK", Period::DAY, 20), NOW));
        assert!(client.asks(&in_2023, NOW));
        let end = days.partition_point(|day| day.time <= hk().zone().midnight(date("2023-03-31")));
        assert_eq!(client.answer(&in_2023, NOW), days[end - 20..end]);
    });
}

#[test]
fn a_miss_is_remembered() {
    let (source, target) = (source_of(&["700.HK", "5.HK"]), Target::new(&[], "2018-01-01"));
    source.borrow_mut().refused.insert(symbol("700.HK"), 301_604);
    source.borrow_mut().refused.insert(symbol("5.HK"), 301_603);
    serve(&target, &source, |client| {
        for (text, seconds) in [("700.HK", 86_400), ("5.HK", 600), ("9999.HK", 600)] {
            let query = latest(text, Period::DAY, 10);
            assert!(client.asks(&query, NOW), "{text}");
            assert!(!client.asks_for(&query, NOW + seconds - 1, WAIT), "{text}");
            assert!(client.asks_for(&query, NOW + seconds + 10, WAIT), "{text}");
        }
    });
    let month = target.store.reader().unwrap().view().mirror_month(target.row().id, "2026-03").unwrap();
    assert!(month.is_empty(), "refused securities are not charged: {month:?}");
}

#[test]
fn the_quota_and_the_rate_of_the_account_are_never_exceeded() {
    let names = ["700.HK", "5.HK", "9.HK"];
    let (source, target) = (source_of(&names), Target::new(&[], "2018-01-01"));
    source.borrow_mut().quota = 2;
    serve(&target, &source, |client| {
        for text in names {
            assert!(client.asks(&latest(text, Period::DAY, 10), NOW), "{text}");
        }
        assert!(client.answer(&latest("9.HK", Period::DAY, 10), NOW).is_empty());
        // More requests than a window permits.
        for day in (1..=28).rev() {
            for (text, year) in [("700.HK", 2020), ("5.HK", 2021), ("700.HK", 2022)] {
                let at = date(&format!("{year}-{:02}-{day:02}", 1 + day % 12));
                client.asks(&query(text, Period::DAY, Anchor::Day(at), 1), NOW);
            }
        }
    });
    let source = source.borrow();
    assert_eq!(source.over_limit, 0);
    assert!(source.history.len() > 55 && source.most_in_window() <= 55, "{}", source.history.len());
    assert!(source.most_in_second() <= 8);
}

#[test]
fn a_dead_source_is_left_alone_for_a_while() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    source.borrow_mut().unreachable = 1;
    let notes = serve(&target, &source, |client| {
        let query = latest("700.HK", Period::DAY, 10);
        assert!(client.asks(&query, NOW));
        assert!(client.answer(&query, NOW).is_empty());
        assert!(!client.asks(&query, NOW), "it is off");
        assert!(client.asks(&query, NOW + 2));
        assert_eq!(client.answer(&query, NOW).len(), 10);
    });
    assert!(notes[0].contains("the source cannot be used"), "{notes:?}");
}

#[test]
fn read_through_is_off_while_a_run_has_the_lock() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let lock = target.store.mirror_lock(&target.row(), store::MirrorTask::Read).unwrap();
    let notes = serve(&target, &source, |client| {
        let query = latest("700.HK", Period::DAY, 10);
        assert!(client.asks(&query, NOW) && !client.asks(&query, NOW + 1));
        drop(lock);
        assert!(client.asks(&query, NOW + 11));
        assert_eq!(client.answer(&query, NOW).len(), 10);
    });
    assert!(notes[0].starts_with("read-through is off while a run is in progress: "), "{notes:?}");
    assert_eq!(source.borrow().connections, 1);
}

#[test]
fn a_slow_response_is_stored_in_the_background() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    serve(&target, &source, |client| {
        let query = latest("700.HK", Period::MINUTE, 1_000);
        // The first request does not wait. The second one waits for the same fetch, unless it has
        // ended already.
        client.asks_for(&query, NOW, Duration::ZERO);
        client.asks(&query, NOW);
        assert_eq!(client.answer(&query, NOW).len(), 1_000);
    });
    assert!(source.borrow().history.len() <= 2);
}

#[test]
fn an_interrupted_series_is_completed_by_the_next_request() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let hours = latest("700.HK", "60m".parse().unwrap(), 40);
    let minutes = of_source(&source, "700.HK", false, "2026-03-09");
    // Profile, static data, first page, second page.
    source.borrow_mut().faults.insert(4, Fault::Cut);
    serve(&target, &source, |client| {
        assert!(client.asks(&hours, NOW));
        assert!(client.asks(&hours, NOW + 2));
        assert!(!client.asks(&hours, NOW + 2));
    });
    let stored = target.stored("700.HK", Grain::Minute);
    assert_eq!(stored, minutes[minutes.len() - stored.len()..]);
    assert!(stored.len() > 2_000, "{}", stored.len());
}

#[test]
fn the_current_day_is_requested_at_most_once_a_minute() {
    // 11:00:30 in Hong Kong.
    let during = hk().zone().instant(date("2026-03-18"), 11 * 3_600 + 30).0;
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    source.borrow().time.0.set(during * 1_000);
    let minutes = latest("700.HK", Period::MINUTE, 5);
    serve(&target, &source, |client| {
        assert!(client.asks(&minutes, during));
        let answer = client.answer(&minutes, during);
        assert_eq!(answer.last().unwrap().time.0, during - 30, "the current minute");
        assert!(!client.asks(&minutes, during + 59));
        assert!(client.asks(&minutes, during + 61));
    });
    // After the close, also after a restart, the incomplete day is requested completely.
    source.borrow().time.0.set(NOW * 1_000);
    serve(&target, &source, |client| {
        assert!(client.asks(&minutes, NOW));
        assert!(!client.asks(&minutes, NOW));
    });
    let expected = of_source(&source, "700.HK", false, "2026-03-18");
    assert_eq!(tail(&target.stored("700.HK", Grain::Minute), expected.len()), expected);
}

#[test]
fn adjusted_candles_are_answered_with_derived_actions() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let ex_date = hk().zone().midnight(date("2026-02-02"));
    for row in source.borrow_mut().adjusted.get_mut(&symbol("700.HK")).unwrap() {
        if row.time < ex_date {
            for price in [&mut row.open, &mut row.high, &mut row.low, &mut row.close] {
                *price = Price(price.0 / 2);
            }
        }
    }
    let adjusted = source.borrow().adjusted[&symbol("700.HK")].clone();
    serve(&target, &source, |client| {
        let query = Query { adjust: Adjust::Forward, ..latest("700.HK", Period::DAY, 100) };
        assert!(client.asks(&query, NOW));
        let closes = |rows: &[Candle]| rows.iter().map(|row| row.close).collect::<Vec<_>>();
        assert_eq!(closes(&client.answer(&query, NOW)), closes(&tail(&adjusted, 100)));
        assert!(!client.asks(&query, NOW));
    });
    assert_eq!(source.borrow().history.len(), 2);
}

#[test]
fn a_new_corporate_action_changes_all_adjusted_candles() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let name = symbol("700.HK");
    let query = Query { adjust: Adjust::Forward, ..latest("700.HK", Period::DAY, 50) };
    // The days through 2026-03-17.
    let yesterday = NOW - 86_400;
    source.borrow().time.0.set(yesterday * 1_000);
    let last = source.borrow_mut().adjusted.get_mut(&name).unwrap().pop().unwrap();
    serve(&target, &source, |client| {
        assert!(client.asks(&query, yesterday));
        assert_eq!(client.answer(&query, yesterday).len(), 50);
    });
    source.borrow().time.0.set(NOW * 1_000);
    for row in source.borrow_mut().adjusted.get_mut(&name).unwrap() {
        for price in [&mut row.open, &mut row.high, &mut row.low, &mut row.close] {
            *price = Price(price.0 / 2);
        }
    }
    source.borrow_mut().adjusted.get_mut(&name).unwrap().push(last);
    let adjusted = source.borrow().adjusted[&name].clone();
    serve(&target, &source, |client| {
        assert!(client.asks(&query, NOW));
        let closes = |rows: &[Candle]| rows.iter().map(|row| row.close).collect::<Vec<_>>();
        assert_eq!(closes(&client.answer(&query, NOW)), closes(&tail(&adjusted, 50)));
        assert!(!client.asks(&query, NOW));
    });
    // Days and adjusted days, the new day of each, and all adjusted days again.
    assert_eq!(source.borrow().history.len(), 5);
}

#[test]
fn a_run_does_not_repeat_what_was_read_through() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-03-02"));
    serve(&target, &source, |client| {
        assert!(client.asks(&latest("700.HK", Period::DAY, 100), NOW));
    });
    let pages = source.borrow().history.len();
    let report = target.done(&source);
    assert_eq!((report.complete, report.counts.replaced), (1, 0));
    // Adjusted days and minutes.
    let expected = of_source(&source, "700.HK", false, "2026-03-02");
    assert_eq!(target.stored("700.HK", Grain::Minute), expected);
    assert!(source.borrow().history.len() > pages);
    assert_eq!(report.counts.unchanged, 0, "no day was requested again");
}

#[test]
fn static_data_is_requested_without_candles() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let symbols = [symbol("700.HK"), symbol("9999.HK")];
    serve(&target, &source, |client| {
        assert!(client.wants(Wants::Statics(&symbols), NOW, WAIT));
        assert!(!client.wants(Wants::Statics(&symbols), NOW + 1, WAIT));
        let mut reader = client.store.reader().unwrap();
        let name = reader.view().security(&symbols[0]).unwrap().unwrap().name_en;
        assert_eq!(name.as_deref(), Some("700.HK Ltd"));
        assert!(client.wants(Wants::Statics(&symbols), NOW + 610, WAIT), "one is still unknown");
    });
    assert!(source.borrow().history.is_empty());
}

#[test]
fn only_the_markets_and_periods_of_the_settings_are_requested() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&[], "2018-01-01"));
    let scope = Scope { markets: vec![Market::Hk], periods: vec![Period::DAY] };
    serve_scope(&target, &source, scope, |client| {
        assert!(!client.asks(&latest("AAPL.US", Period::DAY, 10), NOW));
        assert!(!client.asks(&latest("700.HK", Period::MINUTE, 10), NOW));
        assert!(!client.wants(Wants::Statics(&[symbol("AAPL.US")]), NOW, WAIT));
        assert!(client.asks(&latest("700.HK", "week".parse().unwrap(), 10), NOW));
    });
    assert_eq!(source.borrow().history.len(), 1);
}
