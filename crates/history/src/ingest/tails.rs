//! The decoded last blocks of the series that receive rows, so that a merge neither reads nor
//! decodes them again. The cache is valid only while the store has the version that the last merge
//! has produced. A row that changes more than the last block, such as a correction of an earlier
//! day, or that changes a stored roll-up, is merged by `import/lay.rs`. The roll-ups of the newest
//! hour are not stored (`roll_ups.rs`), so most rows change no stored roll-up.

use std::collections::{BTreeMap, HashMap};

use market::{Candles, Grain, Timestamp, Venue};
use store::{Batch, BlockEntry, NewBlock, PartialMinute, Series, Snapshot, TailChange};

use super::IngestError;
use super::merge::SHORT_ROWS;
use crate::import::changes::Changes;
use crate::import::lay::{self, LayError, OnDamage};
use crate::import::merge::merge;
use crate::roll_ups::range_of;

/// Maximum number of decoded candles, about 80 MB.
const ROWS_MAX: usize = 1_000_000;
/// Maximum volume of a minute. The sum of an hour of such minutes does not overflow, so no roll-up
/// has to be computed before the minutes are stored.
const VOLUME_MAX: i64 = i64::MAX / 64;

#[derive(Debug, Default)]
pub(super) struct Tails {
    /// Version of the store at which the tails are current.
    version: Option<i64>,
    /// Tails by their series of one-minute candles.
    series: HashMap<Series, Tail>,
}

/// The last block of a one-minute series.
#[derive(Debug)]
pub(super) struct Tail {
    series: Series,
    entry: BlockEntry,
    candles: Candles,
    /// The new block, if rows have changed it.
    new: Option<NewBlock>,
    /// Minutes stamped here or later are in no stored roll-up.
    rolled_until: Timestamp,
    /// The stored minutes that are not final, with the time when each becomes final.
    partial: BTreeMap<i64, Timestamp>,
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
        if series.grain != Grain::Minute || minutes.is_empty() {
            return Ok(None);
        }
        let tail = match self.series.remove(series) {
            Some(tail) => Some(tail),
            None => Tail::read(snapshot, venue, series)?,
        };
        tail.map_or(Ok(None), |tail| tail.lay(minutes))
    }

    /// Removes a series whose stored roll-ups change.
    pub(super) fn forget(&mut self, series: &Series) {
        self.series.remove(series);
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
        let rows = |tail: &Tail| tail.candles.len();
        let of_merge: usize = laid.iter().map(rows).sum();
        if self.series.values().map(rows).sum::<usize>() + of_merge > ROWS_MAX {
            // Drop the series without new rows to make room.
            self.series.clear();
        }
        self.version = Some(version);
        if of_merge <= ROWS_MAX {
            self.series.extend(laid.into_iter().map(|tail| (tail.series.clone(), tail)));
        }
    }
}

impl Tail {
    /// Reads the end of a series. Returns `None` if the series is empty, if its last block is not
    /// short, or if the sum of an hour may overflow.
    fn read(snapshot: &Snapshot<'_>, venue: &Venue, series: &Series) -> Result<Option<Tail>, LayError> {
        let last = snapshot.blocks_back(series, Timestamp(i64::MAX), 1)?.last().copied();
        let Some(entry) = last.filter(|entry| (entry.rows as usize) < SHORT_ROWS) else { return Ok(None) };
        let candles = lay::load(snapshot, series, &[entry], OnDamage::Stop)?;
        let (hour, _) = lay::touched_hours(venue, entry.first.0..=entry.first.0);
        let before = lay::stored(snapshot, series, hour, entry.first)?;
        if !before.volume.iter().chain(&candles.volume).all(|volume| *volume <= VOLUME_MAX) {
            return Ok(None);
        }
        let all = snapshot.series_of(&series.symbol)?;
        let rolled = all
            .iter()
            .filter(|info| info.series.lane == series.lane && Grain::ROLLED_UP.contains(&info.series.grain));
        let rolled_until = rolled.map(|info| range_of(venue, info.series.grain, info.last).1).max();
        let partial = snapshot.partial_minutes(&series.symbol)?.into_iter();
        let partial =
            partial.filter(|minute| minute.lane == series.lane).map(|minute| (minute.at.0, minute.final_at));
        Ok(Some(Tail {
            series: series.clone(),
            entry,
            candles,
            new: None,
            rolled_until: rolled_until.unwrap_or(Timestamp(i64::MIN)),
            partial: partial.collect(),
        }))
    }

    /// Merges minutes into the block. Returns `None` if they fill it, begin before it, or change a
    /// stored roll-up.
    fn lay(mut self, new: &Candles) -> Result<Option<LaidTail>, LayError> {
        let from = self.entry.first.max(self.rolled_until);
        let fits = new.time.first().is_some_and(|first| *first >= from.0);
        if !fits || new.volume.iter().any(|volume| *volume > VOLUME_MAX) {
            return Ok(None);
        }
        let merged = merge(std::mem::take(&mut self.candles), new.clone(), None);
        let rows = merged.candles.len();
        if rows >= SHORT_ROWS {
            return Ok(None);
        }
        if !merged.changes_nothing() {
            self.new = Some(lay::encode(&self.series, &merged.candles, 0..rows)?);
        }
        self.candles = merged.candles;
        Ok(Some(LaidTail { tail: self, changes: merged.changes }))
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
}

/// Writes the changed blocks.
pub(super) fn write(batch: &mut Batch<'_>, laid: &mut [Tail]) -> Result<(), IngestError> {
    let changes = laid.iter().filter_map(|Tail { series, entry, new, .. }| {
        new.as_ref().map(|new| TailChange { series, old: *entry, new })
    });
    let mut entries = batch.replace_tails(&changes.collect::<Vec<_>>())?.into_iter();
    for tail in laid {
        if tail.new.take().is_some()
            && let Some(entry) = entries.next()
        {
            tail.entry = entry;
        }
    }
    Ok(())
}
