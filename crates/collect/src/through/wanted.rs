//! The days that a query for candles needs from the source.

use history::{AsOf, Paging, Plan, Query, Take};
use market::{Date, Floors, Period, Session, Span, Timestamp, Venue};
use mirror::{DateRange, Sessions};

use crate::jobs::last_complete_day;

/// The days of a query, by the request that returns them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Days {
    /// Days that have ended.
    pub(super) ended: Option<DateRange>,
    /// Whether the query includes the current trading day.
    pub(super) has_today: bool,
    /// The latest day that has ended.
    pub(super) latest: Date,
}

/// Returns the trading hours to request for a query.
pub(super) fn sessions_of(query: &Query) -> Sessions {
    match query.sessions.lanes(query.period, query.symbol.market()) {
        [_] | [] => Sessions::Intraday,
        _ => Sessions::All,
    }
}

/// Returns the days that contain the candles of a query if every minute and day was traded. A
/// response over HTTP may have more candles than a query on a long connection, or begin where the
/// page before ended (`paging`).
pub(super) fn days(query: &Query, paging: Option<Paging>, venue: &Venue, now: Timestamp) -> Option<Days> {
    let plan = Plan::of(query, venue, AsOf::Live(now));
    let count = |count: usize| paging.map_or(count, |paging| paging.limit);
    let (mut start, mut end) = (plan.sources.start, plan.sources.end);
    let latest = last_complete_day(venue, now)?;
    let today = venue.rolled(now)?;
    let published = venue.served_from(Floors::published(venue.market()), query.period);
    start = start.max(published);
    let (from, through) = match plan.take {
        Take::Last(last) => {
            end = paging.and_then(|paging| paging.from).map_or(end, |from| from.min(end));
            let through = venue.rolled(Timestamp(end.0.saturating_sub(1)))?;
            let floor = venue.trading_day(start).unwrap_or_else(|| venue.zone().date(start));
            let earlier = std::iter::successors(Some(through), |date| date.yesterday().ok());
            let from = reached(query, venue, earlier.take_while(|date| *date >= floor), count(last));
            (from.unwrap_or(floor), through)
        }
        Take::First(first) => {
            start = paging.and_then(|paging| paging.from).map_or(start, |from| from.max(start));
            let last = venue.rolled(Timestamp(end.0.saturating_sub(1)))?;
            let from = venue.trading_day(start).unwrap_or_else(|| venue.zone().date(start));
            let later = std::iter::successors(Some(from), |date| date.tomorrow().ok());
            let through = reached(query, venue, later.take_while(|date| *date <= last), count(first));
            (from, through.unwrap_or(last))
        }
    };
    // A candle of a week or longer begins before the first day that is counted.
    let from = match query.period {
        Period::Clock(_) => from,
        Period::Calendar(span) => span.floor(from).max(venue.zone().date(start)),
    };
    if start >= end || from > through {
        return None;
    }
    let ended = DateRange { from, through: through.min(latest) };
    let has_today = today > latest && through >= today;
    let ended = Some(ended).filter(|ended| ended.from <= ended.through);
    Some(Days { ended, has_today, latest })
}

/// Returns the day on which a number of candles is reached, or `None` if the days have fewer. The
/// first bucket of a day may be shorter, so one more candle is counted.
fn reached(query: &Query, venue: &Venue, days: impl Iterator<Item = Date>, count: usize) -> Option<Date> {
    let is_all = sessions_of(query) == Sessions::All;
    let is_read = |session: Session| is_all || session == Session::Intraday;
    let minutes = |day: Date| -> usize {
        let segments = venue.hours(day).iter().filter(|segment| is_read(segment.session));
        segments.map(|segment| usize::try_from(segment.minutes()).unwrap_or(0)).sum()
    };
    let is_open = |day: Date| venue.calendar().kind(day).is_some();
    let mut rows = 0_usize;
    for day in days {
        rows = rows.saturating_add(match query.period {
            Period::Clock(_) if is_open(day) => minutes(day),
            Period::Calendar(Span::Day) if is_open(day) => 1,
            Period::Clock(_) | Period::Calendar(Span::Day) => 0,
            // All days are counted, so that no day of a long candle is left out.
            Period::Calendar(_) => 1,
        });
        let needed = match query.period {
            Period::Clock(length) => count.saturating_add(1).saturating_mul(usize::from(length.get())),
            Period::Calendar(span) => count.saturating_mul(span.days_max()),
        };
        if rows >= needed {
            return Some(day);
        }
    }
    None
}

/// Returns the last day of which the source is expected to have candles.
pub(super) fn settled_day(venue: &Venue, now: Timestamp) -> Option<Date> {
    last_complete_day(venue, Timestamp(now.0.saturating_sub(crate::jobs::SETTLED_AFTER_S)))
}
