//! Reads stored candles for the trading engine, which decides itself which candles are visible at
//! an instant. The candles are not adjusted, folded or limited by a clock, and options are read
//! like any other security.

use std::ops::{ControlFlow, Range};

use block::{Block, BlockError};
use market::{Candle, Candles, Date, Grain, Price, Session, Symbol, Timestamp};
use store::{Lane, Series, View};

use crate::as_of::AsOf;
use crate::lane_of;
use crate::query::HistoryError;
use crate::read::{History, interleave};

/// Maximum number of times that a search for the newest candle of a session skips the other session
/// of the lane.
const SHARED_LANE_STEPS: usize = 20;

impl History {
    /// Returns the one-minute candles of all sessions within a half-open window, sorted by time.
    /// The result is empty for an unknown symbol. Only pages that overlap the window are decoded.
    pub fn minutes(
        &self,
        view: &View,
        symbol: &Symbol,
        stamps: Range<Timestamp>,
    ) -> Result<Candles, HistoryError> {
        let mut merged = Candles::default();
        for info in view.series_of(symbol)? {
            if info.series.grain != Grain::Minute || info.last < stamps.start || info.first >= stamps.end {
                continue;
            }
            let lane = window(view, &info.series, &stamps)?;
            merged = if merged.is_empty() { lane } else { interleave(&merged, &lane) };
        }
        Ok(merged)
    }

    /// Returns the one-minute candles of all sessions within a half-open window. Minutes without a
    /// candle are folded from the trades that are visible at `as_of`.
    pub fn known_minutes(
        &self,
        view: &View,
        symbol: &Symbol,
        stamps: Range<Timestamp>,
        as_of: AsOf,
    ) -> Result<Candles, HistoryError> {
        let stored = self.minutes(view, symbol, stamps.clone())?;
        let folds = self.folds(view, symbol, as_of)?;
        let is_missing =
            |fold: &Candle| stamps.contains(&fold.time) && stored.time.binary_search(&fold.time.0).is_err();
        let folds: Candles = folds.iter().filter(is_missing).collect();
        Ok(if folds.is_empty() { stored } else { interleave(&stored, &folds) })
    }

    /// Returns the newest fold of trades of each minute of a session that is visible at `as_of`.
    /// The minute may also have a stored candle.
    pub fn last_fold_of(
        &self,
        view: &View,
        symbol: &Symbol,
        session: Session,
        as_of: AsOf,
    ) -> Result<Option<Candle>, HistoryError> {
        Ok(self.folds(view, symbol, as_of)?.iter().rfind(|fold| fold.session == session))
    }

    /// Returns the stored daily candles within a half-open window, not limited by a clock.
    pub fn days(
        &self,
        view: &View,
        symbol: &Symbol,
        stamps: Range<Timestamp>,
    ) -> Result<Candles, HistoryError> {
        window(view, &Series { symbol: symbol.clone(), grain: Grain::Day, lane: Lane::Regular }, &stamps)
    }

    /// Returns the latest one-minute candle of any session stamped at or before an instant.
    pub fn last_minute(
        &self,
        view: &View,
        symbol: &Symbol,
        at: Timestamp,
    ) -> Result<Option<Candle>, HistoryError> {
        let until = Timestamp(at.0.saturating_add(1));
        let mut last: Option<Candle> = None;
        for info in view.series_of(symbol)? {
            // A lane that ends earlier cannot have a newer candle.
            let is_newer = last.is_none_or(|last| info.last > last.time);
            if info.series.grain == Grain::Minute && info.first < until && is_newer {
                let of_lane = last_before(view, &info.series, until)?;
                last = last.into_iter().chain(of_lane).max_by_key(|candle| candle.time);
            }
        }
        Ok(last)
    }

    /// Returns the latest one-minute candle of a session stamped at or before an instant.
    pub fn last_minute_of(
        &self,
        view: &View,
        symbol: &Symbol,
        session: Session,
        at: Timestamp,
    ) -> Result<Option<Candle>, HistoryError> {
        let series = Series { symbol: symbol.clone(), grain: Grain::Minute, lane: lane_of(session) };
        let mut until = Timestamp(at.0.saturating_add(1));
        // The hours before and after regular hours share a lane, in which many days may have only
        // one of the two.
        for _ in 0..SHARED_LANE_STEPS {
            let Some(candle) = last_before(view, &series, until)? else { return Ok(None) };
            if candle.session == session {
                return Ok(Some(candle));
            }
            let slot = self.venue(symbol).slot(candle.time);
            until = slot.map_or(candle.time, |slot| slot.begins_at());
        }
        Ok(None)
    }

    /// Returns the last one-minute candle in the regular hours of a trading day, or `None` if there
    /// is none.
    pub fn last_regular_minute(
        &self,
        view: &View,
        symbol: &Symbol,
        date: Date,
    ) -> Result<Option<Candle>, HistoryError> {
        let venue = self.venue(symbol);
        let series = Series { symbol: symbol.clone(), grain: Grain::Minute, lane: Lane::Regular };
        let last = last_before(view, &series, venue.day_end(date))?;
        Ok(last.filter(|candle| venue.trading_day(candle.time) == Some(date)))
    }

    /// Returns the latest stored daily candle before a date, or `None` if there is none.
    pub fn last_day(&self, view: &View, symbol: &Symbol, date: Date) -> Result<Option<Candle>, HistoryError> {
        let series = Series { symbol: symbol.clone(), grain: Grain::Day, lane: Lane::Regular };
        last_before(view, &series, self.venue(symbol).zone().midnight(date))
    }

    /// Returns the close of a trading day's last regular one-minute candle. Falls back to the daily
    /// candle if no such candle is stored, and returns `None` without either.
    pub fn intraday_close(
        &self,
        view: &View,
        symbol: &Symbol,
        date: Date,
    ) -> Result<Option<Price>, HistoryError> {
        if let Some(minute) = self.last_regular_minute(view, symbol, date)? {
            return Ok(Some(minute.close));
        }
        let Ok(next) = date.tomorrow() else { return Ok(None) };
        let day = self.last_day(view, symbol, next)?;
        let zone = self.venue(symbol).zone();
        Ok(day.filter(|candle| zone.date(candle.time) == date).map(|candle| candle.close))
    }

    /// Returns the unadjusted daily closes from one date to another (exclusive), in one pass over
    /// their blocks.
    pub fn daily_closes(
        &self,
        view: &View,
        symbol: &Symbol,
        (from, until): (Date, Date),
    ) -> Result<Vec<(Date, Price)>, HistoryError> {
        let zone = self.venue(symbol).zone();
        let series = Series { symbol: symbol.clone(), grain: Grain::Day, lane: Lane::Regular };
        let days = window(view, &series, &(zone.midnight(from)..zone.midnight(until)))?;
        Ok(days.iter().map(|candle| (zone.date(candle.time), candle.close)).collect())
    }

    /// Returns the unadjusted close of the last day before a date that has candles: the close of
    /// its daily candle, or of its last regular one-minute candle if no daily candle is stored.
    pub fn close_before(
        &self,
        view: &View,
        symbol: &Symbol,
        date: Date,
    ) -> Result<Option<Price>, HistoryError> {
        let zone = self.venue(symbol).zone();
        let last = |grain| {
            let series = Series { symbol: symbol.clone(), grain, lane: Lane::Regular };
            last_before(view, &series, zone.midnight(date))
        };
        let (day, minute) = (last(Grain::Day)?, last(Grain::Minute)?);
        let is_newer = |minute: &Candle| day.is_none_or(|day| zone.date(minute.time) > zone.date(day.time));
        Ok(minute.filter(is_newer).or(day).map(|candle| candle.close))
    }
}

/// Returns the candles of a series within a half-open window.
fn window(view: &View, series: &Series, stamps: &Range<Timestamp>) -> Result<Candles, HistoryError> {
    let mut candles = Candles::default();
    for entry in view.blocks(series, Some(stamps.start), Some(stamps.end))? {
        let times = stamps.start.0..stamps.end.0;
        let read = |bytes: &[u8]| Block::parse(bytes)?.read(times, &mut candles);
        view.with_block(&entry, read)?.map_err(|source| damaged(series, entry.first, source))?;
    }
    Ok(candles)
}

/// Returns the newest candle of a series before `until`, or `None` if there is none, with one
/// statement and one decoded page.
fn last_before(view: &View, series: &Series, until: Timestamp) -> Result<Option<Candle>, HistoryError> {
    let mut found = Ok(None);
    view.bodies_back(series, until, |body| {
        found = last_row(body.bytes, until).map_err(|source| damaged(series, body.entry.first, source));
        // The newest block that starts before `until` contains the candle.
        ControlFlow::Break(())
    })?;
    found
}

fn last_row(bytes: &[u8], until: Timestamp) -> Result<Option<Candle>, BlockError> {
    let mut columns = Block::parse(bytes)?.columns()?;
    let rows = columns.rows_before(until.0)?;
    let mut last = Candles::default();
    columns.read_rows(rows.saturating_sub(1)..rows, &mut last)?;
    Ok(last.last())
}

fn damaged(series: &Series, at: Timestamp, source: BlockError) -> HistoryError {
    HistoryError::Damaged { series: series.clone(), at, source }
}
