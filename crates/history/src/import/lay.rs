//! Merges one symbol's new candles into its series: combines them with stored candles, updates the
//! roll-ups and encodes blocks. Only reads the store; the single writer commits the result.

use std::ops::RangeInclusive;

use block::{Block, Effort};
use market::{Candles, Grain, Timestamp, Venue, fold};
use store::{BlockEntry, NewBlock, Series, StoreError, View};

use super::changes::Changes;
use super::merge::{Merged, compare, cut, merge, sort};
use super::replacing::Differences;
use super::{ImportError, Options};
use crate::roll_ups::{missing_from, range_of};

/// Number of candles per block. Larger blocks compress better, and a query decodes only the pages
/// that it needs.
pub(crate) const BLOCK_ROWS: usize = 4096;
/// Number of rows below which a block is encoded for speed, because ingest replaces the last block
/// of a series many times a minute.
pub(crate) const RUNNING_ROWS: usize = 32;
const _: () = assert!(2 * BLOCK_ROWS <= block::ROWS_MAX);

/// New candles of one series from one file.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) series: Series,
    pub(crate) candles: Candles,
}

/// Result of merging a part: the pending writes, and the counts for the ledger.
#[derive(Debug, Default)]
pub(crate) struct Laid {
    pub(crate) writes: Vec<SeriesWrite>,
    pub(crate) added: u64,
    pub(crate) replaced: u64,
    pub(crate) unchanged: u64,
    pub(crate) differences: Differences,
    /// Changes to the series itself, without its roll-ups.
    pub(crate) changes: Changes,
}

#[derive(Debug)]
pub(crate) struct SeriesWrite {
    pub(crate) series: Series,
    pub(crate) removed: Vec<i64>,
    pub(crate) added: Vec<NewBlock>,
}

/// Why a part could not be merged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayError {
    /// The candles are valid, but their sum in a roll-up overflows, possibly together with stored
    /// candles.
    #[error("rolling up {series}: {source}")]
    Overflow { series: Series, source: fold::Overflow },
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl From<store::StoreError> for LayError {
    fn from(error: store::StoreError) -> LayError {
        LayError::Import(error.into())
    }
}

/// Which roll-ups of changed minutes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RollUps {
    All,
    /// All except those of the newest hour of the series. Ingest uses this: it changes that hour
    /// many times a minute, and would write three blocks each time instead of one.
    BeforeNewestHour,
}

pub(crate) fn lay(
    snapshot: &View,
    venue: &Venue,
    part: Part,
    (block_rows, roll_ups): (usize, RollUps),
    on_damage: OnDamage,
) -> Result<Laid, LayError> {
    let rows = part.candles.len();
    let new = sort(part.candles);
    let overruled = (rows - new.len()) as u64;
    let mut laid = Laid { replaced: overruled, ..Laid::default() };
    let (Some(first), Some(last)) = (new.time.first().copied(), new.time.last().copied()) else {
        return Ok(laid);
    };
    let Overlay { merged, write } = overlay(snapshot, &part.series, new, block_rows, on_damage)?;
    laid.added = merged.added;
    laid.replaced += merged.replaced;
    laid.unchanged = merged.unchanged;
    // Set even if nothing changes, because unchanged candles also count towards the share of
    // differing candles that decides whether the file is refused.
    laid.differences = merged.differences;
    laid.changes = merged.changes;
    let minutes = match write {
        Some(write) => {
            laid.writes.push(write);
            merged.candles
        }
        None if on_damage == OnDamage::Stop => return Ok(laid),
        // The one-minute candles are unchanged, but a damaged roll-up may have to be rebuilt.
        None => stored(snapshot, &part.series, Timestamp(first), Timestamp(last + 1))?,
    };
    if part.series.grain == Grain::Minute {
        let writes = roll_up(
            snapshot,
            venue,
            (&part.series, first..=last, minutes),
            (block_rows, roll_ups),
            on_damage,
        )?;
        laid.writes.extend(writes);
    }
    Ok(laid)
}

/// Adds the missing roll-ups of a series of minutes.
pub(crate) fn complete_roll_ups(
    snapshot: &View,
    venue: &Venue,
    series: &Series,
    block_rows: usize,
) -> Result<Laid, LayError> {
    let all = snapshot.series_of(&series.symbol)?;
    let rolled = Grain::ROLLED_UP.into_iter().map(|grain| Series { grain, ..series.clone() });
    let missing = rolled.filter_map(|rolled| missing_from(venue, &all, &rolled)).min();
    let newest = all.iter().find(|info| info.series == *series).map(|info| info.last);
    let Some((missing, newest)) = missing.zip(newest) else { return Ok(Laid::default()) };
    let minutes = (series, missing.0..=newest.0, Candles::default());
    let writes = roll_up(snapshot, venue, minutes, (block_rows, RollUps::All), OnDamage::Stop)?;
    Ok(Laid { writes, ..Laid::default() })
}

/// Updates the roll-ups of the hours that contain new minutes, and adds missing roll-ups before
/// these hours. `merged` contains all minutes of the changed blocks.
fn roll_up(
    snapshot: &View,
    venue: &Venue,
    (series, new, merged): (&Series, RangeInclusive<i64>, Candles),
    (block_rows, roll_ups): (usize, RollUps),
    on_damage: OnDamage,
) -> Result<Vec<SeriesWrite>, LayError> {
    let all = snapshot.series_of(&series.symbol)?;
    let hour = |minute: Timestamp| range_of(venue, Grain::Minute60, minute);
    let rolled = |grain: Grain| Series { grain, ..series.clone() };
    let last = Timestamp(*new.end());
    let mut from = hour(Timestamp(*new.start())).0;
    let missing = Grain::ROLLED_UP.into_iter().filter_map(|grain| missing_from(venue, &all, &rolled(grain)));
    if let Some(missing) = missing.min().filter(|missing| *missing < last) {
        from = from.min(hour(missing).0);
    }
    let newest = all.iter().find(|info| info.series == *series).map_or(last, |info| info.last.max(last));
    let newest_hour = hour(newest).0;
    let until = hour(last).1;
    // Stored roll-ups of the newest hour would become wrong, so they are removed.
    let cut = (roll_ups == RollUps::BeforeNewestHour && until > newest_hour).then_some(newest_hour);
    let mut folded = minutes_within(snapshot, series, (from, until), merged)?;
    let mut writes = Vec::with_capacity(Grain::ROLLED_UP.len());
    for grain in Grain::ROLLED_UP {
        // The newest hour is folded too, because its sums may overflow.
        folded = fold::fold(venue, grain.period(), &folded)
            .map_err(|source| LayError::Overflow { series: series.clone(), source })?;
        let (rolled, mut stored) = (rolled(grain), folded.clone());
        let rows = cut.map_or(stored.len(), |cut| stored.time.partition_point(|time| *time < cut.0));
        stored.truncate(rows);
        let has_later = |cut| all.iter().any(|info| info.series == rolled && info.last >= cut);
        let write = match cut {
            Some(cut) if has_later(cut) => {
                replace_window(snapshot, &rolled, (from, Timestamp(i64::MAX)), &stored)?
            }
            _ => overlay(snapshot, &rolled, stored, block_rows, on_damage)?.write,
        };
        writes.extend(write);
    }
    Ok(writes)
}

struct Overlay {
    merged: Merged,
    /// `None` if the merge changes nothing.
    write: Option<SeriesWrite>,
}

/// Merges candles into the blocks that they overlap, and encodes the result.
fn overlay(
    snapshot: &View,
    series: &Series,
    new: Candles,
    block_rows: usize,
    on_damage: OnDamage,
) -> Result<Overlay, ImportError> {
    let (Some(first), Some(last)) = (new.time.first(), new.time.last()) else {
        return Ok(Overlay { merged: Merged::default(), write: None });
    };
    // Daily blocks hold twice the rows: most securities then fit in one block, and one read covers
    // years.
    let block_rows = if series.grain == Grain::Day { 2 * block_rows } else { block_rows };
    let touched = touched_blocks(snapshot, series, Timestamp(*first)..=Timestamp(*last), block_rows)?;
    let stored = load(snapshot, series, &touched, on_damage)?;
    let merged = merge(stored, new, last_stamp(snapshot, series)?);
    if merged.changes_nothing() {
        return Ok(Overlay { merged, write: None });
    }
    let added = cut(merged.candles.len(), block_rows)
        .map(|rows| encode(series, &merged.candles, rows))
        .collect::<Result<Vec<NewBlock>, ImportError>>()?;
    let removed = touched.iter().map(|entry| entry.id).collect();
    let write = SeriesWrite { series: series.clone(), removed, added };
    Ok(Overlay { merged, write: Some(write) })
}

/// Returns the last stamp of a series, or `None` if the series is empty. The candle at that stamp
/// may have been incomplete when it was stored.
fn last_stamp(snapshot: &View, series: &Series) -> Result<Option<Timestamp>, ImportError> {
    Ok(snapshot.blocks_back(series, Timestamp(i64::MAX), 1)?.last().map(|entry| entry.last))
}

/// Returns the result of a merge without encoding any blocks.
pub(crate) fn merged(
    view: &View,
    series: &Series,
    candles: Candles,
    on_damage: OnDamage,
) -> Result<Merged, ImportError> {
    let new = sort(candles);
    let (Some(first), Some(last)) = (new.time.first(), new.time.last()) else {
        return Ok(Merged::default());
    };
    let entries = view.blocks(series, Some(Timestamp(*first)), Some(Timestamp(last + 1)))?;
    let stored = load(view, series, &entries, on_damage)?;
    let running = view.blocks_back(series, Timestamp(i64::MAX), 1)?.last().map(|entry| entry.last);
    Ok(merge(stored, new, running))
}

/// Replaces all candles of a series in a half-open window. Returns `None` if there is nothing to
/// remove or add.
pub(crate) fn replace_window(
    view: &View,
    series: &Series,
    (from, until): (Timestamp, Timestamp),
    new: &Candles,
) -> Result<Option<SeriesWrite>, ImportError> {
    let touched = view.blocks(series, Some(from), Some(until))?;
    if touched.is_empty() && new.is_empty() {
        return Ok(None);
    }
    let stored = load(view, series, &touched, OnDamage::Stop)?;
    let mut candles = Candles::with_capacity(stored.len() + new.len());
    stored.iter().take_while(|candle| candle.time < from).for_each(|candle| candles.push(candle));
    candles.append(new);
    stored.iter().filter(|candle| candle.time >= until).for_each(|candle| candles.push(candle));
    let block_rows = if series.grain == Grain::Day { 2 * BLOCK_ROWS } else { BLOCK_ROWS };
    let added = cut(candles.len(), block_rows)
        .map(|rows| encode(series, &candles, rows))
        .collect::<Result<Vec<NewBlock>, ImportError>>()?;
    let removed = touched.iter().map(|entry| entry.id).collect();
    Ok(Some(SeriesWrite { series: series.clone(), removed, added }))
}

/// Compares candles of a file with the stored candles, without merging them.
pub(crate) fn differences(
    snapshot: &View,
    series: &Series,
    candles: Candles,
    on_damage: OnDamage,
) -> Result<Differences, ImportError> {
    let new = sort(candles);
    let (Some(first), Some(last)) = (new.time.first(), new.time.last()) else {
        return Ok(Differences::default());
    };
    let entries = snapshot.blocks(series, Some(Timestamp(*first)), Some(Timestamp(last + 1)))?;
    if entries.is_empty() {
        return Ok(Differences::default());
    }
    let stored = load(snapshot, series, &entries, on_damage)?;
    Ok(compare(&stored, &new, last_stamp(snapshot, series)?))
}

/// Returns the blocks that overlap the new range, and an adjacent block on either side if it is
/// short. Otherwise files that arrive in chronological or reverse order would each leave a short
/// block.
fn touched_blocks(
    snapshot: &View,
    series: &Series,
    new: RangeInclusive<Timestamp>,
    block_rows: usize,
) -> Result<Vec<BlockEntry>, ImportError> {
    let (first, beyond) = (*new.start(), Timestamp(new.end().0 + 1));
    let mut touched = snapshot.blocks(series, Some(first), Some(beyond))?;
    let begin = touched.first().map_or(first, |entry| entry.first);
    let end = touched.last().map_or(beyond, |entry| Timestamp(entry.last.0 + 1)).max(beyond);
    let short = |entry: &&BlockEntry| (entry.rows as usize) < block_rows;
    let before = snapshot.blocks_back(series, begin, 1)?;
    if let Some(before) = before.last().filter(short).filter(|entry| entry.last < begin) {
        touched.insert(0, *before);
    }
    let after = snapshot.blocks_forward(series, end, 1)?;
    touched.extend(after.first().filter(short).filter(|entry| entry.first >= end));
    Ok(touched)
}

/// What to do with a stored block that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDamage {
    /// Fail the import: the new file may not contain the candles of the block.
    Stop,
    /// Treat the block as empty. Its source files are being imported again, which restores its
    /// candles.
    Drop,
}

impl OnDamage {
    pub(crate) fn of(options: &Options) -> OnDamage {
        if options.again { OnDamage::Drop } else { OnDamage::Stop }
    }
}

pub(crate) fn load(
    snapshot: &View,
    series: &Series,
    entries: &[BlockEntry],
    on_damage: OnDamage,
) -> Result<Candles, ImportError> {
    let rows = entries.iter().map(|entry| entry.rows as usize).sum();
    let mut candles = Candles::with_capacity(rows);
    let mut bytes = Vec::new();
    for entry in entries {
        match snapshot.block(entry, &mut bytes) {
            Err(StoreError::Damaged { .. }) if on_damage == OnDamage::Drop => continue,
            read => read?,
        }
        let read = Block::parse(&bytes).and_then(|block| block.read_all(&mut candles));
        match read {
            Err(_) if on_damage == OnDamage::Drop => (),
            read => read.map_err(|source| ImportError::Damaged {
                series: series.clone(),
                at: entry.first,
                source,
            })?,
        }
    }
    Ok(candles)
}

pub(crate) fn encode(
    series: &Series,
    candles: &Candles,
    rows: std::ops::Range<usize>,
) -> Result<NewBlock, ImportError> {
    let stamp = |row: usize| Timestamp(candles.time.get(row).copied().unwrap_or_default());
    let (first, last) = (stamp(rows.start), stamp(rows.end.saturating_sub(1)));
    let count = rows.len() as u32;
    let effort = match series.grain {
        Grain::Day => Effort::Quick,
        _ if rows.len() < RUNNING_ROWS => Effort::Running,
        _ => Effort::Small,
    };
    let bytes = block::encode_with(candles, rows, effort).map_err(|source| ImportError::Damaged {
        series: series.clone(),
        at: first,
        source,
    })?;
    Ok(NewBlock { first, last, rows: count, bytes })
}

/// Returns all one-minute candles of a half-open window, of which `merged` contains a part.
fn minutes_within(
    snapshot: &View,
    series: &Series,
    (from, until): (Timestamp, Timestamp),
    merged: Candles,
) -> Result<Candles, LayError> {
    // The merged blocks may not cover the first and last hour completely. The missing one-minute
    // candles are read from the store.
    let first = merged.time.first().copied().unwrap_or(until.0);
    let after = merged.time.last().map_or(until.0, |last| last + 1);
    let mut minutes = merged;
    let inside = |at: Timestamp| minutes.time.partition_point(|time| *time < at.0);
    let rows = inside(from)..inside(until).max(inside(from));
    minutes.retain_rows(rows);
    if from.0 < first {
        let mut earlier = stored(snapshot, series, from, Timestamp(first).min(until))?;
        if !earlier.is_empty() {
            earlier.append(&minutes);
            minutes = earlier;
        }
    }
    if after < until.0 {
        minutes.append(&stored(snapshot, series, Timestamp(after).max(from), until)?);
    }
    Ok(minutes)
}

/// Returns the half-open range from the start of the first minute's hour to the end of the last
/// minute's hour.
pub(crate) fn touched_hours(venue: &Venue, minutes: RangeInclusive<i64>) -> (Timestamp, Timestamp) {
    let hour = |at: i64| range_of(venue, Grain::Minute60, Timestamp(at));
    (hour(*minutes.start()).0, hour(*minutes.end()).1)
}

/// Reads the candles of a series in a half-open window.
pub(crate) fn stored(
    snapshot: &View,
    series: &Series,
    from: Timestamp,
    until: Timestamp,
) -> Result<Candles, ImportError> {
    let entries = snapshot.blocks(series, Some(from), Some(until))?;
    let mut candles = load(snapshot, series, &entries, OnDamage::Stop)?;
    let inside = |at: Timestamp| candles.time.partition_point(|time| *time < at.0);
    let rows = inside(from)..inside(until);
    candles.retain_rows(rows);
    Ok(candles)
}
