//! Reads the source candles of a plan, and folds one-minute candles where stored candles are
//! incomplete.

use std::ops::Range;

use market::{Candle, Candles, Date, Grain, Period, Symbol, Timestamp, Venue, fold};
use store::{Series, Snapshot};

use crate::as_of::{Edge, Prefer, RunningTrades, hide};
use crate::lane_of;
use crate::plan::{Plan, Rows};
use crate::query::HistoryError;
use crate::read::{interleave, read_back, read_lanes};
use crate::trade_blocks::TradedMinute;

const ALL: Rows = Rows::Forward(usize::MAX);

/// Inputs for reading the source candles of one query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    pub(crate) snapshot: &'a Snapshot<'a>,
    pub(crate) venue: &'a Venue,
    pub(crate) symbol: &'a Symbol,
    pub(crate) plan: &'a Plan,
    pub(crate) trades: RunningTrades,
    /// The folds of minutes with trades and without a stored candle.
    pub(crate) traded: &'a Candles,
}

impl Sources<'_> {
    /// Reads the plan's source candles, including the folded candles at its edge.
    pub(crate) fn read(&self) -> Result<Candles, HistoryError> {
        let plan = self.plan;
        let Some(edge) = &plan.edge else { return self.stored(plan) };
        let start = plan.sources.start;
        let finished = Plan { sources: start..edge.from.max(start), edge: None, ..plan.clone() };
        let mut candles = self.stored(&finished)?;
        match plan.period {
            Period::Clock(_) => candles.append(&self.running(edge)?),
            // The edge is the start of a day. If the sources start later, no candle of that day is
            // needed.
            Period::Calendar(_) if edge.from < start => {}
            Period::Calendar(_) => candles = self.days(edge, candles)?,
        }
        Ok(candles)
    }

    /// Returns only the candles at the edge, folded and cut to the plan's stamps. The caller serves
    /// all other candles of the plan unchanged.
    pub(crate) fn made(&self, edge: &Edge) -> Result<Candles, HistoryError> {
        let plan = self.plan;
        let mut made = match plan.period {
            Period::Calendar(_) if edge.from < plan.sources.start => Candles::default(),
            Period::Calendar(_) => self.days(edge, Candles::default())?,
            Period::MINUTE => self.running(edge)?,
            Period::Clock(_) => fold::fold(self.venue, plan.period, &self.running(edge)?)
                .map_err(|source| self.overflow(source))?,
        };
        let at = |stamp: Timestamp| made.time.partition_point(|time| *time < stamp.0);
        let rows = at(plan.stamps.start)..at(plan.stamps.end);
        made.retain_rows(rows);
        Ok(made)
    }

    fn stored(&self, plan: &Plan) -> Result<Candles, HistoryError> {
        match read_back(self.snapshot, plan)? {
            Some((_, candles)) => Ok(candles),
            None => read_lanes(self.snapshot, &plan.series, plan.sources.clone(), plan.rows),
        }
    }

    fn minutes(&self, window: Range<Timestamp>) -> Result<Candles, HistoryError> {
        let minutes = |series: &Series| Series { grain: Grain::Minute, ..series.clone() };
        let series: Vec<Series> = self.plan.series.iter().map(minutes).collect();
        let stored = read_lanes(self.snapshot, &series, window.clone(), ALL)?;
        let at = |stamp: Timestamp| self.traded.time.partition_point(|time| *time < stamp.0);
        let mut folds = self.traded.clone();
        folds.retain_rows(at(window.start)..at(window.end).max(at(window.start)));
        Ok(if folds.is_empty() { stored } else { interleave(&stored, &folds) })
    }

    /// Reads the one-minute candles that replace an unfinished roll-up, or that are still running.
    fn running(&self, edge: &Edge) -> Result<Candles, HistoryError> {
        let Range { start, end } = self.plan.sources;
        let mut candles = self.minutes(edge.minutes.start.max(start)..edge.minutes.end.min(end))?;
        self.hide_running(edge, &mut candles)?;
        Ok(candles)
    }

    /// Reduces the running minute to its trades so far, or to its open if no trades are stored.
    fn hide_running(&self, edge: &Edge, minutes: &mut Candles) -> Result<(), HistoryError> {
        let row = edge.running_row(minutes);
        let Some(stamp) = minutes.time.get(row) else { return Ok(()) };
        let traded = match self.trades {
            RunningTrades::Hidden => TradedMinute::Untraded,
            RunningTrades::Shown => TradedMinute::read(
                self.snapshot,
                self.venue,
                self.symbol,
                Timestamp(*stamp),
                edge.minutes.end,
            )?,
        };
        match traded {
            TradedMinute::Untraded => hide(self.venue, minutes, row),
            TradedMinute::Traded(traded) => {
                minutes.truncate(row);
                traded.published.into_iter().for_each(|published| minutes.push(published.candle));
            }
        }
        Ok(())
    }

    /// Merges stored days with days folded from minutes: today, and any earlier day of a longer
    /// candle that is not stored.
    fn days(&self, edge: &Edge, stored: Candles) -> Result<Candles, HistoryError> {
        let today = match edge.prefer {
            Prefer::Minutes => Candles::default(),
            Prefer::MinutesThenStored | Prefer::StoredThenMinutes => {
                read_lanes(self.snapshot, &self.plan.series, edge.from..self.plan.sources.end, ALL)?
            }
        };
        let mut made = Candles::default();
        for window in self.missing(edge, &stored, &today) {
            let mut minutes = self.minutes(window)?;
            self.hide_running(edge, &mut minutes)?;
            fold_days(self.venue, &minutes, &mut made).map_err(|source| self.overflow(source))?;
        }
        let is_made = made.time.last().is_some_and(|time| *time >= edge.from.0);
        let mut days = if made.is_empty() { stored } else { interleave(&stored, &made) };
        if !is_made {
            days.append(&today);
        }
        Ok(days)
    }

    /// Returns the time windows of trading days that have no stored daily candle and must be folded
    /// from one-minute candles. Adjacent days share a window.
    fn missing(&self, edge: &Edge, stored: &Candles, today: &Candles) -> Vec<Range<Timestamp>> {
        let zone = self.venue.zone();
        let end_of = |date: Date| date.tomorrow().map_or(Timestamp(i64::MAX), |next| zone.midnight(next));
        let is_stored = |at: Timestamp| match at < edge.from {
            true => stored.time.binary_search(&at.0).is_ok(),
            false => edge.prefer == Prefer::StoredThenMinutes && !today.is_empty(),
        };
        // Days before the source range are not needed, even if a candle in the range includes them.
        let (first, last) =
            (zone.date(edge.minutes.start.max(self.plan.sources.start)), zone.date(edge.from));
        let mut windows: Vec<Range<Timestamp>> = Vec::new();
        let mut was_missing = false;
        for (date, _) in self.venue.calendar().days(first, last) {
            let midnight = zone.midnight(date);
            let is_missing = !is_stored(midnight);
            let window = midnight.max(edge.minutes.start)..end_of(date).min(edge.minutes.end);
            match windows.last_mut() {
                Some(before) if is_missing && was_missing => before.end = window.end,
                _ if is_missing => windows.push(window),
                _ => {}
            }
            was_missing = is_missing;
        }
        windows
    }

    fn overflow(&self, source: fold::Overflow) -> HistoryError {
        HistoryError::Overflow { symbol: self.symbol.clone(), source }
    }
}

/// Returns the folds of trades whose minutes are within a window, in the lanes of the given series,
/// and without a stored candle.
pub(crate) fn without_candle(
    snapshot: &Snapshot<'_>,
    series: &[Series],
    window: &Range<Timestamp>,
    folds: &Candles,
) -> Result<Candles, HistoryError> {
    let series: Vec<Series> =
        series.iter().map(|series| Series { grain: Grain::Minute, ..series.clone() }).collect();
    let is_shown = |candle: &Candle| {
        window.contains(&candle.time) && series.iter().any(|series| series.lane == lane_of(candle.session))
    };
    let folds: Candles = folds.iter().filter(is_shown).collect();
    let (Some(first), Some(last)) = (folds.time.first(), folds.time.last()) else { return Ok(folds) };
    let window = Timestamp(*first)..Timestamp(last.saturating_add(1));
    let stored = read_lanes(snapshot, &series, window, ALL)?;
    Ok(folds.iter().filter(|fold| stored.time.binary_search(&fold.time.0).is_err()).collect())
}

/// Folds the one-minute candles of each day into one daily candle.
fn fold_days(venue: &Venue, minutes: &Candles, days: &mut Candles) -> Result<(), fold::Overflow> {
    let mut start = 0;
    while let Some(time) = minutes.time.get(start) {
        let date = venue.zone().date(Timestamp(*time));
        let until = date.tomorrow().map_or(Timestamp(i64::MAX), |next| venue.zone().midnight(next));
        let end = minutes.time.partition_point(|time| *time < until.0).max(start + 1);
        let mut day = minutes.clone();
        day.retain_rows(start..end);
        days.append(&fold::fold_whole(venue.zone().midnight(date), &day)?);
        start = end;
    }
    Ok(())
}
