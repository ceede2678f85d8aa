//! Verifies a store: every checksum, index entry and candle.

use std::cell::Cell;
use std::ops::ControlFlow;

use crate::{HistoryError, adjustment};
use block::{Block, TradeBlock};
use market::{Candles, Flaw, Grain, Slot, Timestamp, Trades, Venue, Venues};
use store::{BlockEntry, Depth, Finding, Series, Store, StoreError};

/// Result of a verification.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    pub blocks: u64,
    /// Number of candles.
    pub rows: u64,
    /// Number of single trades.
    pub trades: u64,
    pub bytes: u64,
    pub damage: Vec<Damage>,
}

/// A defect and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub series: Option<Series>,
    pub at: Option<Timestamp>,
    pub problem: String,
    pub remedy: Remedy,
}

/// How to repair a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Import the source files again.
    ImportAgain,
    /// Restore a backup or create a new store, because the defect is in the database and not in a
    /// block.
    Restore,
    /// Remove the log of ingested batches.
    RemoveLog,
}

/// Verifies everything stored. A damaged block is reported, and the check continues with the next
/// block.
pub fn check(store: &Store, venues: &Venues) -> Result<CheckReport, StoreError> {
    check_watched(store, venues, |_| {})
}

/// Like [`check`], but calls `watch` after each block to report progress.
pub fn check_watched(
    store: &Store,
    venues: &Venues,
    mut watch: impl FnMut(&CheckReport),
) -> Result<CheckReport, StoreError> {
    let go_on = |report: &CheckReport| {
        watch(report);
        ControlFlow::Continue(())
    };
    Ok(check_until(store, venues, go_on)?.unwrap_or_default())
}

/// Like [`check_watched`], but stops when `watch` breaks, and then returns `None`. SQLite's
/// integrity check runs first and cannot be stopped.
pub fn check_until(
    store: &Store,
    venues: &Venues,
    mut watch: impl FnMut(&CheckReport) -> ControlFlow<()>,
) -> Result<Option<CheckReport>, StoreError> {
    let mut report = CheckReport::default();
    if watch(&report).is_break() {
        return Ok(None);
    }
    let mut candles = Candles::default();
    let mut reader = store.checker()?;
    let stopped = Cell::new(false);
    let go_on = || if stopped.get() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let findings = reader.check_until(Depth::Full, go_on, |series, entry, bytes| {
        if stopped.get() {
            return None;
        }
        report.blocks += 1;
        report.bytes += bytes.len() as u64;
        report.rows += u64::from(entry.rows);
        candles.clear();
        stopped.set(watch(&report).is_break());
        let venue = venues.of(series.symbol.market());
        inspect(entry, bytes, &mut candles).and_then(|()| on_grid(series.grain, venue, &candles)).err()
    })?;
    let Some(findings) = findings.filter(|_| !stopped.get()) else { return Ok(None) };
    report.damage = findings.into_iter().map(damage).collect();
    let mut trades = Trades::default();
    let findings = reader.check_trades(go_on, |_, entry, bytes| {
        if stopped.get() {
            return None;
        }
        report.blocks += 1;
        report.bytes += bytes.len() as u64;
        report.trades += u64::from(entry.rows);
        trades.clear();
        stopped.set(watch(&report).is_break());
        inspect_trades(entry, bytes, &mut trades).err()
    })?;
    let Some(findings) = findings.filter(|_| !stopped.get()) else { return Ok(None) };
    report.damage.extend(findings.into_iter().map(damage));
    let snapshot = reader.snapshot()?;
    let securities = match snapshot.securities() {
        // Damaged rows of this table are already reported.
        Err(error) if error.is_of_data() => Vec::new(),
        listed => listed?,
    };
    for security in securities {
        if watch(&report).is_break() {
            return Ok(None);
        }
        let symbol = security.symbol;
        match adjustment::is_sound(&snapshot, venues.of(symbol.market()), &symbol) {
            Ok(true) => {}
            Ok(false) => report.damage.push(Damage {
                series: None,
                at: None,
                problem: format!(
                    "the stored adjustment of {symbol} does not match its corporate actions: import them again"
                ),
                remedy: Remedy::ImportAgain,
            }),
            // Damaged blocks are already reported.
            Err(HistoryError::Store(StoreError::Damaged { .. } | StoreError::Value { .. })) => {}
            // PostgreSQL rejects every further statement of a failed transaction, so the snapshot
            // is unusable.
            Err(HistoryError::Store(StoreError::Engine { .. })) if !report.damage.is_empty() => break,
            Err(HistoryError::Store(error)) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(Some(report))
}

/// Checks a block against its index entry, and its candles against the import rules.
fn inspect(entry: &BlockEntry, bytes: &[u8], candles: &mut Candles) -> Result<(), String> {
    Block::parse(bytes).and_then(|block| block.read_all(candles)).map_err(|error| error.to_string())?;
    let stamps = (candles.time.first().copied(), candles.time.last().copied());
    if stamps != (Some(entry.first.0), Some(entry.last.0)) || candles.len() != entry.rows as usize {
        return Err("the index entry does not describe its block".to_owned());
    }
    match candles.iter().find_map(|candle| candle.check().err().map(|flaw| (candle.time, flaw))) {
        Some((at, flaw)) => Err(format!("the candle at {at}: {flaw}")),
        None => Ok(()),
    }
}

/// Checks that coarse candles start on the grid of their period. Stamps outside the sessions of the
/// current calendar are skipped: they may have been imported with another calendar.
fn on_grid(grain: Grain, venue: &Venue, candles: &Candles) -> Result<(), String> {
    let Some(length) = grain.length().filter(|_| grain.is_own()) else { return Ok(()) };
    let mut slot: Option<Slot> = None;
    for time in &candles.time {
        let at = Timestamp(*time);
        slot = slot.filter(|slot| slot.holds(at)).or_else(|| venue.slot(at));
        if slot.is_some_and(|slot| slot.bucket(length, at).0 != at) {
            return Err(format!("the candle at {at}: {}", Flaw::OffGrid(length)));
        }
    }
    Ok(())
}

/// Checks a trade block against its index entry, and its trades against the import rules.
fn inspect_trades(entry: &BlockEntry, bytes: &[u8], trades: &mut Trades) -> Result<(), String> {
    TradeBlock::parse(bytes).and_then(|block| block.read_all(trades)).map_err(|error| error.to_string())?;
    let stamps = (trades.time.first().copied(), trades.time.last().copied());
    if stamps != (Some(entry.first.0), Some(entry.last.0)) || trades.len() != entry.rows as usize {
        return Err("the index entry does not describe its block".to_owned());
    }
    match trades.iter().find_map(|trade| trade.check().err().map(|flaw| (trade.time, flaw))) {
        Some((at, flaw)) => Err(format!("the trade at {at}: {flaw}")),
        None => Ok(()),
    }
}

fn damage(finding: Finding) -> Damage {
    let problem = finding.to_string();
    let remedy = match &finding {
        Finding::IngestLog(_) => Remedy::RemoveLog,
        finding if finding.is_in_a_block() => Remedy::ImportAgain,
        _ => Remedy::Restore,
    };
    let (series, at) = match finding {
        Finding::BodyMissing { series, entry }
        | Finding::BodyLength { series, entry, .. }
        | Finding::BodyForeign { series, entry }
        | Finding::Unlinked { series, entry }
        | Finding::Body { series, entry, .. }
        | Finding::Overlap { series, entry, .. } => (Some(series), Some(entry.first)),
        Finding::Totals { recorded: state, .. } => (Some(state.series), None),
        Finding::Engine(_)
        | Finding::Dangling { .. }
        | Finding::BodyOrphan { .. }
        | Finding::EntryOrphan { .. }
        | Finding::Counter { .. }
        | Finding::Row { .. }
        | Finding::Rows { .. }
        | Finding::Misnoted { .. }
        | Finding::Miscounted { .. }
        | Finding::Trades { .. }
        | Finding::TradeDays { .. }
        | Finding::TradeBodyOrphan { .. }
        | Finding::IngestLog(_)
        | Finding::Unreadable(_) => (None, None),
    };
    Damage { series, at, problem, remedy }
}

#[cfg(test)]
mod tests {
    use market::{Candle, Price, Session, Turnover};
    use store::{Access, Lane, NewBlock};

    use super::*;

    #[test]
    fn a_stopped_check_reads_no_further_block() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::Write { now: Timestamp(0) }).unwrap();
        let mut writer = store.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        for symbol in ["700.HK", "5.HK"] {
            let series = Series { symbol: symbol.parse().unwrap(), grain: Grain::Day, lane: Lane::Regular };
            let block = |at| NewBlock {
                first: Timestamp(at),
                last: Timestamp(at),
                rows: 1,
                bytes: b"no block".to_vec(),
            };
            batch.replace_blocks(&series, &[], &[block(1), block(2)]).unwrap();
        }
        batch.commit().unwrap();
        let venues = Venues::built_in().unwrap();
        for stop_at in 0..=4 {
            let mut seen = 0;
            let report = check_until(&store, &venues, |report| {
                seen = report.blocks;
                if report.blocks == stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert!(report.unwrap().is_none() && seen == stop_at, "{stop_at}: {seen}");
        }
        assert_eq!(check(&store, &venues).unwrap().damage.len(), 4);
    }

    #[test]
    fn coarse_candles_off_their_grid_are_reported_as_damage() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::Write { now: Timestamp(0) }).unwrap();
        let mut writer = store.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        // Returns the stamp that is `minutes` minutes after 09:30 in Hong Kong.
        let at = |minutes: i64| Timestamp(1_704_159_000 + minutes * 60);
        let candle = |minutes: i64| Candle {
            time: at(minutes),
            open: Price(1_000_000),
            high: Price(1_000_000),
            low: Price(1_000_000),
            close: Price(1_000_000),
            volume: 1,
            turnover: Turnover(0),
            session: Session::Intraday,
        };
        for (grain, minutes) in [(Grain::Own5, [0, 5]), (Grain::Own15, [0, 5]), (Grain::Minute, [0, 5])] {
            let mut candles = Candles::default();
            minutes.into_iter().for_each(|minutes| candles.push(candle(minutes)));
            let bytes = block::encode(&candles, 0..2).unwrap();
            let new = NewBlock { first: at(0), last: at(5), rows: 2, bytes };
            let series = Series { symbol: "700.HK".parse().unwrap(), grain, lane: Lane::Regular };
            batch.replace_blocks(&series, &[], &[new]).unwrap();
        }
        batch.commit().unwrap();
        let damage = check(&store, &Venues::built_in().unwrap()).unwrap().damage;
        let problems: Vec<&str> = damage.iter().map(|damage| damage.problem.as_str()).collect();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("15-minute candle"), "{problems:?}");
    }
}
