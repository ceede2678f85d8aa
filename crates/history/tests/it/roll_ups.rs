//! Ingest stores the roll-ups of the newest hour later. Whichever of them are stored, answers equal
//! the fold of the one-minute candles.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use history::import::{Options, Sizes, plan_undo, undo};
use history::ingest::{CandleInput, GRACE_S, Head, Intake, Outcome};
use history::{Adjust, AsOf, PageCache, Plan, Query, Select, Sessions, lane_of};
use market::{Candle, Floors, Grain, Market, Period, Price, Symbol, Timestamp, Turnover};
use store::{ImportId, Lane, Series};

use crate::common::{Rng, Shop, fold_naively, known_minutes, minutes, symbol, venue, venues};
use crate::page_cache::Plain;

/// The candles that an import replaced, by stamp; `None` for a new one.
type Replaced = Vec<(i64, Option<Candle>)>;

/// A security with the minutes that it should have.
struct Case {
    shop: Shop,
    security: Symbol,
    market: Market,
    expected: BTreeMap<i64, Candle>,
    page_cache: PageCache<Plain>,
    /// The last import, and the candles that it replaced.
    imported: Option<(ImportId, Replaced)>,
}

impl Case {
    fn new(name: &str, market: Market) -> Case {
        let (shop, page_cache) = (Shop::new(), PageCache::new(8 << 20));
        let (security, expected) = (symbol(name), BTreeMap::new());
        Case { shop, security, market, expected, page_cache, imported: None }
    }

    fn ingest(&mut self, intake: &mut Intake, rows: &[Candle], now: i64) {
        let input = |row: &Candle| {
            let (symbol, grain) = (self.security.clone(), Grain::Minute);
            Ok(CandleInput { symbol, grain, candle: *row, is_final: None })
        };
        let head = Head { source: "feed", seq: None, gap: false, build: false };
        let inputs = rows.iter().map(input).collect();
        let outcome = intake.candles(&head, inputs, now * 1_000_000, &|_| String::new()).unwrap();
        let Outcome::Committed(receipt) = outcome else { panic!("not committed") };
        assert_eq!(receipt.refused, []);
        self.expected.extend(rows.iter().map(|row| (row.time.0, *row)));
    }

    fn import(&mut self, rows: &[Candle], sizes: Sizes) {
        let line = |row: &Candle| {
            let price = row.open.0 / 1_000_000;
            format!("{},{},{price},{price},{price},{price},{}\n", self.security, row.time.0, row.volume)
        };
        let lines: String = rows.iter().map(line).collect();
        let file = self.shop.file("minutes.csv", format!("symbol,time,open,high,low,close,volume\n{lines}"));
        let options = Options { replace: true, ..Options::default() };
        let reports = self.shop.import_with(&[file], &options, sizes, &AtomicBool::new(false));
        assert_eq!((reports.len(), reports[0].rows), (1, rows.len() as u64), "{reports:?}");
        let id = self.shop.imports().iter().map(|import| import.id).max().unwrap();
        let put = |row: &Candle| (row.time.0, self.expected.insert(row.time.0, *row));
        self.imported = Some((id, rows.iter().map(put).collect()));
    }

    /// Undoes the last import, unless its candles have changed since.
    fn undo(&mut self) -> bool {
        let Some((id, before)) = self.imported.take() else { return false };
        let planned = plan_undo(self.shop.store.reader().unwrap().view(), id);
        let Ok(planned) = planned else { return false };
        undo(&self.shop.store, venues(), &planned).unwrap();
        for (time, candle) in before {
            match candle {
                Some(candle) => drop(self.expected.insert(time, candle)),
                None => drop(self.expected.remove(&time)),
            }
        }
        true
    }

    /// Asserts that no stored roll-up is wrong and that only the newest ones are missing. Returns
    /// the number of missing ones.
    fn check_stored(&self, context: &str) -> usize {
        let venue = venue(self.market);
        let mut missing = 0;
        for lane in Lane::ALL {
            let series = |grain| Series { symbol: self.security.clone(), grain, lane };
            let stored =
                |grain| -> Vec<Candle> { self.shop.stored(&series(grain).to_string()).iter().collect() };
            let of_lane = self.expected.values().filter(|candle| lane_of(candle.session) == lane).copied();
            let minutes: Vec<Candle> = of_lane.collect();
            assert_eq!(stored(Grain::Minute), minutes, "{lane:?}: {context}");
            for grain in Grain::ROLLED_UP {
                let folded = fold_naively(venue, grain.period(), minutes.iter().copied());
                let found = stored(grain);
                assert_eq!(found[..], folded[..found.len()], "{grain:?} {lane:?}: {context}");
                missing += folded.len() - found.len();
            }
        }
        missing
    }

    fn check_answers(&self, rng: &mut Rng, context: &str) {
        let venue = venue(self.market);
        let all: Vec<Candle> = self.expected.values().copied().collect();
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return };
        let mut reader = self.shop.store.reader().unwrap();
        let version = reader.version().unwrap();
        for _ in 0..6 {
            let period: Period =
                rng.pick(&["5m", "15m", "15m", "30m", "60m", "60m", "120m", "240m"]).parse().unwrap();
            let sessions = *rng.pick(&[Sessions::Intraday, Sessions::Extended, Sessions::All]);
            let span = usize::try_from(last.time.0 - first.time.0).unwrap() + 7_200;
            let as_of = match rng.one_in(2) {
                true => AsOf::Live(Timestamp(last.time.0 + *rng.pick(&[1, 59, 300, 86_400]))),
                false => AsOf::Replay(Timestamp(first.time.0 + rng.below(span) as i64)),
            };
            let visible = match as_of {
                AsOf::Live(_) => all.clone(),
                AsOf::Replay(now) => known_minutes(venue, &all, now),
            };
            let select = Select::Dates { start: None, end: None };
            let (security, floors) = (self.security.clone(), Floors::NONE);
            let query = Query { symbol: security, period, adjust: Adjust::None, sessions, floors, select };
            let lanes = sessions.lanes(period, self.market);
            let visible = visible.into_iter().filter(|candle| lanes.contains(&lane_of(candle.session)));
            let expected = fold_naively(venue, period, visible);
            let plan = Plan::of(&query, venue, as_of);
            let found: Vec<Candle> = match self.shop.history.answer(&mut reader, &query, &plan, as_of) {
                Ok(answer) => answer.candles.iter().collect(),
                Err(_) => Vec::new(),
            };
            let context = format!("{period} {sessions:?} {as_of:?} {plan}: {context}");
            assert_eq!(found, expected, "{context}");
            for page in [
                self.page_cache.slices_in_memory(version, &plan, as_of).unwrap(),
                self.page_cache.slices(&mut reader, &self.shop.history, &plan, as_of).unwrap(),
                self.page_cache.slices_in_memory(version, &plan, as_of).unwrap(),
            ] {
                assert!(page.is_none_or(|page| page.pieces.concat() == expected), "page cache: {context}");
            }
        }
    }
}

#[test]
fn answers_equal_the_fold_of_minutes_whichever_roll_ups_are_stored() {
    let (mut missing_seen, mut none_missing_seen, mut undone) = (0, 0, 0);
    for seed in 0..6u64 {
        let mut rng = Rng(seed);
        let (name, market) = *rng.pick(&[("5.HK", Market::Hk), ("A.US", Market::Us), ("A.US", Market::Us)]);
        let mut case = Case::new(name, market);
        // A half day in New York follows.
        let times = minutes(market, "2025-07-02", "2025-07-03");
        let one_in = *rng.pick(&[1, 1, 3, 20]);
        let stamps: Vec<Candle> = times.iter().filter(|_| rng.one_in(one_in)).collect();
        let mut next = rng.below(stamps.len() / 2);
        let (mut intake, mut merger) = Intake::open(&case.shop.store, venues(), GRACE_S).unwrap();
        for step in 0..30 {
            let mut row = |at: usize| {
                let price = Price(1_000_000 * (100 + rng.below(100)) as i64);
                let Candle { time, session, .. } = stamps[at.min(stamps.len() - 1)];
                let (volume, turnover) = (1 + rng.below(50) as i64, Turnover(0));
                Candle { time, open: price, high: price, low: price, close: price, volume, turnover, session }
            };
            let operation = row(0).volume % 16;
            match operation {
                0 => {
                    let count = usize::try_from(row(0).volume * 3).unwrap();
                    let from = (next + 40).saturating_sub(count);
                    let mut rows: Vec<Candle> = (from..from + count).map(&mut row).collect();
                    rows.dedup_by_key(|row| row.time);
                    let sizes = Sizes { flush_rows: 50, block_rows: *rng.pick(&[40, 4096]) };
                    case.import(&rows, sizes);
                    next = next.max(from + count);
                }
                1 => undone += usize::from(case.undo()),
                2 => (intake, merger) = Intake::open(&case.shop.store, venues(), GRACE_S).unwrap(),
                3 => {
                    let back = row(0).volume as usize;
                    let rows = [row(next.saturating_sub(back))];
                    case.ingest(&mut intake, &rows, stamps[next.min(stamps.len() - 1)].time.0 + 1);
                }
                4 => {
                    let later = stamps[next.min(stamps.len() - 1)].time.0 + 4_000;
                    merger.merge(Timestamp(later)).unwrap();
                }
                size => {
                    let count = if size < 12 { 1 } else { 3 * size as usize };
                    let from = next.saturating_sub(usize::from(size % 2 == 0));
                    let mut rows: Vec<Candle> = (from..from + count).map(&mut row).collect();
                    rows.dedup_by_key(|row| row.time);
                    next = from + count;
                    case.ingest(&mut intake, &rows, rows[rows.len() - 1].time.0 + 1);
                }
            }
            let now = stamps[next.min(stamps.len() - 1)].time.0;
            merger.merge(Timestamp(now + 1)).unwrap();
            let context = format!("seed {seed}, step {step}, operation {operation}");
            match case.check_stored(&context) {
                0 => none_missing_seen += 1,
                _ => missing_seen += 1,
            }
            case.check_answers(&mut rng, &context);
        }
        assert!(history::check(&case.shop.store, venues()).unwrap().damage.is_empty(), "seed {seed}");
    }
    assert!(
        missing_seen > 50 && none_missing_seen > 3 && undone > 0,
        "{missing_seen} {none_missing_seen} {undone}"
    );
}

/// Rows are ingested and merged while a file of the same series is imported.
#[test]
fn an_import_and_merges_that_run_together_lose_no_row() {
    // Many flushes, and a single one.
    [20, 100_000].into_iter().for_each(import_during_merges);
}

fn import_during_merges(flush_rows: usize) {
    let mut case = Case::new("A.US", Market::Us);
    let all = minutes(Market::Us, "2025-07-01", "2025-07-02");
    let all: Vec<Candle> = all.iter().map(|row| Candle { turnover: Turnover(0), ..row }).collect();
    let (of_file, of_feed): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(row, _)| row / 20 % 3 > 0);
    let rows = |of: Vec<(usize, &Candle)>| of.into_iter().map(|(_, row)| *row).collect::<Vec<Candle>>();
    let (of_file, of_feed) = (rows(of_file), rows(of_feed));
    let (mut intake, mut merger) = Intake::open(&case.shop.store, venues(), GRACE_S).unwrap();
    // The import takes turns with merges only if rows were ingested before.
    let (first, later) = of_feed.split_at(1);
    case.ingest(&mut intake, first, first[0].time.0 + 1);
    merger.merge(Timestamp(first[0].time.0 + 1)).unwrap();
    let line = |row: &Candle| format!("A.US,{},10,10,10,10,{}\n", row.time.0, row.volume);
    let lines: String = of_file.iter().map(line).collect();
    let file = case.shop.file("minutes.csv", format!("symbol,time,open,high,low,close,volume\n{lines}"));
    std::thread::scope(|scope| {
        let importing = scope.spawn(|| {
            let sizes = Sizes { flush_rows, block_rows: 64 };
            case.shop.import_with(&[file], &Options::default(), sizes, &AtomicBool::new(false))
        });
        let mut now = 0;
        for row in later {
            let input = CandleInput {
                symbol: case.security.clone(),
                grain: Grain::Minute,
                candle: *row,
                is_final: None,
            };
            let head = Head { source: "feed", seq: None, gap: false, build: false };
            now = row.time.0 + 1;
            intake.candles(&head, vec![Ok(input)], now * 1_000_000, &|_| String::new()).unwrap();
            match merger.merge(Timestamp(now)) {
                Err(error) => assert!(error.is_busy(), "{error}"),
                Ok(merged) => assert!(merged.has_changed),
            }
        }
        let reports = importing.join().unwrap();
        assert_eq!(reports[0].added, of_file.len() as u64, "{reports:?}");
        merger.merge(Timestamp(now)).unwrap();
    });
    case.expected = all.iter().map(|row| (row.time.0, *row)).collect();
    // Which of them wrote the newest hour last is not determined.
    case.check_stored("together");
    case.check_answers(&mut Rng(1), "together");
    assert!(history::check(&case.shop.store, venues()).unwrap().damage.is_empty());
}
