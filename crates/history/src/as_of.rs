//! Decides which stored candles are visible at an instant.
//!
//! A store may hold candles later than the query's clock: during a replay at 09:30, the whole day
//! may already be stored. Every query takes an [`AsOf`] instead of `now`, and only this file
//! decides which stored candles are complete at that instant, and how incomplete candles are
//! replaced. High, low, close and volume are unknown until a candle is complete:
//!
//! - a one-minute candle is complete after its minute; until then it shows its open, or the fold of
//!   its trades so far if single trades of that minute are stored,
//! - a minute with trades and without a candle shows the fold of its trades (`traded.rs`),
//! - a closing candle after the tail of its segment,
//! - a coarse candle after its last minute,
//! - a daily candle after the regular hours of its day.

use std::ops::Range;

use market::{Candles, Date, Floors, Grain, Minutes, Period, Span, Timestamp, Venue};
use store::SeriesInfo;

/// Instant of a query, and the kind of clock it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// Real time: every stored candle has already begun.
    Live(Timestamp),
    /// Simulated time: later candles may be stored, but must not be returned.
    Replay(Timestamp),
}

/// Whether a replay shows single trades before their minute is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunningTrades {
    /// From their own second, even while the minute is still running.
    #[default]
    Shown,
    /// Only together with their complete minute, so that no trade reveals which orders the minute
    /// will fill.
    Hidden,
}

/// Boundary after which the stored candles of a grain are incomplete, and the one-minute candles
/// that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Stored candles with this or a later stamp are not served unchanged.
    pub from: Timestamp,
    /// Half-open range of one-minute candles that are folded as a replacement.
    pub minutes: Range<Timestamp>,
    /// Minutes stamped here or later are still running; only their open and their trades so far are
    /// known.
    pub running_from: Timestamp,
    pub prefer: Prefer,
}

/// Which candle is served at an [`Edge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// The candle folded from one-minute candles. Without one-minute candles, no candle is served.
    Minutes,
    /// The candle folded from one-minute candles, or the stored candle if there are no one-minute
    /// candles.
    MinutesThenStored,
    /// The stored candle, because its day is completed, or the candle folded from one-minute
    /// candles until the daily candle is imported.
    StoredThenMinutes,
}

/// Limits for reading the stored candles of a grain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// Exclusive upper bound for the stamps that may be shown.
    pub(crate) until: Timestamp,
    pub(crate) edge: Option<Edge>,
}

/// Seconds per minute.
const MINUTE: i64 = 60;

impl AsOf {
    pub fn now(self) -> Timestamp {
        match self {
            AsOf::Live(now) | AsOf::Replay(now) => now,
        }
    }

    /// Returns whether everything visible at `other` is also visible at `self`.
    pub fn includes(self, other: AsOf) -> bool {
        match (self, other) {
            (AsOf::Live(_), _) => true,
            (AsOf::Replay(_), AsOf::Live(_)) => false,
            (AsOf::Replay(now), AsOf::Replay(other)) => other <= now,
        }
    }

    /// Returns whether the regular hours of a date are over, including the closing tail.
    pub fn is_over(self, venue: &Venue, date: Date) -> bool {
        venue.day_end(date) <= self.now()
    }

    /// Returns whether a quote should use the one-minute candles of the date `minutes` instead of
    /// the newest daily candle, whose date is `day`: either the daily candle is older, or its day
    /// is not completed and the running minute has a newer price.
    pub(crate) fn prefers_minutes(self, venue: &Venue, day: Date, minutes: Date) -> bool {
        minutes > day || (minutes == day && !self.is_over(venue, day))
    }

    /// Returns whether at least one candle of a series is visible.
    pub fn shows(self, venue: &Venue, series: &SeriesInfo) -> bool {
        series.first < self.known_until(venue, series.series.grain)
    }

    /// Returns the exclusive upper bound for visible stored candles of a grain. Running one-minute
    /// and coarse candles are visible (by their open). An unfinished roll-up or daily candle is not
    /// visible, because queries fold it from one-minute candles.
    pub fn known_until(self, venue: &Venue, grain: Grain) -> Timestamp {
        match (self, grain) {
            (AsOf::Live(_), _) => Timestamp(i64::MAX),
            (AsOf::Replay(_), grain) if grain == Grain::Minute || grain.is_own() => {
                venue.closing(self.now()).unwrap_or(self.minutes(venue).shown_until)
            }
            (AsOf::Replay(_), _) => {
                let Horizon { until, edge } = self.horizon(venue, grain.period(), Floors::NONE);
                edge.filter(|edge| edge.prefer == Prefer::Minutes).map_or(until, |edge| edge.from)
            }
        }
    }

    /// Returns the second after `now`, the exclusive end of a range that includes `now`.
    fn next(self) -> Timestamp {
        Timestamp(self.now().0.saturating_add(1))
    }

    /// Returns the stamps up to which one-minute candles are complete, and up to which they are
    /// visible.
    fn minutes(self, venue: &Venue) -> MinutesKnown {
        let now = match self {
            AsOf::Live(now) => {
                let forming = venue.slot(now).map(|_| now);
                return MinutesKnown { forming, ..MinutesKnown::whole(self.next()) };
            }
            AsOf::Replay(now) => now,
        };
        if let Some(stamp) = venue.closing(now) {
            return MinutesKnown::running(stamp, self.next());
        }
        if venue.slot(now).is_some() {
            let running = Timestamp(now.0.saturating_sub(now.0.rem_euclid(MINUTE)));
            return MinutesKnown::running(running, self.next());
        }
        // No session is running. A stored one-minute candle outside the sessions is complete once
        // its minute has passed.
        MinutesKnown::whole(Timestamp(now.0.saturating_sub(MINUTE - 1)))
    }

    /// Reduces running coarse candles to their open. Does nothing for a live query.
    pub(crate) fn hide_running(self, venue: &Venue, length: Minutes, candles: &mut Candles) {
        let AsOf::Replay(_) = self else { return };
        let complete_until = self.minutes(venue).complete_until;
        let is_complete = |time: &i64| {
            let at = Timestamp(*time);
            let end = venue.slot(at).map_or(at.0.saturating_add(i64::from(length.get()) * MINUTE), |slot| {
                slot.bucket(length, at).1.0
            });
            // A coarse candle is complete when its last minute is.
            end.saturating_sub(MINUTE) < complete_until.0
        };
        let running = candles.time.partition_point(is_complete);
        hide(venue, candles, running);
    }

    /// Returns the exclusive end of the trades that are visible if trades are hidden until their
    /// minute or closing tail is complete.
    pub(crate) fn trades_complete_until(self, venue: &Venue) -> Timestamp {
        let known = self.minutes(venue);
        known.forming.map_or(self.next(), |_| known.complete_until)
    }

    /// Returns the limits for reading the stored source candles of a period. Daily candles folded
    /// from one-minute candles exclude minutes before the floor.
    pub(crate) fn horizon(self, venue: &Venue, period: Period, floors: Floors) -> Horizon {
        let length = match (self, period.source().period(), period) {
            (.., Period::Calendar(span)) => {
                return Horizon { until: self.next(), edge: self.day_edge(venue, span, floors) };
            }
            (AsOf::Live(_), Period::MINUTE, _) => return Horizon { until: self.next(), edge: None },
            (_, Period::Clock(length), _) | (_, _, Period::Clock(length)) => length,
        };
        let known = self.minutes(venue);
        let edge = known.forming.and_then(|forming| {
            let from = venue.slot(forming)?.bucket(length, forming).0;
            let minutes = from..known.shown_until;
            Some(Edge { from, minutes, running_from: known.complete_until, prefer: Prefer::Minutes })
        });
        Horizon { until: known.shown_until, edge }
    }

    /// Returns the edge of candles shorter than a day, for reads that start at the stamp `from`.
    pub(crate) fn clock_edge(self, venue: &Venue, from: Timestamp) -> Edge {
        let known = self.minutes(venue);
        let minutes = from..known.shown_until;
        Edge { from, minutes, running_from: known.complete_until, prefer: Prefer::Minutes }
    }

    /// Returns the edge for daily and longer candles. An unfinished day is folded from its regular
    /// minutes, including the running one, because quotes also include it. A completed day whose
    /// daily candle is not imported yet is also folded from its minutes. Within a longer candle
    /// that is still forming, the rule applies to each day: otherwise a week would lose its Monday
    /// if that daily candle is missing.
    fn day_edge(self, venue: &Venue, span: Span, floors: Floors) -> Option<Edge> {
        let today = venue.zone().date(self.now());
        let is_open = venue.calendar().kind(today).is_some();
        let known = self.minutes(venue);
        let prefer = match self {
            // A live feed updates the daily candle during the day. A closed day has no daily
            // candle.
            AsOf::Live(_) if !is_open => return None,
            AsOf::Live(_) => Prefer::MinutesThenStored,
            AsOf::Replay(_) => Prefer::Minutes,
        };
        let prefer = match self.is_over(venue, today) {
            true if !is_open => return None,
            true => Prefer::StoredThenMinutes,
            false => prefer,
        };
        let first = if is_open { span.floor(today) } else { today };
        let served_from = venue.served_from(floors, Period::MINUTE);
        let minutes = venue.zone().midnight(first).max(served_from)..known.shown_until;
        let from = venue.zone().midnight(today);
        Some(Edge { from, minutes, running_from: known.complete_until, prefer })
    }
}

/// Stamps up to which one-minute candles are complete, and up to which they are visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MinutesKnown {
    /// One-minute candles with an earlier stamp are complete.
    complete_until: Timestamp,
    /// Minutes with an earlier stamp are visible. Incomplete ones are reduced to their known part.
    shown_until: Timestamp,
    /// Instant within the one-minute candle that is currently forming, if any. Longer candles that
    /// contain this instant are also forming.
    forming: Option<Timestamp>,
}

impl MinutesKnown {
    fn whole(until: Timestamp) -> MinutesKnown {
        MinutesKnown { complete_until: until, shown_until: until, forming: None }
    }

    fn running(stamp: Timestamp, until: Timestamp) -> MinutesKnown {
        MinutesKnown { complete_until: stamp, shown_until: until, forming: Some(stamp) }
    }
}

impl Edge {
    /// Returns the first row that is not complete.
    pub(crate) fn running_row(&self, minutes: &Candles) -> usize {
        minutes.time.partition_point(|time| *time < self.running_from.0)
    }
}

/// Reduces the candles at row `start` and after it to their open. A closing candle is removed,
/// because it has no known open: all its trades come from the auction at the end of the tail.
pub(crate) fn hide(venue: &Venue, candles: &mut Candles, start: usize) {
    let is_tail = |time: &i64| {
        let at = Timestamp(*time);
        venue.slot(at).is_some_and(|slot| slot.is_tail(at))
    };
    let running = candles.time.get(start..).unwrap_or_default();
    let shown = running.iter().position(is_tail).unwrap_or(running.len());
    candles.truncate(start.saturating_add(shown));
    keep_opens(candles, start);
}

/// Sets high, low and close to the open, and volume and turnover to zero, starting at row `start`.
fn keep_opens(candles: &mut Candles, start: usize) {
    let Candles { open, high, low, close, volume, turnover, .. } = candles;
    let opens = open.get(start..).unwrap_or_default();
    for column in [high, low, close] {
        column.truncate(start);
        column.extend_from_slice(opens);
    }
    volume.iter_mut().skip(start).for_each(|volume| *volume = 0);
    turnover.iter_mut().skip(start).for_each(|turnover| *turnover = 0);
}
