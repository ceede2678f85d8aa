//! Candles with which new rows are compared: those in the store, and those in the log that are not
//! merged yet. Cached, because most rows belong to the newest minute of their series.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use market::{Candle, Grain, Timestamp};
use store::{Append, Reader, Series};

use super::{Commit, CommittedCandle, IngestError, MergeVersions};
use crate::import::lay::stored;

/// Length in seconds of the time range before a requested candle that is read with it.
const READ_BACK_S: i64 = 86_400;
/// Maximum number of cached candles, about 200 MB.
const ROWS_MAX: usize = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Known {
    /// Version of the store at which the cached candles are current. `None` if the cache is empty.
    version: Option<i64>,
    /// The last batch of the log that the cached candles include.
    seen: i64,
    /// The last merged batch.
    applied: i64,
    /// Batches that are not merged yet.
    pending: Vec<Arc<Commit>>,
    series: HashMap<Series, KnownSeries>,
}

#[derive(Debug)]
pub(super) struct KnownSeries {
    /// All candles stamped here or later are cached.
    from: i64,
    rows: BTreeMap<i64, KnownCandle>,
    /// Stamps of candles that are not final.
    partial: BTreeSet<i64>,
    newest: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct KnownCandle {
    pub(super) candle: Candle,
    pub(super) is_final: bool,
}

impl Known {
    /// Clears the cache after a failure.
    pub(super) fn reset(&mut self) {
        *self = Known::default();
    }

    /// Updates the cache with batches that other processes have logged, and with imports.
    pub(super) fn follow(&mut self, append: &Append<'_>, merges: &MergeVersions) -> Result<(), IngestError> {
        let (version, applied) = append.state()?;
        let expected = self.version.map(|known| if known == version { known } else { merges.after(known) });
        let rows: usize = self.series.values().map(|series| series.rows.len()).sum();
        if expected != Some(version) || rows > ROWS_MAX {
            self.reset();
            self.seen = applied;
        }
        (self.version, self.applied) = (Some(version), applied);
        self.pending.retain(|commit| commit.id > applied);
        for batch in append.batches_after(self.seen)? {
            let commit = Commit::decode(&batch)?;
            for row in &commit.candles {
                if let Some(series) = self.series.get_mut(&row.series()) {
                    series.put(row);
                }
            }
            self.pending.push(Arc::new(commit));
        }
        self.seen = append.id() - 1;
        Ok(())
    }

    /// Adds a batch that this process is about to commit. Its candles are cached already.
    pub(super) fn committed(&mut self, commit: &Arc<Commit>) {
        self.seen = commit.id;
        self.pending.push(commit.clone());
    }

    /// Returns the last merged batch as of the last update.
    pub(super) fn applied(&self) -> i64 {
        self.applied
    }

    /// Returns the candles of a series, starting at a stamp.
    pub(super) fn series(
        &mut self,
        reader: &mut Reader,
        series: &Series,
        at: Timestamp,
    ) -> Result<&mut KnownSeries, IngestError> {
        let until = self.series.get(series).map(|known| known.from);
        if until.is_none_or(|from| at.0 < from) {
            let from = at.0.saturating_sub(READ_BACK_S);
            let snapshot = reader.snapshot()?;
            let candles = stored(&snapshot, series, Timestamp(from), Timestamp(until.unwrap_or(i64::MAX)))?;
            let partial = match series.grain {
                Grain::Minute => snapshot.partial_minutes(&series.symbol)?,
                _ => Vec::new(),
            };
            let newest =
                snapshot.blocks_back(series, Timestamp(i64::MAX), 1)?.last().map(|block| block.last.0);
            drop(snapshot);
            let known = self.series.entry(series.clone()).or_insert_with(|| KnownSeries {
                from,
                rows: BTreeMap::new(),
                partial: BTreeSet::new(),
                newest,
            });
            known.from = from;
            for candle in candles.iter() {
                let is_partial =
                    |minute: &&store::PartialMinute| minute.lane == series.lane && minute.at == candle.time;
                let is_final = !partial.iter().any(|minute| is_partial(&minute));
                known.put_candle(candle, is_final);
            }
            // The batches may be merged in the meantime, but that does not change the result.
            let rows = self.pending.iter().flat_map(|commit| &commit.candles);
            rows.filter(|row| row.series() == *series && row.candle.time.0 >= from)
                .for_each(|row| known.put(row));
        }
        self.series.get_mut(series).ok_or(IngestError::Damaged { id: self.seen })
    }
}

impl KnownSeries {
    pub(super) fn get(&self, at: Timestamp) -> Option<KnownCandle> {
        self.rows.get(&at.0).copied()
    }

    /// Returns whether a later candle is cached.
    pub(super) fn has_later(&self, at: Timestamp) -> bool {
        self.newest.is_some_and(|newest| newest > at.0)
    }

    /// Adds a committed row. Earlier candles become final.
    pub(super) fn put(&mut self, row: &CommittedCandle) {
        self.put_candle(row.candle, row.is_final);
        if row.grain == Grain::Minute {
            let later = self.partial.split_off(&row.candle.time.0);
            for at in std::mem::replace(&mut self.partial, later) {
                if let Some(known) = self.rows.get_mut(&at) {
                    known.is_final = true;
                }
            }
        }
    }

    fn put_candle(&mut self, candle: Candle, is_final: bool) {
        let at = candle.time.0;
        self.rows.insert(at, KnownCandle { candle, is_final });
        self.newest = self.newest.max(Some(at));
        if is_final {
            self.partial.remove(&at)
        } else {
            self.partial.insert(at)
        };
    }
}
