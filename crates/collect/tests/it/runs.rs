//! Complete runs of a mirror.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicBool;

use collect::{CollectError, ListOptions, Login, Progress, RunOptions, RunReport, Runner, Settings, Watch};
use history::mirror::MirrorStore;
use market::Grain;
use market::{Candle, Candles, Date, Market, Session, Symbol, Timestamp, Venues};
use mirror::recheck::Recheck;
use store::{Access, Lane, MirrorRow, Series, Store};

use crate::fake::{Connector, Fault, Shared, Source, candle, hk};

/// 2026-03-18 17:00 in Hong Kong.
pub(crate) const NOW: i64 = 1_773_824_400;

pub(crate) struct Silent;

impl Watch for Silent {
    fn progress(&self, _: &Progress) {}
    fn note(&self, _: &str) {}
}

pub(crate) struct Target {
    _dir: tempfile::TempDir,
    pub(crate) store: Store,
    venues: Venues,
}

pub(crate) fn symbol(text: &str) -> Symbol {
    text.parse().unwrap()
}

pub(crate) fn date(text: &str) -> Date {
    text.parse().unwrap()
}

impl Target {
    pub(crate) fn new(symbols: &[&str], from: &str) -> Target {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::Write { now: Timestamp(NOW) }).unwrap();
        let venues = Venues::built_in().unwrap();
        let settings = Settings {
            http_url: "http://127.0.0.1".to_owned(),
            quote_url: None,
            login: Login::AppKey("key".to_owned()),
            terms_accepted_at: Some(NOW),
            list: ListOptions { from: Some(from.to_owned()), ..ListOptions::default() },
        };
        let text = serde_json::to_string(&settings).unwrap();
        let symbols: Vec<Symbol> = symbols.iter().map(|text| symbol(text)).collect();
        let mut data = MirrorStore::open(&store, &venues).unwrap();
        data.write(|batch| {
            let id = batch.add_mirror("live", &text, b"", Timestamp(NOW))?.unwrap();
            batch.add_mirror_securities(id, &symbols)
        })
        .unwrap();
        Target { _dir: dir, store, venues }
    }

    pub(crate) fn row(&self) -> MirrorRow {
        self.store.reader().unwrap().view().mirror("live").unwrap().unwrap()
    }

    pub(crate) fn run(&self, source: &Shared, options: &RunOptions) -> Result<RunReport, CollectError> {
        let time = source.borrow().time.clone();
        let mut connector = Connector(source.clone());
        Runner {
            store: &self.store,
            venues: &self.venues,
            connect: &mut connector,
            time: &time,
            watch: &Silent,
            stop: &AtomicBool::new(false),
        }
        .run(&self.row(), options)
    }

    pub(crate) fn done(&self, source: &Shared) -> RunReport {
        self.run(source, &RunOptions::default()).unwrap()
    }

    /// Returns the stored candles of a series.
    pub(crate) fn stored(&self, text: &str, grain: Grain) -> Vec<Candle> {
        let mut reader = self.store.reader().unwrap();
        let snapshot = reader.snapshot().unwrap();
        let series = Series { symbol: symbol(text), grain, lane: Lane::Regular };
        let mut candles = Candles::default();
        let mut bytes = Vec::new();
        for entry in snapshot.blocks(&series, None, None).unwrap() {
            snapshot.block(&entry, &mut bytes).unwrap();
            block::Block::parse(&bytes).unwrap().read_all(&mut candles).unwrap();
        }
        candles.iter().collect()
    }
}

pub(crate) fn source_of(symbols: &[&str]) -> Shared {
    let source = Source::new(NOW * 1_000);
    for text in symbols {
        source.borrow_mut().add(&symbol(text), date("2018-01-02"), date("2026-03-18"), date("2026-03-09"));
    }
    source
}

/// Returns the source's daily or one-minute candles of a symbol, starting at `from`.
pub(crate) fn of_source(source: &Shared, text: &str, is_day: bool, from: &str) -> Vec<Candle> {
    let source = source.borrow();
    let from = hk().zone().midnight(date(from));
    source.series[&(symbol(text), is_day)].iter().filter(|row| row.time >= from).copied().collect()
}

#[test]
fn a_run_stores_all_candles_of_the_source() {
    let (source, target) = (source_of(&["700.HK", "5.HK"]), Target::new(&["700.HK", "5.HK"], "2018-01-01"));
    let report = target.done(&source);
    assert_eq!((report.complete, report.refused.len(), report.waiting.len()), (2, 0, 0));
    for text in ["700.HK", "5.HK"] {
        assert_eq!(target.stored(text, Grain::Day), of_source(&source, text, true, "2018-01-01"));
        assert_eq!(target.stored(text, Grain::Minute), of_source(&source, text, false, "2018-01-01"));
    }
    let mut reader = target.store.reader().unwrap();
    let security = reader.view().security(&symbol("700.HK")).unwrap().unwrap();
    assert_eq!(security.name_en.as_deref(), Some("700.HK Ltd"));
    let reports = reader.view().mirror_reports(target.row().id, 10).unwrap();
    let texts: Vec<&str> = reports.iter().map(|report| report.content.as_str()).collect();
    assert_eq!(texts, ["HK 2026-03-17: closed at the source, a full day in our calendar"]);

    // A second run requests no history.
    let before = source.borrow().history.len();
    assert_eq!(target.done(&source).counts, history::mirror::MirrorCounts::default());
    assert_eq!(source.borrow().history.len(), before);
}

#[test]
fn runs_with_kills_and_lost_connections_store_the_same_candles() {
    let symbols = ["700.HK", "5.HK", "388.HK"];
    let expected = Target::new(&symbols, "2018-01-01");
    expected.done(&source_of(&symbols));
    let mut random = 7_u64;
    for round in 0..6 {
        let (source, target) = (source_of(&symbols), Target::new(&symbols, "2018-01-01"));
        for _ in 0..6 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (at, kind) = ((random >> 33) % 45 + 1, (random >> 20) % 4);
            let fault = match kind {
                0 => Fault::Cut,
                1 => Fault::Kill,
                2 => Fault::Code(301_602),
                _ => Fault::Code(301_606),
            };
            source.borrow_mut().faults.insert(at, fault);
        }
        let mut runs = 0;
        while std::panic::catch_unwind(AssertUnwindSafe(|| target.done(&source))).is_err() {
            runs += 1;
            assert!(runs < 20, "round {round}");
        }
        for text in symbols {
            for grain in [Grain::Day, Grain::Minute, Grain::Minute15, Grain::Minute60] {
                let (ours, theirs) = (target.stored(text, grain), expected.stored(text, grain));
                assert_eq!(ours, theirs, "round {round} {text} {grain:?}");
            }
            let days = |target: &Target| {
                let mut data = MirrorStore::open(&target.store, &target.venues).unwrap();
                data.received_days(target.row().id, &symbol(text)).unwrap()
            };
            assert_eq!(days(&target), days(&expected), "round {round} {text}");
        }
        let source = source.borrow();
        assert!(source.most_in_window() <= 55, "round {round}: {}", source.most_in_window());
        assert!(source.most_in_second() <= 8, "round {round}: {}", source.most_in_second());
        assert_eq!(source.month.values().map(std::collections::BTreeSet::len).max(), Some(3));
    }
}

#[test]
fn a_run_never_exceeds_the_rate_limit_of_the_source() {
    let symbols: Vec<String> = (1..=12).map(|number| format!("{number}.HK")).collect();
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let (source, target) = (source_of(&symbols), Target::new(&symbols, "2018-01-01"));
    source.borrow_mut().latency_ms = 1;
    target.done(&source);
    let source = source.borrow();
    assert!(source.history.len() > 110, "{}", source.history.len());
    assert!((50..=55).contains(&source.most_in_window()), "{}", source.most_in_window());
}

#[test]
fn securities_beyond_the_quota_wait_for_the_next_month() {
    let symbols = ["1.HK", "2.HK", "3.HK", "4.HK"];
    let (source, target) = (source_of(&symbols), Target::new(&symbols, "2026-01-02"));
    source.borrow_mut().quota = 2;
    let report = target.done(&source);
    assert_eq!(report.complete, 2);
    assert_eq!(report.waiting, [symbol("3.HK"), symbol("4.HK")]);
    // 2026-04-01 in Hong Kong.
    assert_eq!(report.waits_until, Some(Timestamp(1_774_972_800)));
    assert_eq!(source.borrow().history.iter().len() as u64, report.pages, "nothing was refused");

    source.borrow().time.0.set(1_774_972_800_000);
    let report = target.done(&source);
    // Securities without any candles take precedence over new days of the first two.
    assert_eq!((report.waiting, report.complete), (vec![symbol("1.HK"), symbol("2.HK")], 2));
    assert_eq!(target.stored("4.HK", Grain::Day), of_source(&source, "4.HK", true, "2026-01-02"));
    assert!(source.borrow().month.values().all(|requested| requested.len() <= 2));
}

#[test]
fn a_quota_used_by_another_program_stops_only_new_securities() {
    let symbols = ["1.HK", "2.HK", "3.HK"];
    let (source, target) = (source_of(&symbols), Target::new(&symbols, "2026-01-02"));
    source
        .borrow_mut()
        .month
        .entry("2026-03".to_owned())
        .or_default()
        .extend((1_000..1_099).map(|number| symbol(&format!("{number}.HK"))));
    let report = target.done(&source);
    assert_eq!((report.complete, report.waiting.len()), (1, 2));
    // The next run does not request the refused securities again.
    let before = source.borrow().history.len();
    assert_eq!(target.done(&source).waiting.len(), 2);
    assert_eq!(source.borrow().history.len(), before);
}

#[test]
fn a_run_continues_after_a_refused_security() {
    let symbols = ["1.HK", "2.HK", "3.HK", "4.HK"];
    let (source, target) = (source_of(&symbols), Target::new(&symbols, "2026-01-02"));
    for (text, code) in [("1.HK", 301_600), ("2.HK", 301_603), ("3.HK", 301_604)] {
        source.borrow_mut().refused.insert(symbol(text), code);
    }
    let report = target.done(&source);
    let refused: Vec<&str> = report.refused.iter().map(|(symbol, _)| symbol.as_str()).collect();
    assert_eq!((refused, report.complete), (vec!["1.HK", "2.HK", "3.HK"], 1));
    // A refused request is not charged.
    let mut reader = target.store.reader().unwrap();
    assert_eq!(reader.view().mirror_month(target.row().id, "2026-03").unwrap(), [symbol("4.HK")]);
    // Refused securities are requested again only on the next day.
    let before = source.borrow().history.len();
    assert_eq!(target.done(&source).refused.len(), 3);
    assert_eq!(source.borrow().history.len(), before);
    source.borrow_mut().refused.clear();
    source.borrow().time.0.set((NOW + 90_000) * 1_000);
    assert_eq!(target.done(&source).refused.len(), 0);
    assert_eq!(target.stored("1.HK", Grain::Day), of_source(&source, "1.HK", true, "2026-01-02"));
}

#[test]
fn a_source_that_excludes_the_anchor_is_read_without_gaps() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2018-01-01"));
    source.borrow_mut().excludes_anchor = true;
    target.done(&source);
    assert_eq!(target.stored("700.HK", Grain::Day), of_source(&source, "700.HK", true, "2018-01-01"));
    assert_eq!(target.stored("700.HK", Grain::Minute), of_source(&source, "700.HK", false, "2018-01-01"));
}

#[test]
fn history_that_is_revised_during_a_run_is_read_again() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2018-01-01"));
    let double = |series: &mut std::collections::BTreeMap<(Symbol, bool), Vec<Candle>>| {
        for row in series.get_mut(&(symbol("700.HK"), true)).unwrap() {
            row.volume *= 2;
        }
    };
    // Between two pages of the days.
    let statics_and_calendar = 14;
    source.borrow_mut().changes.push((statics_and_calendar + 3, Box::new(double)));
    target.done(&source);
    let stored = target.stored("700.HK", Grain::Day);
    assert_eq!(stored, of_source(&source, "700.HK", true, "2018-01-01"));
    assert!(stored.iter().all(|row| row.volume == 2_000));
}

#[test]
fn candles_off_the_grid_are_quarantined() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-01-02"));
    {
        let mut source = source.borrow_mut();
        let minutes = source.series.get_mut(&(symbol("700.HK"), false)).unwrap();
        let last = *minutes.last().unwrap();
        let lunch = hk().zone().instant(date("2026-03-18"), 12 * 3_600 + 30 * 60);
        minutes.push(candle(lunch, 100_000_000));
        minutes.push(Candle { time: Timestamp(last.time.0 - 30), ..last });
        minutes.sort_by_key(|row| row.time);
    }
    let report = target.done(&source);
    assert_eq!(report.counts.quarantined, 2);
    let stored = target.stored("700.HK", Grain::Minute);
    assert!(stored.iter().all(|row| hk().slot(row.time).is_some() && row.session == Session::Intraday));
    assert_eq!(stored.len(), of_source(&source, "700.HK", false, "2026-01-02").len() - 2);
}

#[test]
fn later_runs_collect_new_days_and_corrections() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-01-02"));
    // After the close on Friday, the 13th.
    source.borrow().time.0.set((NOW - 5 * 86_400) * 1_000);
    target.done(&source);
    assert_eq!(
        target.stored("700.HK", Grain::Day).last().unwrap().time,
        hk().zone().midnight(date("2026-03-13"))
    );
    source.borrow().time.0.set(NOW * 1_000);
    target.done(&source);
    assert_eq!(target.stored("700.HK", Grain::Day), of_source(&source, "700.HK", true, "2026-01-02"));
    assert_eq!(target.stored("700.HK", Grain::Minute), of_source(&source, "700.HK", false, "2026-01-02"));

    for is_day in [true, false] {
        let mut source = source.borrow_mut();
        source.series.get_mut(&(symbol("700.HK"), is_day)).unwrap().last_mut().unwrap().volume = 9;
    }
    let again = RunOptions { recheck: Some(Recheck::Again), ..RunOptions::default() };
    let report = target.run(&source, &again).unwrap();
    assert_eq!(report.counts.replaced, 2);
    assert_eq!(target.stored("700.HK", Grain::Day), of_source(&source, "700.HK", true, "2026-01-02"));
}

#[test]
fn a_run_fails_if_the_source_refuses_the_credentials() {
    struct Refusing;
    impl collect::Connect for Refusing {
        fn connect(&mut self, _: i64) -> Result<Box<dyn collect::Link>, source::SourceError> {
            Err(source::SourceError::Credentials { code: 401_004, message: "invalid token".to_owned() })
        }
    }
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-01-02"));
    let time = source.borrow().time.clone();
    let error = Runner {
        store: &target.store,
        venues: &target.venues,
        connect: &mut Refusing,
        time: &time,
        watch: &Silent,
        stop: &AtomicBool::new(false),
    }
    .run(&target.row(), &RunOptions::default())
    .unwrap_err();
    assert!(error.to_string().contains("invalid token"), "{error}");
    let state = collect::State::parse(&target.row().state);
    assert_eq!(state.outcome, Some(error.to_string()));
    assert_eq!(Market::Hk.as_str(), "HK");
}
