//! The visible extent of a series, and the stored ranges and available periods of a security.

use block::{Block, BlockError};
use market::{Candles, Date, Floors, Grain, Period, Symbol, Timestamp, Venue};
use store::{Lane, Reader, SeriesInfo, Snapshot};

use crate::as_of::AsOf;
use crate::query::HistoryError;
use crate::read::History;

/// Extent of a security's stored candles of one period, in regular hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRange {
    pub period: Period,
    /// Trading days of the first and last candle.
    pub first: Date,
    pub last: Date,
    /// Number of candles; `None` if some of them are before the floor.
    pub rows: Option<u64>,
}

/// Returns the grains listed in an inventory, finest first. These are the imported grains, without
/// roll-ups.
fn listed_grains() -> impl Iterator<Item = Grain> {
    Grain::ALL.into_iter().filter(|grain| !Grain::ROLLED_UP.contains(grain))
}

/// Returns the visible stored ranges of a security on or after the floors, finest first.
pub fn stored_ranges(
    snapshot: &Snapshot<'_>,
    venue: &Venue,
    symbol: &Symbol,
    floors: Floors,
    as_of: AsOf,
) -> Result<Vec<StoredRange>, HistoryError> {
    let all = snapshot.series_of(symbol)?;
    let mut ranges = Vec::new();
    for grain in listed_grains() {
        let wanted = |info: &&SeriesInfo| info.series.grain == grain && info.series.lane == Lane::Regular;
        let Some(info) = all.iter().find(wanted) else { continue };
        let Some(known) = known_part(snapshot, venue, info.clone(), as_of)? else { continue };
        let (first, last) = (trading_day(venue, grain, known.first), trading_day(venue, grain, known.last));
        let floor = floors.of(grain.period()).filter(|floor| first < *floor);
        if floor.is_some_and(|floor| last < floor) {
            continue;
        }
        ranges.push(StoredRange {
            period: grain.period(),
            first: floor.unwrap_or(first),
            last,
            rows: floor.is_none().then_some(known.rows),
        });
    }
    Ok(ranges)
}

fn trading_day(venue: &Venue, grain: Grain, stamp: Timestamp) -> Date {
    let slot = grain.period().is_clock().then(|| venue.slot(stamp)).flatten();
    slot.map_or_else(|| venue.zone().date(stamp), |slot| slot.day)
}

/// Clips a series to the candles visible at `as_of`. Returns `None` if no candle is visible. The
/// byte count covers every block with at least one visible candle.
pub fn known_part(
    snapshot: &Snapshot<'_>,
    venue: &Venue,
    info: SeriesInfo,
    as_of: AsOf,
) -> Result<Option<SeriesInfo>, HistoryError> {
    let until = as_of.known_until(venue, info.series.grain);
    if info.last < until {
        return Ok(Some(info));
    }
    let mut known = SeriesInfo { rows: 0, blocks: 0, bytes: 0, last: info.first, ..info };
    for entry in snapshot.blocks(&known.series, None, Some(until))? {
        let (rows, last) = if entry.last < until {
            (u64::from(entry.rows), entry.last)
        } else {
            let counted = snapshot.with_block(&entry, |bytes| rows_before(bytes, until))?;
            counted.map_err(|source| HistoryError::Damaged {
                series: known.series.clone(),
                at: entry.first,
                source,
            })?
        };
        known.rows = known.rows.saturating_add(rows);
        known.blocks = known.blocks.saturating_add(1);
        known.bytes = known.bytes.saturating_add(u64::from(entry.bytes));
        known.last = known.last.max(last);
    }
    Ok((known.rows > 0).then_some(known))
}

/// Returns the number of rows in a block with a stamp before `until`, and the stamp of the last
/// such row.
fn rows_before(bytes: &[u8], until: Timestamp) -> Result<(u64, Timestamp), BlockError> {
    let mut columns = Block::parse(bytes)?.columns()?;
    let rows = columns.rows_before(until.0)?;
    let mut last = Candles::default();
    columns.read_rows(rows.saturating_sub(1)..rows, &mut last)?;
    Ok((rows as u64, Timestamp(last.time.last().copied().unwrap_or(i64::MIN))))
}

impl History {
    /// Returns the periods for which a security has any candle, shortest first. One-minute candles
    /// provide every minute period, and coarse files provide their own period and its multiples.
    /// Daily and longer periods come from daily candles. The list is empty for options, whose
    /// candles are not served.
    pub fn periods(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        as_of: AsOf,
    ) -> Result<Vec<Period>, HistoryError> {
        if symbol.is_us_option() {
            return Ok(Vec::new());
        }
        let venue = self.venue(symbol);
        let mut known = reader.snapshot_of(symbol)?.series_of(symbol)?;
        known.retain(|info| as_of.shows(venue, info));
        let has = |period: &Period| known.iter().any(|info| makes(venue, *period, info, as_of));
        Ok(Period::all().filter(has).collect())
    }
}

/// Returns whether a series provides candles of a period.
pub fn makes(venue: &Venue, period: Period, info: &SeriesInfo, as_of: AsOf) -> bool {
    let grain = info.series.grain;
    if period.is_clock() {
        return grain == Grain::Minute || period.own_sources().any(|own| own == grain);
    }
    if grain == Grain::Day {
        return true;
    }
    // Daily candles are folded from one-minute candles until their day is completed and the daily
    // candles are imported.
    let edge = as_of.horizon(venue, period, Floors::NONE).edge;
    grain == Grain::Minute
        && info.series.lane == Lane::Regular
        && edge.is_some_and(|edge| info.first < edge.minutes.end && info.last >= edge.minutes.start)
}
