//! Coverage of many securities, with one state per day. The calendar's expectations are computed
//! once per market. Stored minutes are counted by the row numbers of each day's first and last
//! minute; a whole day is decoded only if its count is inconclusive.

use std::collections::BTreeMap;

use block::{Block, BlockError};
use market::{Candles, Date, Grain, Session, Symbol, Timestamp, Venue};
use store::{ImportSource, Lane, Reader, Series, Snapshot};

use super::{
    Extent, GapReason, begun_until, by_day, daily_gap, gaps, known_sources, last_complete_day, volumes,
    window, within,
};
use crate::as_of::AsOf;
use crate::own::{Taken, has_own};
use crate::query::HistoryError;

/// Coverage of one security on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayState {
    /// The daily candle is stored, and each expected minute is stored or known to have had no
    /// trades.
    Complete,
    Partial,
    /// Neither the daily candle nor any minute candle is stored, and the day is not known to have
    /// had no trades.
    Missing,
    /// The market is closed, even if candles are stored.
    Closed,
    /// The day is before the security's first candle, not completed, known to have had no trades,
    /// or outside the calendar.
    NothingExpected,
}

impl DayState {
    pub fn letter(self) -> char {
        match self {
            DayState::Complete => 'c',
            DayState::Partial => 'p',
            DayState::Missing => 'm',
            DayState::Closed => '-',
            DayState::NothingExpected => '.',
        }
    }
}

/// Days on which candles are expected according to a market's calendar, for a date range and an
/// instant.
#[derive(Debug)]
pub struct Expected<'a> {
    venue: &'a Venue,
    days: Vec<Day>,
    /// Last trading day whose regular hours are over.
    over: Option<Date>,
    as_of: AsOf,
}

#[derive(Clone, Copy, Debug)]
struct Day {
    date: Date,
    is_covered: bool,
    is_open: bool,
    /// Stamps of the first and last regular minute that have begun; `None` if no regular minute has
    /// begun.
    minutes: Option<(i64, i64)>,
    count: u32,
}

/// Stored data of one security within the date range.
struct Stored {
    extent: Extent,
    volumes: BTreeMap<Date, i64>,
    sources: Vec<ImportSource>,
    /// Days that have coarse candles but no one-minute candles.
    coarse: BTreeMap<Date, LaneDay>,
}

impl<'a> Expected<'a> {
    /// Computes the expectations for an inclusive date range.
    pub fn of(venue: &'a Venue, (from, through): (Date, Date), as_of: AsOf) -> Expected<'a> {
        let begun = begun_until(venue, as_of);
        let dates = std::iter::successors(Some(from), |date| date.tomorrow().ok());
        let days =
            dates.take_while(|date| *date <= through).map(|date| Day::of(venue, date, begun)).collect();
        Expected { venue, days, over: last_complete_day(venue, as_of), as_of }
    }

    /// Returns the state of each date in the range, in ascending order. If the security has no
    /// candles, every state is [`DayState::NothingExpected`].
    pub fn states(&self, reader: &mut Reader, symbol: &Symbol) -> Result<Vec<DayState>, HistoryError> {
        let snapshot = reader.snapshot_of(symbol)?;
        let nothing = vec![DayState::NothingExpected; self.days.len()];
        let (Some(from), Some(through)) = (self.days.first(), self.days.last()) else { return Ok(nothing) };
        let Some(extent) = Extent::of(&snapshot, self.venue, symbol, self.as_of)? else { return Ok(nothing) };
        let series = |grain| Series { symbol: symbol.clone(), grain, lane: Lane::Regular };
        let times = window(self.venue, from.date, through.date);
        let known = times.start..times.end.min(self.as_of.known_until(self.venue, Grain::Day).0);
        let daily = within(&snapshot, &series(Grain::Day), &known)?;
        let counts = self.counts(&snapshot, &series(Grain::Minute))?;
        let mut coarse = BTreeMap::new();
        if has_own(&snapshot, symbol)? {
            let read = |grain: Grain| {
                let until = self.as_of.known_until(self.venue, grain).0;
                within(&snapshot, &series(grain), &(times.start..times.end.min(until)))
            };
            coarse = of_lane(self.venue, begun_until(self.venue, self.as_of), read)?;
            coarse.retain(|_, day| day.grain.is_own());
        }
        let stored = Stored {
            extent,
            volumes: volumes(self.venue, &daily),
            sources: known_sources(&snapshot, self.venue, symbol, self.as_of)?,
            coarse,
        };
        let mut states = Vec::with_capacity(self.days.len());
        for (day, count) in self.days.iter().zip(counts) {
            states.push(self.state(&snapshot, symbol, day, count, &stored)?);
        }
        Ok(states)
    }

    fn state(
        &self,
        snapshot: &Snapshot<'_>,
        symbol: &Symbol,
        day: &Day,
        count: u32,
        stored: &Stored,
    ) -> Result<DayState, HistoryError> {
        let Stored { extent, volumes, sources, coarse } = stored;
        let coarse = coarse.get(&day.date);
        let count = coarse.map_or(count, |coarse| u32::try_from(coarse.minutes.len()).unwrap_or(u32::MAX));
        let through = self.over.map_or(extent.last, |over| over.max(extent.last));
        if !day.is_covered || !(extent.first..=through).contains(&day.date) {
            return Ok(DayState::NothingExpected);
        }
        if !day.is_open {
            return Ok(DayState::Closed);
        }
        // Nothing is expected for a day that is not completed.
        if self.over.is_none_or(|over| over < day.date) {
            return Ok(DayState::NothingExpected);
        }
        let volume = volumes.get(&day.date).copied();
        if volume.is_none() && count == 0 {
            let known = daily_gap(self.venue, day.date, &[], sources) == GapReason::NoTrades;
            return Ok(if known { DayState::NothingExpected } else { DayState::Missing });
        }
        if volume.is_none() {
            return Ok(DayState::Partial);
        }
        let has_minutes = extent.first_minute.is_some_and(|first| first <= day.date);
        let is_whole = !has_minutes
            || match coarse {
                Some(coarse) => self.is_whole_of(day, coarse, (volume, sources)),
                None => self.is_whole(snapshot, symbol, day, count, (volume, sources))?,
            };
        Ok(if is_whole { DayState::Complete } else { DayState::Partial })
    }

    /// Returns whether every traded minute of the day is stored. If one source file spans the whole
    /// day, minutes that are missing from the file had no trades.
    fn is_whole(
        &self,
        snapshot: &Snapshot<'_>,
        symbol: &Symbol,
        day: &Day,
        count: u32,
        (volume, sources): (Option<i64>, &[ImportSource]),
    ) -> Result<bool, HistoryError> {
        let Some((first, last)) = day.minutes else { return Ok(true) };
        if count >= day.count || volume == Some(0) {
            return Ok(true);
        }
        if count == 0 {
            return Ok(false);
        }
        let series = Series { symbol: symbol.clone(), grain: Grain::Minute, lane: Lane::Regular };
        let reaches_over = |source: &ImportSource| {
            source.series == series && source.first.0 <= first && last <= source.last.0
        };
        if sources.iter().any(reaches_over) {
            return Ok(true);
        }
        let times = within(snapshot, &series, &(first..last.saturating_add(1)))?.time;
        let gaps = gaps(self.venue, day.date, (Grain::Minute, times.as_slice()), volume, sources, self.as_of);
        Ok(gaps.iter().all(|gap| gap.reason == GapReason::NoTrades))
    }

    /// Like [`Expected::is_whole`], for a day with coarse candles.
    fn is_whole_of(
        &self,
        day: &Day,
        coarse: &LaneDay,
        (volume, sources): (Option<i64>, &[ImportSource]),
    ) -> bool {
        let LaneDay { grain, minutes } = coarse;
        let gaps = gaps(self.venue, day.date, (*grain, minutes.as_slice()), volume, sources, self.as_of);
        gaps.iter().all(|gap| gap.reason == GapReason::NoTrades)
    }

    /// Returns, per day, the number of stored minutes from the first to the last expected minute.
    fn counts(&self, snapshot: &Snapshot<'_>, series: &Series) -> Result<Vec<u32>, HistoryError> {
        let mut counts = vec![0_u32; self.days.len()];
        let first = self.days.iter().find_map(|day| day.minutes);
        let last = self.days.iter().rev().find_map(|day| day.minutes);
        let (Some((first, _)), Some((_, last))) = (first, last) else { return Ok(counts) };
        let until = Timestamp(last.saturating_add(1));
        for entry in snapshot.blocks(series, Some(Timestamp(first)), Some(until))? {
            let counted = snapshot.with_block(&entry, |bytes| -> Result<(), BlockError> {
                let mut columns = Block::parse(bytes)?.columns()?;
                for (day, count) in self.days.iter().zip(&mut counts) {
                    let Some((first, last)) = day.minutes else { continue };
                    if last < entry.first.0 || entry.last.0 < first {
                        continue;
                    }
                    let rows = columns.rows_before(last.saturating_add(1))? - columns.rows_before(first)?;
                    *count = count.saturating_add(u32::try_from(rows).unwrap_or(u32::MAX));
                }
                Ok(())
            })?;
            counted.map_err(|source| HistoryError::Damaged {
                series: series.clone(),
                at: entry.first,
                source,
            })?;
        }
        Ok(counts)
    }
}

impl Day {
    fn of(venue: &Venue, date: Date, begun: Timestamp) -> Day {
        let is_covered = venue.calendar().covers(date);
        let Some(day) = venue.day(date) else {
            return Day { date, is_covered, is_open: false, minutes: None, count: 0 };
        };
        let (mut minutes, mut count) = (None, 0);
        for (at, slot) in day.minutes() {
            if slot.segment.session == Session::Intraday && at < begun {
                let first = minutes.map_or(at.0, |(first, _)| first);
                minutes = Some((first, at.0));
                count += 1;
            }
        }
        Day { date, is_covered, is_open: true, minutes, count }
    }
}

/// Candles of one lane on one day.
#[derive(Clone, Debug)]
pub(super) struct LaneDay {
    /// Finest stored grain of the day.
    pub(super) grain: Grain,
    /// Stamps of the minutes that the candles cover, ascending.
    pub(super) minutes: Vec<i64>,
}

impl Default for LaneDay {
    fn default() -> LaneDay {
        LaneDay { grain: Grain::Minute, minutes: Vec::new() }
    }
}

/// Groups the candles of a lane by day. As in queries, only the finest candles of each session are
/// used, and only minutes that have begun.
pub(super) fn of_lane(
    venue: &Venue,
    begun: Timestamp,
    read: impl Fn(Grain) -> Result<Candles, HistoryError>,
) -> Result<BTreeMap<Date, LaneDay>, HistoryError> {
    let minutes = read(Grain::Minute)?;
    let mut taken = Taken::new(venue);
    taken.add(&minutes);
    let days = by_day(venue, &minutes).into_iter();
    let mut days: BTreeMap<Date, LaneDay> =
        days.map(|(date, minutes)| (date, LaneDay { grain: Grain::Minute, minutes })).collect();
    for grain in Grain::OWN {
        let candles = taken.free(&read(grain)?);
        taken.add(&candles);
        for (date, times) in by_day(venue, &candles) {
            let day = days.entry(date).or_insert_with(|| LaneDay { grain, minutes: Vec::new() });
            day.minutes.extend(times.iter().flat_map(|time| stood_for(venue, grain, *time)));
            day.minutes.retain(|minute| *minute < begun.0);
            day.minutes.sort_unstable();
        }
    }
    Ok(days)
}

/// Returns the stamps of the minutes that a coarse candle covers.
fn stood_for(venue: &Venue, grain: Grain, time: i64) -> impl Iterator<Item = i64> + use<> {
    let at = Timestamp(time);
    let end = venue.slot(at).zip(grain.length()).map_or(time, |(slot, length)| slot.bucket(length, at).1.0);
    (time..end).step_by(60)
}
