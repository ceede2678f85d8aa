//! Mixes candles of coarse files (5, 15, 30 and 60 minutes) with one-minute candles.
//!
//! One rule applies, regardless of the import order: in each session of a trading day, only the
//! finest visible candles are used. One-minute candles take precedence over all others, and
//! 5-minute candles over 15-minute candles. Nothing is counted twice, and a candle is never built
//! from a grain that does not divide its period. Even a single stored one-minute candle excludes
//! all coarse candles of its session: the other minutes were not traded or not loaded, and coverage
//! reports which. Because the rule applies to whole sessions, reads cover whole trading days, as
//! many as are needed to find enough candles.

use std::collections::BTreeSet;
use std::ops::Range;

use market::{Candles, Date, Floors, Grain, Minutes, Period, Session, Slot, Symbol, Timestamp, Venue, fold};
use store::{Series, SeriesInfo, Snapshot};

use crate::as_of::{AsOf, Edge, Horizon};
use crate::edge::Sources;
use crate::plan::{Plan, Rows, Take};
use crate::query::HistoryError;
use crate::read::{interleave, read_lanes};

const ALL: Rows = Rows::Forward(usize::MAX);
/// Factor by which the number of requested rows grows if a read did not find enough candles.
const MORE: usize = 4;

/// A query over mixed grains.
#[derive(Debug)]
pub(crate) struct Mixed<'a> {
    sources: Sources<'a>,
    as_of: AsOf,
    /// Coarse grains with their lanes, finest first.
    own: Vec<OwnLayer>,
    edge: Option<Edge>,
    /// Range that may be read: from the first candle of any layer to the last visible candle.
    extent: Range<Timestamp>,
}

#[derive(Debug)]
struct OwnLayer {
    length: Minutes,
    series: Vec<Series>,
}

/// One session of a trading day.
type SessionKey = (Date, Session);

impl<'a> Mixed<'a> {
    /// Creates the mixed query. Returns `None` if the query's window has no coarse candles.
    /// `all` contains the series of the security.
    pub(crate) fn of(
        sources: Sources<'a>,
        all: &[SeriesInfo],
        as_of: AsOf,
    ) -> Result<Option<Mixed<'a>>, HistoryError> {
        let (plan, venue) = (sources.plan, sources.venue);
        if plan.sources.is_empty() {
            return Ok(None);
        }
        let wanted = |info: &&SeriesInfo, grain: Grain| {
            info.series.grain == grain && plan.series.iter().any(|series| series.lane == info.series.lane)
        };
        let Horizon { until, edge } = as_of.horizon(venue, plan.period, Floors::NONE);
        // The plan's edge is earlier if roll-ups are missing.
        let edge = plan.edge.clone().into_iter().chain(edge).min_by_key(|edge| edge.from);
        let (mut own, mut coarse): (Vec<OwnLayer>, Vec<&SeriesInfo>) = (Vec::new(), Vec::new());
        for grain in plan.period.own_sources() {
            let of_grain: Vec<&SeriesInfo> = all.iter().filter(|info| wanted(info, grain)).collect();
            if let (Some(length), false) = (grain.length(), of_grain.is_empty()) {
                own.push(OwnLayer {
                    length,
                    series: of_grain.iter().map(|info| info.series.clone()).collect(),
                });
                coarse.extend(of_grain);
            }
        }
        let minutes = |info: &&SeriesInfo| wanted(info, Grain::Minute) || wanted(info, plan.period.source());
        let infos = || coarse.iter().copied().chain(all.iter().filter(minutes));
        let (Some(first), Some(last)) =
            (infos().map(|info| info.first).min(), infos().map(|info| info.last).max())
        else {
            return Ok(None);
        };
        let extent = first..until.min(Timestamp(last.0.saturating_add(1)));
        let window = within(&plan.sources, &extent);
        if window.is_empty() {
            return Ok(None);
        }
        let days = whole_days(venue, &window);
        let is_mixed = coarse.iter().any(|info| info.first < days.end && info.last >= days.start);
        Ok(is_mixed.then_some(Mixed { sources, as_of, own, edge, extent }))
    }

    /// Reads the plan's source candles, at least as many as the plan needs. The candles have mixed
    /// grains, so the caller must fold them.
    pub(crate) fn read(&self) -> Result<Candles, HistoryError> {
        let plan = self.sources.plan;
        let whole = within(&plan.sources, &self.extent);
        let (Take::First(count) | Take::Last(count)) = plan.take;
        let mut wanted = count;
        loop {
            let window = self.window(&whole, wanted)?;
            let mut candles = self.select(&window)?;
            let at = |stamp: Timestamp| candles.time.partition_point(|time| *time < stamp.0);
            let rows = at(window.start)..at(window.end);
            candles.retain_rows(rows);
            if window == whole || self.folded(&candles)? >= count {
                return Ok(candles);
            }
            wanted = wanted.saturating_mul(MORE);
        }
    }

    /// Returns the part of the window `whole` in which at least one layer has enough rows for
    /// `wanted` candles, extended to whole trading days. The part is at the start or at the end of
    /// `whole`, depending on the plan's `take`.
    fn window(&self, whole: &Range<Timestamp>, wanted: usize) -> Result<Range<Timestamp>, HistoryError> {
        let plan = self.sources.plan;
        let base = (plan.period.source().length(), plan.series.as_slice());
        let own = self.own.iter().map(|layer| (Some(layer.length), layer.series.as_slice()));
        let mut ends: Vec<Timestamp> = Vec::new();
        for (length, series) in std::iter::once(base).chain(own) {
            let rows = wanted.saturating_mul(rows_a_candle(plan.period, length));
            for series in series {
                ends.push(self.enough(series, whole, rows)?);
            }
        }
        let venue = self.sources.venue;
        Ok(match plan.take {
            Take::Last(_) => {
                let from = ends.into_iter().max().unwrap_or(whole.start);
                let days = whole_days(venue, &(from..whole.end));
                days.start.max(whole.start)..whole.end
            }
            Take::First(_) => {
                let until = ends.into_iter().min().unwrap_or(whole.end);
                let days = whole_days(venue, &(whole.start..until));
                whole.start..days.end.min(whole.end)
            }
        })
    }

    /// Returns the stamp up to which a series must be read to get `rows` rows, or the far end of
    /// `whole` if the series has fewer rows.
    fn enough(
        &self,
        series: &Series,
        whole: &Range<Timestamp>,
        rows: usize,
    ) -> Result<Timestamp, HistoryError> {
        let snapshot = self.sources.snapshot;
        let (entries, end) = match self.sources.plan.take {
            Take::Last(_) => (snapshot.blocks_back(series, whole.end, rows)?, whole.start),
            Take::First(_) => (snapshot.blocks_forward(series, whole.start, rows)?, whole.end),
        };
        let found: usize = entries.iter().map(|entry| entry.rows as usize).sum();
        if found < rows {
            return Ok(end);
        }
        let reached = match self.sources.plan.take {
            Take::Last(_) => entries.first().map(|entry| entry.first.max(whole.start)),
            Take::First(_) => {
                entries.last().map(|entry| Timestamp(entry.last.0.saturating_add(1)).min(whole.end))
            }
        };
        Ok(reached.unwrap_or(end))
    }

    /// Selects the candles to use in the whole trading days around a window.
    fn select(&self, window: &Range<Timestamp>) -> Result<Candles, HistoryError> {
        let venue = self.sources.venue;
        let days = within(&whole_days(venue, window), &self.extent);
        let minutes = self.minutes(&days)?;
        let mut taken = Taken::new(venue);
        taken.add(&minutes);
        let mut chosen = minutes;
        for layer in &self.own {
            let mut candles = read_lanes(self.sources.snapshot, &layer.series, days.clone(), ALL)?;
            self.as_of.hide_running(venue, layer.length, &mut candles);
            let free = taken.free(&candles);
            taken.add(&free);
            chosen = if chosen.is_empty() { free } else { interleave(&chosen, &free) };
        }
        Ok(chosen)
    }

    /// Reads one-minute candles, or roll-ups where they are complete.
    fn minutes(&self, window: &Range<Timestamp>) -> Result<Candles, HistoryError> {
        let edge = self.edge.clone().filter(|edge| edge.from < window.end);
        let plan = Plan { sources: window.clone(), edge, rows: ALL, ..self.sources.plan.clone() };
        Sources { plan: &plan, ..self.sources }.read()
    }

    /// Returns the number of candles within the plan's stamps after folding.
    fn folded(&self, candles: &Candles) -> Result<usize, HistoryError> {
        let Sources { venue, symbol, plan, .. } = self.sources;
        let folded = fold::fold(venue, plan.period, candles)
            .map_err(|source| HistoryError::Overflow { symbol: symbol.clone(), source })?;
        let at = |stamp: Timestamp| folded.time.partition_point(|time| *time < stamp.0);
        Ok(at(plan.stamps.end).saturating_sub(at(plan.stamps.start)))
    }
}

/// Sessions for which candles have already been selected.
pub(crate) struct Taken<'a> {
    venue: &'a Venue,
    keys: BTreeSet<SessionKey>,
}

impl<'a> Taken<'a> {
    pub(crate) fn new(venue: &'a Venue) -> Taken<'a> {
        Taken { venue, keys: BTreeSet::new() }
    }

    pub(crate) fn add(&mut self, candles: &Candles) {
        let mut slot = None;
        for time in &candles.time {
            let before = slot;
            if let Some(key) = self.key(*time, &mut slot)
                && slot != before
            {
                self.keys.insert(key);
            }
        }
    }

    /// Returns the candles of sessions that are not in the set. Stamps outside all sessions are
    /// dropped.
    pub(crate) fn free(&self, candles: &Candles) -> Candles {
        let mut slot = None;
        candles
            .iter()
            .filter(|candle| self.key(candle.time.0, &mut slot).is_some_and(|key| !self.keys.contains(&key)))
            .collect()
    }

    /// Returns the session of a stamp, or `None` if the stamp is outside all sessions. `slot`
    /// caches the last segment, because adjacent stamps are mostly in the same segment.
    fn key(&self, time: i64, slot: &mut Option<Slot>) -> Option<SessionKey> {
        let at = Timestamp(time);
        if !slot.is_some_and(|slot| slot.holds(at)) {
            *slot = self.venue.slot(at);
        }
        slot.map(|slot| (slot.day, slot.segment.session))
    }
}

/// Returns an upper bound for the number of source candles of a length in one candle of a period.
fn rows_a_candle(period: Period, length: Option<Minutes>) -> usize {
    match (period, length) {
        (Period::Clock(minutes), Some(length)) => usize::from(minutes.get() / length.get().max(1)) + 1,
        _ => 1,
    }
}

fn within(window: &Range<Timestamp>, bounds: &Range<Timestamp>) -> Range<Timestamp> {
    let start = window.start.max(bounds.start);
    start..window.end.min(bounds.end).max(start)
}

/// Extends a window to whole trading days. An evening may belong to the next trading day, and a
/// night to the session of the previous evening.
fn whole_days(venue: &Venue, window: &Range<Timestamp>) -> Range<Timestamp> {
    let zone = venue.zone();
    let first = zone.date(window.start);
    let last = zone.date(window.end);
    let after = |date: Date| date.tomorrow().unwrap_or(date);
    zone.midnight(first.yesterday().unwrap_or(first))..zone.midnight(after(after(last)))
}

/// Returns whether a security has coarse candles.
pub(crate) fn has_own(snapshot: &Snapshot<'_>, symbol: &Symbol) -> Result<bool, HistoryError> {
    Ok(snapshot.series_of(symbol)?.iter().any(|info| info.series.grain.is_own()))
}
