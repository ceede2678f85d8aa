//! Tests of ingest: which rows are accepted, when they become final, and recovery after a crash.

use history::ingest::{
    CandleInput, Counts, Effect, GRACE_S, Head, IngestError, Intake, Merger, Outcome, Parsed, Receipt,
    RefusedRow, TradeInput,
};
use history::{Adjust, AsOf, History, Query, Select, Sessions};
use market::{
    Candle, Candles, Floors, Grain, Price, Session, Symbol, Timestamp, Trade, TradeDirection, TradeType,
    Turnover, Venues,
};
use proptest::prelude::*;
use store::{Access, Lane, QuarantineOf, Series, Store};

/// 2026-07-15 09:32 in New York.
const M: i64 = 1_784_122_320;
const APPLE: &str = "AAPL.US";

struct Live {
    dir: tempfile::TempDir,
    store: Store,
    intake: Intake,
    merger: Merger,
}

fn live() -> Live {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Access::Write { now: Timestamp(M) }).unwrap();
    let (intake, merger) = Intake::open(&store, &Venues::built_in().unwrap(), GRACE_S).unwrap();
    Live { dir, store, intake, merger }
}

fn input(symbol: &str, time: i64, prices: [&str; 4], volume: i64, turnover: &str) -> CandleInput {
    let [open, high, low, close] = prices.map(|text| Price::parse(text).unwrap());
    let (time, turnover) = (Timestamp(time), Turnover::parse(turnover).unwrap());
    let candle = Candle { time, open, high, low, close, volume, turnover, session: Session::Intraday };
    CandleInput { symbol: symbol.parse().unwrap(), grain: Grain::Minute, candle, is_final: None }
}

fn head(source: &'static str, seq: Option<i64>) -> Head<'static> {
    Head { source, seq, gap: false, build: false }
}

fn trade(symbol: &str, time: i64, price: &str, volume: i64, id: &str) -> Parsed<TradeInput> {
    let (time, price) = (Timestamp(time), Price::parse(price).unwrap());
    let trade = Trade { time, price, volume, direction: TradeDirection::Up, kind: TradeType::BLANK };
    let id = Some(id.to_owned()).filter(|id| !id.is_empty());
    Ok(TradeInput { symbol: symbol.parse().unwrap(), trade, id })
}

impl Live {
    fn send(&mut self, head: &Head<'_>, rows: Vec<CandleInput>, now: i64) -> Result<Outcome, IngestError> {
        let rows = rows.into_iter().map(Ok).collect();
        self.intake.candles(head, rows, now * 1_000_000, &|receipt| format!("answer {}", receipt.revision))
    }

    /// Sends rows without a number, merges them, and returns the receipt.
    fn add(&mut self, rows: Vec<CandleInput>, now: i64) -> Receipt {
        let Ok(Outcome::Committed(receipt)) = self.send(&head("feed", None), rows, now) else {
            panic!("not committed")
        };
        self.merger.merge(Timestamp(now)).unwrap();
        receipt
    }

    /// Opens the store again, as after a crash.
    fn reopened(self) -> Live {
        let Live { dir, store, intake, merger } = self;
        drop((store, intake, merger));
        let store = Store::open(dir.path(), Access::Write { now: Timestamp(M) }).unwrap();
        let (intake, merger) = Intake::open(&store, &Venues::built_in().unwrap(), GRACE_S).unwrap();
        Live { dir, store, intake, merger }
    }

    fn minutes(&self, symbol: &str) -> Candles {
        let mut reader = self.store.reader().unwrap();
        let range = Timestamp(0)..Timestamp(i64::MAX);
        let history = History::new(Venues::built_in().unwrap());
        history.minutes(reader.view(), &symbol.parse().unwrap(), range).unwrap()
    }

    /// Returns the stamps of minutes that are not final.
    fn partial(&self, symbol: &str) -> Vec<i64> {
        let mut reader = self.store.reader().unwrap();
        let partial = reader.view().partial_minutes(&symbol.parse().unwrap()).unwrap();
        partial.iter().map(|minute| minute.at.0).collect()
    }
}

fn flat(time: i64, price: &str, volume: i64) -> CandleInput {
    input(APPLE, time, [price; 4], volume, "0")
}

fn counts(accepted: u64, unchanged: u64, replaced: u64, refused: u64) -> Counts {
    Counts { accepted, unchanged, replaced, refused }
}

#[test]
fn a_partial_minute_is_visible_and_replaced_by_the_next_one() {
    let mut live = live();
    let receipt = live.add(vec![flat(M, "190.3", 500)], M + 5);
    assert_eq!(receipt.counts, counts(1, 0, 0, 0));
    let next = input(APPLE, M, ["190.3", "190.6", "190.3", "190.5"], 1_200, "228500");
    assert_eq!(live.add(vec![next.clone()], M + 20).counts, counts(1, 0, 0, 0));
    let minutes = live.minutes(APPLE);
    assert_eq!(minutes.iter().collect::<Vec<_>>(), [next.candle]);
    assert_eq!(live.partial(APPLE), [M]);
}

#[test]
fn a_repeated_batch_is_recognized_and_a_repeated_row_is_unchanged() {
    let mut live = live();
    let rows = || vec![flat(M, "190.3", 500)];
    let Ok(Outcome::Committed(first)) = live.send(&head("alpaca-1", Some(4711)), rows(), M + 5) else {
        panic!("not committed")
    };
    let again = live.send(&head("alpaca-1", Some(4711)), rows(), M + 6).unwrap();
    assert_eq!(again, Outcome::Repeated(Some(format!("answer {}", first.revision))));
    let Ok(Outcome::Committed(next)) = live.send(&head("alpaca-1", Some(4712)), rows(), M + 6) else {
        panic!("not committed")
    };
    assert_eq!(next.counts, counts(0, 1, 0, 0));
    // Other sources have separate numbers, and a source may begin with any number.
    assert!(matches!(live.send(&head("other", Some(9)), rows(), M + 6), Ok(Outcome::Committed(_))));
    // The response to an old number is no longer stored.
    let old = live.send(&head("alpaca-1", Some(1)), rows(), M + 6).unwrap();
    assert_eq!(old, Outcome::Repeated(None));
}

#[test]
fn a_missing_batch_is_refused_unless_a_gap_is_announced() {
    let mut live = live();
    live.send(&head("feed", Some(4711)), Vec::new(), M).unwrap();
    let refused = live.send(&head("feed", Some(4713)), Vec::new(), M).unwrap_err();
    assert_eq!(refused.to_string(), "expected seq 4712");
    let gap = Head { gap: true, ..head("feed", Some(4713)) };
    assert!(matches!(live.send(&gap, Vec::new(), M), Ok(Outcome::Committed(_))));
    live.send(&head("feed", Some(4714)), Vec::new(), M).unwrap();
}

#[test]
fn a_later_minute_makes_the_earlier_ones_final() {
    let mut live = live();
    live.add(vec![flat(M, "190.3", 500)], M + 5);
    live.add(vec![flat(M + 60, "190.4", 1)], M + 61);
    assert_eq!(live.partial(APPLE), [M + 60]);
    // A row for a final minute is a correction, and the ledger has the previous candle.
    let receipt = live.add(vec![flat(M, "190.2", 500)], M + 62);
    assert_eq!(receipt.counts, counts(0, 0, 1, 0));
    assert_eq!(live.partial(APPLE), [M + 60]);
    let mut reader = live.store.reader().unwrap();
    let imports = reader.view().imports().unwrap();
    assert_eq!(imports.iter().map(|import| import.file.as_str()).collect::<Vec<_>>(), ["ingest:feed"]);
    assert_eq!((imports[0].added, imports[0].replaced), (2, 1));
    let changes = reader.view().import_changes(imports[0].id).unwrap();
    assert_eq!(changes.iter().map(|change| change.first.0).collect::<Vec<_>>(), [M]);
}

#[test]
fn a_minute_is_final_some_seconds_after_its_end() {
    let mut live = live();
    live.add(vec![flat(M, "190.3", 500)], M + 5);
    let merged = live.merger.merge(Timestamp(M + 64)).unwrap();
    assert_eq!((merged.has_changed, merged.next_final), (false, Some(Timestamp(M + 65))));
    assert_eq!(live.partial(APPLE), [M]);
    assert!(live.merger.merge(Timestamp(M + 65)).unwrap().has_changed);
    assert_eq!(live.partial(APPLE), [0; 0]);
    assert_eq!(live.add(vec![flat(M, "190.2", 500)], M + 66).counts, counts(0, 0, 1, 0));
}

#[test]
fn a_row_is_final_if_marked_or_after_the_end_of_its_minute() {
    let mut live = live();
    let final_row = CandleInput { is_final: Some(true), ..flat(M, "190.3", 500) };
    live.add(vec![final_row], M + 5);
    assert_eq!(live.partial(APPLE), [0; 0]);
    live.add(vec![flat(M + 60, "190.3", 500)], M + 120);
    assert_eq!(live.partial(APPLE), [0; 0]);
    let partial = CandleInput { is_final: Some(false), ..flat(M + 120, "190.3", 500) };
    live.add(vec![partial.clone()], M + 181);
    assert_eq!(live.partial(APPLE), [M + 120]);
    // The same candle, now complete.
    let receipt = live.add(vec![CandleInput { is_final: Some(true), ..partial }], M + 182);
    assert_eq!((receipt.counts, live.partial(APPLE)), (counts(1, 0, 0, 0), vec![]));
}

#[test]
fn a_late_minute_is_final_and_stored_at_its_position() {
    let mut live = live();
    live.add(vec![flat(M + 600, "190.3", 5)], M + 601);
    live.add(vec![CandleInput { is_final: Some(false), ..flat(M, "190.1", 7) }], M + 602);
    assert_eq!(live.minutes(APPLE).time, [M, M + 600]);
    assert_eq!(live.partial(APPLE), [M + 600]);
}

#[test]
fn refused_rows_are_quarantined_and_do_not_affect_valid_rows() {
    let mut live = live();
    let unreadable = RefusedRow {
        row: 0,
        symbol: Some("??".to_owned()),
        text: "{}".to_owned(),
        reason: "not a symbol".to_owned(),
    };
    let rows = vec![
        Ok(input(APPLE, M, ["190.3", "190.3", "190.4", "190.3"], 1, "0")),
        Err(unreadable),
        Ok(flat(M + 1, "190.3", 1)),
        Ok(input("700.HK", M, ["300"; 4], 1, "0")),
        Ok(flat(M, "190.3", -1)),
        Ok(flat(M, "190.3", 1)),
    ];
    let outcome = live.intake.candles(&head("feed", None), rows, (M + 5) * 1_000_000, &|_| String::new());
    let Ok(Outcome::Committed(receipt)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receipt.counts, counts(1, 0, 0, 5));
    let reasons: Vec<(usize, &str)> =
        receipt.refused.iter().map(|(row, reason)| (*row, reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (0, "low above open"),
            (1, "not a symbol"),
            (2, "not the start of a minute"),
            (3, "no session of the market has this minute"),
            (4, "volume or turnover is negative"),
        ]
    );
    live.merger.merge(Timestamp(M + 5)).unwrap();
    assert_eq!(live.minutes(APPLE).len(), 1);
    let mut reader = live.store.reader().unwrap();
    let quarantine = reader.view().quarantine(QuarantineOf::All, 10).unwrap();
    let lines: Vec<(u64, &str)> =
        quarantine.iter().map(|entry| (entry.row.line, entry.row.reason.as_str())).collect();
    assert_eq!(lines[0], (1, "low above open"));
    assert_eq!((lines.len(), quarantine[0].file.as_str()), (5, "ingest:feed"));
}

#[test]
fn a_committed_batch_survives_a_crash_before_its_merge() {
    let mut live = live();
    live.send(&head("feed", Some(1)), vec![flat(M, "190.3", 500)], M + 5).unwrap();
    let mut live = live.reopened();
    assert!(live.minutes(APPLE).is_empty(), "it is merged by the next merger");
    let again = live.send(&head("feed", Some(1)), vec![flat(M, "190.3", 500)], M + 6).unwrap();
    assert!(matches!(again, Outcome::Repeated(Some(_))));
    // The first batch is not merged yet, but new rows are compared with it.
    let Ok(Outcome::Committed(next)) = live.send(&head("feed", Some(2)), vec![flat(M, "190.3", 500)], M + 6)
    else {
        panic!("not committed")
    };
    assert_eq!(next.counts, counts(0, 1, 0, 0));
    live.merger.merge(Timestamp(M + 6)).unwrap();
    assert_eq!(live.minutes(APPLE).volume, [500]);
}

#[test]
fn push_numbers_increase_after_restarts_and_clock_changes() {
    let mut live = live();
    let mut last = 0;
    for (step, now) in [M + 5, M + 5, M + 4, M + 6].into_iter().enumerate() {
        live.add(vec![flat(M, "190.3", step as i64 + 1)], now);
        live = live.reopened();
        let mut reader = live.store.reader().unwrap();
        let commits = Merger::commits(&mut reader, None, (0, i64::MAX)).unwrap();
        let newest = commits.last().unwrap();
        assert!(newest.push_from > last && newest.push_from >= now * 1_000_000, "{newest:?}");
        last = newest.push_from;
        let effect = if step == 0 { Effect::New } else { Effect::Continued };
        assert_eq!(newest.candles[0].effect, effect);
    }
}

#[test]
fn new_rows_are_compared_with_rows_of_another_process() {
    let mut live = live();
    let (mut other, _) = Intake::open(&live.store, &Venues::built_in().unwrap(), GRACE_S).unwrap();
    live.add(vec![flat(M, "190.3", 500)], M + 5);
    for (volume, expected) in [(500, counts(0, 1, 0, 0)), (600, counts(1, 0, 0, 0))] {
        let rows = vec![Ok(flat(M, "190.3", volume))];
        let outcome = other.candles(&head("b", None), rows, (M + 6) * 1_000_000, &|_| String::new());
        let Ok(Outcome::Committed(receipt)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(receipt.counts, expected);
    }
    // The row of the other process is not merged yet, but new rows are compared with it.
    assert_eq!(live.add(vec![flat(M, "190.3", 600)], M + 7).counts, counts(0, 1, 0, 0));
    assert_eq!(live.minutes(APPLE).volume, [600]);
}

#[test]
fn trades_with_a_known_id_are_unchanged_and_build_candles() {
    let mut live = live();
    let build = Head { build: true, ..head("feed", None) };
    let send = |live: &mut Live, rows: Vec<Parsed<TradeInput>>| {
        let outcome = live.intake.trades(&build, rows, (M + 5) * 1_000_000, &|_| String::new());
        let Ok(Outcome::Committed(receipt)) = outcome else { panic!("{outcome:?}") };
        live.merger.merge(Timestamp(M + 5)).unwrap();
        receipt.counts
    };
    let first =
        send(&mut live, vec![trade(APPLE, M + 1, "190.3", 100, "7"), trade(APPLE, M + 2, "190.5", 50, "")]);
    assert_eq!(first, counts(2, 0, 0, 0));
    let second =
        send(&mut live, vec![trade(APPLE, M + 1, "190.3", 100, "7"), trade(APPLE, M + 2, "190.5", 50, "")]);
    assert_eq!(second, counts(1, 1, 0, 0));
    let minutes = live.minutes(APPLE);
    assert_eq!((minutes.volume.as_slice(), minutes.high[0]), ([200].as_slice(), 190_500_000));
    assert_eq!(live.partial(APPLE), [M]);
    let symbol: Symbol = APPLE.parse().unwrap();
    let mut reader = live.store.reader().unwrap();
    assert_eq!(reader.view().trade_days(&symbol).unwrap()[0].rows, 3);
    // Outside the trading hours of its day.
    let refused = send(&mut live, vec![trade("700.HK", M, "300", 1, "")]);
    assert_eq!(refused, counts(0, 0, 0, 1));
}

#[test]
fn short_blocks_are_joined() {
    let mut live = live();
    let (symbol, venues) = ("700.HK", Venues::built_in().unwrap());
    let venue = venues.of(market::Market::Hk);
    let mut day: market::Date = "2026-03-02".parse().unwrap();
    let mut stamps = Vec::new();
    while stamps.len() < 5_000 {
        stamps.extend(
            venue.day(day).iter().flat_map(|day| day.minutes().map(|(at, _)| at.0).collect::<Vec<_>>()),
        );
        day = day.tomorrow().unwrap();
    }
    for rows in stamps.chunks(100) {
        let rows = rows.iter().map(|at| input(symbol, *at, ["300"; 4], 1, "300"));
        live.add(rows.collect(), M);
    }
    assert_eq!(live.minutes(symbol).time, stamps);
    let mut reader = live.store.reader().unwrap();
    let series = Series { symbol: symbol.parse().unwrap(), grain: Grain::Minute, lane: Lane::Regular };
    let rows: Vec<u32> =
        reader.view().blocks(&series, None, None).unwrap().iter().map(|block| block.rows).collect();
    assert!(rows.len() < 10 && rows[0] == 4_096, "{rows:?}");
}

/// A row of the property test: minute, price, volume, and whether it is final.
type Arrival = (i64, i64, i64, Option<bool>);

fn arrivals() -> impl Strategy<Value = Vec<Vec<Arrival>>> {
    let is_final = prop_oneof![Just(None), Just(Some(true)), Just(Some(false))];
    let row = (0_i64..90, 1_i64..5, 0_i64..3, is_final);
    prop::collection::vec(prop::collection::vec(row, 0..6), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The store has the last row of each minute, regardless of how rows are batched, merged or
    /// interrupted. Repeated batches change nothing.
    #[test]
    fn the_last_row_of_each_minute_is_stored(batches in arrivals(), merges in any::<u16>(), crashes in any::<u16>()) {
        let mut live = live();
        let mut expected = std::collections::BTreeMap::new();
        for (number, batch) in batches.iter().enumerate() {
            let rows = || {
                let rows = batch.iter().map(|(minute, price, volume, is_final)| {
                    let price = format!("{price}");
                    let row = flat(M + minute * 60, &price, *volume);
                    CandleInput { is_final: *is_final, ..row }
                });
                rows.collect::<Vec<_>>()
            };
            let now = M + 60 * number as i64;
            let seq = head("feed", Some(number as i64));
            live.send(&seq, rows(), now).unwrap();
            expected.extend(rows().into_iter().map(|row| (row.candle.time.0, row.candle)));
            if merges & (1 << number) != 0 {
                live.merger.merge(Timestamp(now)).unwrap();
            }
            if crashes & (1 << number) != 0 {
                live = live.reopened();
            }
            let again = live.send(&seq, rows(), now).unwrap();
            prop_assert!(matches!(again, Outcome::Repeated(Some(_))));
        }
        let end = M + 60 * batches.len() as i64;
        live.merger.merge(Timestamp(end)).unwrap();
        let stored: Vec<Candle> = live.minutes(APPLE).iter().collect();
        prop_assert_eq!(&stored, &expected.values().copied().collect::<Vec<_>>());
        // Only the newest minute can be partial.
        let partial = live.partial(APPLE);
        prop_assert!(partial.iter().all(|at| expected.keys().last() == Some(at)), "{:?}", partial);
        // Hours include every share, whether their roll-ups are stored or not.
        let query = Query {
            symbol: APPLE.parse().unwrap(),
            period: Grain::Minute60.period(),
            adjust: Adjust::None,
            sessions: Sessions::Intraday,
            floors: Floors::NONE,
            select: Select::Dates { start: None, end: None },
        };
        let history = History::new(Venues::built_in().unwrap());
        let as_of = AsOf::Live(Timestamp(M + 86_400));
        let hours = history.candles(&mut live.store.reader().unwrap(), &query, as_of);
        let found: i64 = hours.map_or(0, |answer| answer.candles.volume.iter().sum());
        prop_assert_eq!(found, expected.values().map(|candle| candle.volume).sum::<i64>());
    }
}

/// Environment variable with the store's directory, for the process that is killed.
const DOOMED_DIR: &str = "HISTORY_TEST_DOOMED_INGEST";

/// Environment variable that is set if that process never merges.
const DOOMED_MERGES_NOTHING: &str = "HISTORY_TEST_DOOMED_MERGES_NOTHING";

/// A process that commits and merges batches is killed at random instants several times, twice
/// between a commit and its merge (example I12 of the specification). Each reported batch is
/// completely in the store, and no push number is reused.
#[test]
fn acknowledged_batches_survive_a_kill() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let Live { dir, store, intake, merger } = live();
    drop((intake, merger));
    let mut last_push = 0;
    for (reports, merges) in [(1, true), (3, true), (2, false), (10, true), (25, false), (40, true)] {
        let applied = store.reader().unwrap().view().ingest_applied().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "ingest::feed_until_killed", "--ignored", "--nocapture"])
            .env(DOOMED_DIR, dir.path())
            .envs((!merges).then_some((DOOMED_MERGES_NOTHING, "1")))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let numbers =
            lines.filter_map(|line| line.unwrap().strip_prefix("acknowledged ")?.parse::<i64>().ok());
        let acknowledged = numbers.take(reports).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        if !merges {
            let left = store.reader().unwrap().view().ingest_applied().unwrap();
            assert_eq!(left, applied, "its batches are only in the log");
        }

        let (mut intake, mut merger) = Intake::open(&store, &Venues::built_in().unwrap(), GRACE_S).unwrap();
        while merger.merge(Timestamp(M)).unwrap().has_more {}
        let (seq, _) = intake.last_answer("doomed").unwrap().unwrap();
        assert!(seq >= acknowledged, "{seq} {acknowledged}");
        let mut reader = store.reader().unwrap();
        let history = History::new(Venues::built_in().unwrap());
        for symbol in ["AAPL.US", "MSFT.US"] {
            let symbol: Symbol = symbol.parse().unwrap();
            let minutes = history.minutes(reader.view(), &symbol, Timestamp(0)..Timestamp(i64::MAX)).unwrap();
            assert_eq!(minutes.volume, (1..=seq).collect::<Vec<_>>(), "{symbol}");
        }
        let commits = Merger::commits(&mut reader, None, (0, i64::MAX)).unwrap();
        let pushes: Vec<i64> = commits.iter().map(|commit| commit.push_from).collect();
        assert!(pushes.is_sorted_by(|a, b| a < b) && pushes.last() > Some(&last_push), "{pushes:?}");
        last_push = *pushes.last().unwrap();
    }
}

#[test]
#[ignore = "not a test: the process that the test above starts and kills"]
fn feed_until_killed() {
    let dir = std::env::var(DOOMED_DIR).unwrap();
    let store = Store::open(std::path::Path::new(&dir), Access::Write { now: Timestamp(M) }).unwrap();
    let (mut intake, mut merger) = Intake::open(&store, &Venues::built_in().unwrap(), GRACE_S).unwrap();
    let first = intake.last_answer("doomed").unwrap().map_or(1, |(seq, _)| seq + 1);
    for seq in first..first + 60 {
        let row = |symbol| Ok(input(symbol, M - 120 + seq * 60, ["190"; 4], seq, "0"));
        let rows = vec![row("AAPL.US"), row("MSFT.US")];
        let number = head("doomed", Some(seq));
        intake.candles(&number, rows, M * 1_000_000, &|_| "{}".to_owned()).unwrap();
        println!("acknowledged {seq}");
        if seq % 3 == 0 && std::env::var_os(DOOMED_MERGES_NOTHING).is_none() {
            merger.merge(Timestamp(M)).unwrap();
        }
    }
}

#[test]
fn rows_of_a_batch_that_panics_are_not_cached() {
    let mut live = live();
    let row = || input(APPLE, M, ["190", "190", "190", "190"], 100, "0");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        live.intake.candles(&head("feed", Some(1)), vec![Ok(row())], M * 1_000_000, &|_| panic!("answer"))
    }));
    panicked.unwrap_err();
    assert_eq!(live.add(vec![row()], M).counts, Counts { accepted: 1, ..Counts::default() });
    assert_eq!(live.minutes(APPLE).len(), 1);
}

#[test]
fn batches_are_removed_ten_minutes_after_their_merge() {
    let mut live = live();
    // Batches are removed after every sixteenth one.
    let sixteen_at = |live: &mut Live, now: i64| {
        for _ in 0..16 {
            live.send(&head("feed", None), Vec::new(), now).unwrap();
        }
        let mut reader = live.store.reader().unwrap();
        reader.view().ingest_batches(0, i64::MAX).unwrap().first().map(|batch| batch.id)
    };
    assert_eq!(sixteen_at(&mut live, M), Some(1));
    live.merger.merge(Timestamp(M + 700)).unwrap();
    assert_eq!(sixteen_at(&mut live, M + 700), Some(1));
    assert_eq!(sixteen_at(&mut live, M + 1_299), Some(1));
    assert_eq!(sixteen_at(&mut live, M + 1_300), Some(17));
}
