//! The decoded last blocks of the series that receive rows, so that a merge neither reads nor
//! decodes them again. The cache is valid only while the store has the version that the last merge
//! has produced. A row that changes more than the last block, such as a correction of an earlier
//! day, is merged by `import/lay.rs`.

use std::collections::{BTreeMap, HashMap};

use market::{Candles, Grain, Timestamp, Venue, fold};
use store::{Batch, BlockEntry, NewBlock, PartialMinute, Series, Snapshot, TailChange};

use super::IngestError;
use super::merge::SHORT_ROWS;
use crate::import::ImportError;
use crate::import::changes::Changes;
use crate::import::lay::{self, LayError, OnDamage};
use crate::import::merge::merge;

/// Maximum number of decoded candles, about 80 MB.
const ROWS_MAX: usize = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Tails {
    /// Version of the store at which the tails are current.
    version: Option<i64>,
    /// Tails by their series of one-minute candles.
    series: HashMap<Series, Tail>,
}

/// The last blocks of a one-minute series and of its roll-ups.
#[derive(Debug)]
pub(super) struct Tail {
    minutes: LastBlock,
    /// One-minute candles before the block, starting at the first hour of the block. The roll-ups
    /// of that hour include them.
    before: Candles,
    /// In the order of [`Grain::ROLLED_UP`].
    rolled: Vec<LastBlock>,
    /// The stored minutes that are not final, with the time when each becomes final.
    partial: BTreeMap<i64, Timestamp>,
}

#[derive(Debug)]
struct LastBlock {
    series: Series,
    entry: BlockEntry,
    candles: Candles,
    /// The new block, if rows have changed it.
    new: Option<NewBlock>,
}

/// A tail after rows were merged into it in memory.
#[derive(Debug)]
pub(super) struct LaidTail {
    pub(super) tail: Tail,
    /// Changes to the minutes.
    pub(super) changes: Changes,
}

impl Tails {
    /// Clears the cache after a failure.
    pub(super) fn reset(&mut self) {
        *self = Tails::default();
    }

    /// Clears the cache if the store has changed since the last merge.
    pub(super) fn follow(&mut self, version: i64) {
        if self.version != Some(version) {
            *self = Tails { version: Some(version), ..Tails::default() };
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Merges minutes into the end of their series. Returns `None` if they also change earlier
    /// blocks. `minutes` must be ascending.
    pub(super) fn lay(
        &mut self,
        snapshot: &Snapshot<'_>,
        venue: &Venue,
        series: &Series,
        minutes: &Candles,
    ) -> Result<Option<LaidTail>, LayError> {
        if series.grain != Grain::Minute {
            return Ok(None);
        }
        let tail = match self.series.remove(series) {
            Some(tail) => Some(tail),
            None => Tail::read(snapshot, venue, series)?,
        };
        tail.map_or(Ok(None), |tail| tail.lay(venue, minutes))
    }

    /// Marks the stored minutes up to `minute` as final.
    pub(super) fn finish(&mut self, minute: &PartialMinute) {
        let series = Series { symbol: minute.symbol.clone(), grain: Grain::Minute, lane: minute.lane };
        if let Some(tail) = self.series.get_mut(&series) {
            tail.finish(minute.at);
        }
    }

    /// Stores the result of a committed merge. `version` is the version of the store after it.
    pub(super) fn committed(&mut self, version: i64, laid: Vec<Tail>) {
        let of_merge: usize = laid.iter().map(Tail::rows).sum();
        if self.series.values().map(Tail::rows).sum::<usize>() + of_merge > ROWS_MAX {
            // Drop the series without new rows to make room.
            self.series.clear();
        }
        self.version = Some(version);
        if of_merge <= ROWS_MAX {
            self.series.extend(laid.into_iter().map(|tail| (tail.minutes.series.clone(), tail)));
        }
    }
}

impl Tail {
    /// Reads the end of a series. Returns `None` if the series is empty, or has only full blocks.
    fn read(snapshot: &Snapshot<'_>, venue: &Venue, series: &Series) -> Result<Option<Tail>, LayError> {
        let Some(minutes) = LastBlock::read(snapshot, series.clone())? else { return Ok(None) };
        let first = minutes.entry.first;
        let (hour, _) = lay::touched_hours(venue, first.0..=first.0);
        let before = lay::stored(snapshot, series, hour, first)?;
        let mut rolled = Vec::with_capacity(Grain::ROLLED_UP.len());
        for grain in Grain::ROLLED_UP {
            let Some(block) = LastBlock::read(snapshot, Series { grain, ..series.clone() })? else {
                return Ok(None);
            };
            rolled.push(block);
        }
        let partial = snapshot.partial_minutes(&series.symbol)?.into_iter();
        let partial =
            partial.filter(|minute| minute.lane == series.lane).map(|minute| (minute.at.0, minute.final_at));
        Ok(Some(Tail { minutes, before, rolled, partial: partial.collect() }))
    }

    /// Merges minutes into the last blocks. Returns `None` if the minutes do not fit there.
    fn lay(mut self, venue: &Venue, new: &Candles) -> Result<Option<LaidTail>, LayError> {
        let (Some(first), Some(last)) = (new.time.first(), new.time.last()) else { return Ok(None) };
        let (from, until) = lay::touched_hours(venue, *first..=*last);
        if *first < self.minutes.entry.first.0 {
            return Ok(None);
        }
        let Some(changes) = self.minutes.put(new.clone())? else { return Ok(None) };
        if self.minutes.new.is_none() {
            return Ok(Some(LaidTail { tail: self, changes }));
        }
        let all = self.before.iter().chain(self.minutes.candles.iter());
        let mut rolled: Candles = all.filter(|minute| (from..until).contains(&minute.time)).collect();
        for (grain, block) in Grain::ROLLED_UP.into_iter().zip(&mut self.rolled) {
            rolled = fold::fold(venue, grain.period(), &rolled)
                .map_err(|source| LayError::Overflow { series: self.minutes.series.clone(), source })?;
            if block.put(rolled.clone())?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(LaidTail { tail: self, changes }))
    }

    /// Marks minutes up to a stamp as final. Returns whether at least one of them was not final
    /// before.
    pub(super) fn finish(&mut self, through: Timestamp) -> bool {
        let later = self.partial.split_off(&through.0.saturating_add(1));
        !std::mem::replace(&mut self.partial, later).is_empty()
    }

    /// Marks a minute as not final. Returns whether it was final before.
    pub(super) fn put_partial(&mut self, minute: &PartialMinute) -> bool {
        self.partial.insert(minute.at.0, minute.final_at) != Some(minute.final_at)
    }

    fn blocks(&self) -> impl Iterator<Item = &LastBlock> {
        std::iter::once(&self.minutes).chain(&self.rolled)
    }

    fn rows(&self) -> usize {
        self.before.len() + self.blocks().map(|block| block.candles.len()).sum::<usize>()
    }
}

impl LastBlock {
    fn read(snapshot: &Snapshot<'_>, series: Series) -> Result<Option<LastBlock>, ImportError> {
        let last = snapshot.blocks_back(&series, Timestamp(i64::MAX), 1)?.last().copied();
        let Some(entry) = last.filter(|entry| (entry.rows as usize) < SHORT_ROWS) else { return Ok(None) };
        let candles = lay::load(snapshot, &series, &[entry], OnDamage::Stop)?;
        Ok(Some(LastBlock { series, entry, candles, new: None }))
    }

    /// Merges candles into the block. Returns `None` if they begin before it or fill it.
    fn put(&mut self, new: Candles) -> Result<Option<Changes>, ImportError> {
        if new.time.first().is_some_and(|first| *first < self.entry.first.0) {
            return Ok(None);
        }
        let merged = merge(std::mem::take(&mut self.candles), new, None);
        let rows = merged.candles.len();
        if rows >= SHORT_ROWS {
            return Ok(None);
        }
        if !merged.changes_nothing() {
            self.new = Some(lay::encode(&self.series, &merged.candles, 0..rows)?);
        }
        self.candles = merged.candles;
        Ok(Some(merged.changes))
    }
}

/// Writes the changed blocks.
pub(super) fn write(batch: &mut Batch<'_>, laid: &mut [Tail]) -> Result<(), IngestError> {
    let blocks = laid.iter().flat_map(Tail::blocks);
    let changes = blocks.filter_map(|LastBlock { series, entry, new, .. }| {
        new.as_ref().map(|new| TailChange { series, old: *entry, new })
    });
    let mut entries = batch.replace_tails(&changes.collect::<Vec<_>>())?.into_iter();
    for tail in laid {
        for block in std::iter::once(&mut tail.minutes).chain(&mut tail.rolled) {
            if block.new.take().is_some()
                && let Some(entry) = entries.next()
            {
                block.entry = entry;
            }
        }
    }
    Ok(())
}
