use std::fmt;
use std::ops::Range;

use market::{Period, Span, Timestamp, Venue};
use store::Series;

use crate::as_of::{AsOf, Edge, Prefer};
use crate::query::{Anchor, COUNT_MAX, Direction, Query, Select};

/// How a query will be answered. Every decision is made here, before anything is read; `read.rs`
/// executes the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One series per requested lane; their candles are merged by time.
    pub series: Vec<Series>,
    pub period: Period,
    /// Half-open range of stamps in the answer.
    pub stamps: Range<Timestamp>,
    /// Half-open range of source candles that can contribute.
    pub sources: Range<Timestamp>,
    /// Where stored candles become incomplete, if the sources extend that far.
    pub edge: Option<Edge>,
    /// Upper bound for the number of source candles needed.
    pub rows: Rows,
    pub take: Take,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Count backwards from the end of the sources.
    Back(usize),
    /// Count forwards from the start of the sources.
    Forward(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    First(usize),
    Last(usize),
}

/// Maximum age of folds of trades, in seconds. A query that ends earlier does not check for trades.
const RECENT: i64 = 10 * 86_400;
const ALWAYS: Timestamp = Timestamp(i64::MIN);

impl Take {
    /// Returns a `Take` from the same end, with another count.
    pub(crate) fn of(self, count: usize) -> Take {
        match self {
            Take::First(_) => Take::First(count),
            Take::Last(_) => Take::Last(count),
        }
    }

    /// Returns the number of source candles that is sufficient for a period, and the direction to
    /// count in.
    fn rows(self, period: Period) -> Rows {
        match self {
            Take::First(count) => Rows::Forward(count.saturating_add(1).saturating_mul(period.sources_max())),
            Take::Last(count) => Rows::Back(count.saturating_mul(period.sources_max())),
        }
    }
}

impl Plan {
    pub fn of(query: &Query, venue: &Venue, as_of: AsOf) -> Plan {
        let (stamps, take) = selected(query, venue, as_of);
        Plan::over(query, venue, as_of, stamps, take)
    }

    /// Plans a query over any range of stamps, even one that a client cannot request. Used for
    /// paging and export.
    pub fn over(query: &Query, venue: &Venue, as_of: AsOf, stamps: Range<Timestamp>, take: Take) -> Plan {
        let period = query.period;
        let grain = period.source();
        let lanes = query.sessions.lanes(period, query.symbol.market());
        let series =
            lanes.iter().map(|lane| Series { symbol: query.symbol.clone(), grain, lane: *lane }).collect();
        let stamps = stamps.start..stamps.end.min(Timestamp(as_of.now().0.saturating_add(1)));
        let floor = venue.served_from(query.floors, period);
        let horizon = as_of.horizon(venue, period, query.floors);
        // The sources extend to the end of the last candle's bucket, but not beyond what is
        // visible.
        let until = match stamps.end.0.checked_sub(1).map(Timestamp) {
            Some(last) if stamps.start < stamps.end => bucket_end(venue, period, last).min(horizon.until),
            _ => stamps.start,
        };
        let sources = stamps.start.max(floor)..until;
        let edge = horizon.edge.filter(|edge| edge.from < sources.end && !sources.is_empty());
        Plan { series, period, sources, stamps, edge, rows: take.rows(period), take }
    }

    /// Returns the range of one-minute stamps in which folds of minutes without a candle are part
    /// of the response. Returns `None` if the plan does not include the newest days.
    pub(crate) fn folds_within(&self, as_of: AsOf) -> Option<Range<Timestamp>> {
        let window = match (self.period, &self.edge) {
            (Period::Clock(_), _) => self.sources.clone(),
            (Period::Calendar(_), Some(edge)) => edge.minutes.clone(),
            (Period::Calendar(_), None) => return None,
        };
        let is_recent = window.end.0.saturating_add(RECENT) > as_of.now().0;
        Some(window).filter(|window| is_recent && window.start < window.end)
    }

    /// Returns this plan, with an edge that includes the fold of a minute.
    pub(crate) fn including(&self, venue: &Venue, stamp: Timestamp, as_of: AsOf) -> Plan {
        let from = match self.period {
            Period::Calendar(_) => return self.clone(),
            Period::MINUTE => stamp,
            Period::Clock(length) => venue.slot(stamp).map_or(stamp, |slot| slot.bucket(length, stamp).0),
        };
        let from = self.edge.iter().map(|edge| edge.from).chain([from]).min().unwrap_or(from);
        Plan { edge: Some(as_of.clock_edge(venue, from)), ..self.clone() }
    }

    /// Returns this plan, limited to `count` candles.
    pub(crate) fn keeping(self, count: usize) -> Plan {
        let take = self.take.of(count);
        Plan { rows: take.rows(self.period), take, ..self }
    }

    /// Returns the series whose stored candles are served without folding or merging; `None` if
    /// there is no such series. Only candles at the edge may be replaced.
    pub fn stored(&self) -> Option<&Series> {
        let [series] = self.series.as_slice() else { return None };
        (self.period == series.grain.period()).then_some(series)
    }

    /// Returns the bound of `stamps` from which candles are taken: the start for [`Take::First`],
    /// the end for [`Take::Last`].
    pub(crate) fn begins_at(&self) -> Timestamp {
        match self.take {
            Take::First(_) => self.stamps.start,
            Take::Last(_) => self.stamps.end,
        }
    }

    /// Returns the stamps that remain after an answer, or `None` if the range is exhausted. `first`
    /// and `last` are the answer's first and last stamps.
    pub fn next(&self, first: Timestamp, last: Timestamp) -> Option<Range<Timestamp>> {
        let rest = match self.take {
            Take::First(_) => Timestamp(last.0 + 1)..self.stamps.end,
            Take::Last(_) => self.stamps.start..first,
        };
        (rest.start < rest.end).then_some(rest)
    }
}

/// Returns the half-open range of stamps that a query selects, and the end from which candles are
/// taken.
pub(crate) fn selected(query: &Query, venue: &Venue, as_of: AsOf) -> (Range<Timestamp>, Take) {
    let (zone, now) = (venue.zone(), as_of.now());
    let latest = || venue.latest_trading_day(now).unwrap_or_else(|| zone.date(now));
    let begin = |date| zone.midnight(date);
    let after = |date: market::Date| date.tomorrow().map_or(Timestamp(i64::MAX), |next| zone.midnight(next));
    let present = Timestamp(now.0.saturating_add(1));
    let minute = |date, minute: i32| zone.instant(date, i64::from(minute) * 60);
    match query.select {
        Select::Offset { direction: Direction::Past, anchor, count } => {
            let until = match anchor {
                Anchor::Latest => present,
                Anchor::Day(date) => after(date),
                Anchor::Minute(date, at) => Timestamp(minute(date, at).0 + 1),
                Anchor::LatestMinute(at) => Timestamp(minute(latest(), at).0 + 1),
            };
            (ALWAYS..until, Take::Last(count))
        }
        Select::Offset { direction: Direction::Present, anchor, count } => {
            let from = match anchor {
                Anchor::Latest => begin(latest()),
                Anchor::Day(date) => begin(date),
                Anchor::Minute(date, at) => minute(date, at),
                Anchor::LatestMinute(at) => minute(latest(), at),
            };
            (from..present, Take::First(count))
        }
        Select::Dates { start, end } => {
            let take = match (start, end) {
                // A range without an end is read from its start; any other range keeps its newest
                // candles.
                (Some(_), None) => Take::First(COUNT_MAX),
                _ => Take::Last(COUNT_MAX),
            };
            (start.map_or(ALWAYS, begin)..end.map_or(present, after), take)
        }
    }
}

/// Returns the first instant after the candle that contains `at`. Outside any candle, returns the
/// next second.
fn bucket_end(venue: &Venue, period: Period, at: Timestamp) -> Timestamp {
    let next = Timestamp(at.0.saturating_add(1));
    match period {
        Period::Clock(minutes) => venue.slot(at).map_or(next, |slot| slot.bucket(minutes, at).1.max(next)),
        Period::Calendar(Span::Day) => next,
        Period::Calendar(span) => {
            let first = span.floor(venue.zone().date(at));
            let beyond = first.checked_add(jiff_days(span.days_max()));
            beyond.map_or(Timestamp(i64::MAX), |day| venue.zone().midnight(span.floor(day)).max(next))
        }
    }
}

fn jiff_days(days: usize) -> market::DateSpan {
    market::DateSpan::new().days(i64::try_from(days).unwrap_or(i64::MAX))
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |range: &Range<Timestamp>| {
            let edge = |at: Timestamp| if at == ALWAYS { String::new() } else { at.to_string() };
            format!("{}..{}", edge(range.start), edge(range.end))
        };
        let names: Vec<String> = self.series.iter().map(Series::to_string).collect();
        write!(f, "{} {}", names.join(" + "), range(&self.sources))?;
        match self.rows {
            Rows::Back(rows) => write!(f, ", {rows} rows back")?,
            Rows::Forward(rows) => write!(f, ", {rows} rows forward")?,
        }
        if self.period != self.period.source().period() {
            write!(f, ", fold {}", self.period)?;
        }
        if let Some(edge) = &self.edge {
            write!(f, ", minutes {} from {} on", range(&edge.minutes), edge.from)?;
            if edge.prefer == Prefer::StoredThenMinutes {
                write!(f, " unless stored")?;
            }
            if edge.running_from < edge.minutes.end {
                write!(f, ", running from {}", edge.running_from)?;
            }
        }
        write!(f, ", stamps {}", range(&self.stamps))?;
        match self.take {
            Take::First(count) => write!(f, ", keep first {count}"),
            Take::Last(count) => write!(f, ", keep last {count}"),
        }
    }
}
