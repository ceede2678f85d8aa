//! The part of the store that is known at an instant.
//!
//! A store may hold more than its clock allows: the candles of a whole day are stored while a
//! replay is at half past nine. Every query takes an [`AsOf`] instead of `now`, and this file alone
//! decides which stored candles are finished then, and what replaces those that are not. A candle
//! counts from the instant at which it is complete, because its high, low, close and volume are not
//! known before: a minute when it has passed, a closing candle when the tail of its segment is
//! over, a candle of a coarse file when the last minute in it is, a day candle when the regular
//! hours of its day are.

use std::ops::Range;

use market::{Candles, Date, Floors, Grain, Minutes, Period, Span, Timestamp, Venue};
use store::SeriesInfo;

/// The instant of a query, and the kind of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// By the machine's clock: everything stored has already happened.
    Live(Timestamp),
    /// By a simulated clock: later candles may be stored, and must not be returned.
    Replay(Timestamp),
}

/// Where stored candles of a grain stop being finished, and what replaces them from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Stored candles stamped from here on are not served unchanged.
    pub from: Timestamp,
    /// The one-minute candles that are folded to replace them, half-open.
    pub minutes: Range<Timestamp>,
    /// Minutes from here on are still running: only their open is known.
    pub running_from: Timestamp,
    pub prefer: Prefer,
}

/// Which candle is served at an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// The fold of the minutes, and nothing without minutes.
    Minutes,
    /// The fold of the minutes. Without minutes, the stored candle: it has arrived, and nothing
    /// contradicts it.
    MinutesThenStored,
    /// The stored candle: its day is over. Until it is imported, the fold of the minutes.
    StoredThenMinutes,
}

/// How far the stored candles of a grain may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// No candle stamped from here on may be shown.
    pub(crate) until: Timestamp,
    pub(crate) edge: Option<Edge>,
}

/// A minute, in seconds.
const MINUTE: i64 = 60;

impl AsOf {
    pub fn now(self) -> Timestamp {
        match self {
            AsOf::Live(now) | AsOf::Replay(now) => now,
        }
    }

    /// Whether everything that is known at `other` is known here, too.
    pub fn includes(self, other: AsOf) -> bool {
        match (self, other) {
            (AsOf::Live(_), _) => true,
            (AsOf::Replay(_), AsOf::Live(_)) => false,
            (AsOf::Replay(now), AsOf::Replay(other)) => other <= now,
        }
    }

    /// Whether the regular hours of a date are over, the closing tail included.
    pub fn is_over(self, venue: &Venue, date: Date) -> bool {
        venue.day_end(date) <= self.now()
    }

    /// Whether minutes of one date replace the newest daily candle in a quote: that candle is
    /// missing, or its day is not over, and the open of the running minute is a newer price.
    pub(crate) fn prefers_minutes(self, venue: &Venue, day: Date, minutes: Date) -> bool {
        minutes > day || (minutes == day && !self.is_over(venue, day))
    }

    /// Whether any candle of a series is known.
    pub fn shows(self, venue: &Venue, series: &SeriesInfo) -> bool {
        series.first < self.known_until(venue, series.series.grain)
    }

    /// Stored candles of a grain stamped from here on do not count. A running minute does, and so
    /// does a candle of a coarse file; an unfinished roll-up or day does not, because it is folded
    /// from minutes.
    pub fn known_until(self, venue: &Venue, grain: Grain) -> Timestamp {
        match (self, grain) {
            (AsOf::Live(_), _) => Timestamp(i64::MAX),
            (AsOf::Replay(_), grain) if grain == Grain::Minute || grain.is_own() => {
                self.minutes(venue).shown_until
            }
            (AsOf::Replay(_), _) => {
                let Horizon { until, edge } = self.horizon(venue, grain.period(), Floors::NONE);
                edge.filter(|edge| edge.prefer == Prefer::Minutes).map_or(until, |edge| edge.from)
            }
        }
    }

    /// The first instant after the present.
    fn next(self) -> Timestamp {
        Timestamp(self.now().0.saturating_add(1))
    }

    /// How far one-minute candles are known.
    fn minutes(self, venue: &Venue) -> MinutesKnown {
        let now = match self {
            AsOf::Live(now) => {
                let forming = venue.slot(now).map(|_| now);
                return MinutesKnown { forming, ..MinutesKnown::whole(self.next()) };
            }
            AsOf::Replay(now) => now,
        };
        if let Some(stamp) = venue.closing(now) {
            // A closing candle has no open to show: its trades come from an auction at the end of
            // the tail.
            return MinutesKnown { forming: Some(stamp), ..MinutesKnown::whole(stamp) };
        }
        if venue.slot(now).is_some() {
            let running = Timestamp(now.0.saturating_sub(now.0.rem_euclid(MINUTE)));
            return MinutesKnown {
                complete_until: running,
                shown_until: self.next(),
                forming: Some(running),
            };
        }
        // Nothing is running. A minute outside the sessions of this calendar is complete when it
        // has passed.
        MinutesKnown::whole(Timestamp(now.0.saturating_sub(MINUTE - 1)))
    }

    /// Hides what is not known yet of candles of a coarse file: a running candle has only an open,
    /// like a running minute.
    pub(crate) fn hide_running(self, venue: &Venue, length: Minutes, candles: &mut Candles) {
        let AsOf::Replay(_) = self else { return };
        let complete_until = self.minutes(venue).complete_until;
        let is_complete = |time: &i64| {
            let at = Timestamp(*time);
            let end = venue.slot(at).map_or(at.0.saturating_add(i64::from(length.get()) * MINUTE), |slot| {
                slot.bucket(length, at).1.0
            });
            // Complete with the last minute in it.
            end.saturating_sub(MINUTE) < complete_until.0
        };
        let running = candles.time.partition_point(is_complete);
        keep_opens(candles, running);
    }

    /// How far the stored source candles of a period may be read. Minutes before their own floor
    /// are in no day either.
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

    /// A day that is not over is built from its regular minutes, and so is one that is over until
    /// its daily candle is imported. In a longer candle that is still forming this applies to each
    /// of its days: otherwise a week would lose its Monday if the daily file is missing.
    fn day_edge(self, venue: &Venue, span: Span, floors: Floors) -> Option<Edge> {
        let today = venue.zone().date(self.now());
        let is_open = venue.calendar().kind(today).is_some();
        let (until, prefer) = match self {
            // A live feed sends a day candle that grows; on a day without trading there is none.
            AsOf::Live(_) if !is_open => return None,
            AsOf::Live(_) => (self.next(), Prefer::MinutesThenStored),
            AsOf::Replay(_) => (self.minutes(venue).complete_until, Prefer::Minutes),
        };
        let prefer = match self.is_over(venue, today) {
            true if !is_open => return None,
            true => Prefer::StoredThenMinutes,
            false => prefer,
        };
        let first = if is_open { span.floor(today) } else { today };
        let served_from = venue.served_from(floors, Period::MINUTE);
        let minutes = venue.zone().midnight(first).max(served_from)..until;
        Some(Edge { from: venue.zone().midnight(today), minutes, running_from: until, prefer })
    }
}

/// How far one-minute candles are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MinutesKnown {
    /// Those stamped before this are complete.
    complete_until: Timestamp,
    /// Those stamped before this may be shown, with only the open if they are not complete.
    shown_until: Timestamp,
    /// The minute whose longer candles are forming now, if any.
    forming: Option<Timestamp>,
}

impl MinutesKnown {
    fn whole(until: Timestamp) -> MinutesKnown {
        MinutesKnown { complete_until: until, shown_until: until, forming: None }
    }
}

impl Edge {
    /// Hides what is not known yet of running minutes.
    pub(crate) fn hide(&self, minutes: &mut Candles) {
        let start = minutes.time.partition_point(|time| *time < self.running_from.0);
        keep_opens(minutes, start);
    }
}

/// Reduces the candles from a row on to their open.
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
