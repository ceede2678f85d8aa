//! Selects the days that are requested again, because sources correct recent history.

use market::{Date, Period, Timestamp, Venue};

use crate::DateRange;

/// Number of trading days whose daily candles are requested again.
pub const DAYS: usize = 10;
/// Number of trading days whose minute candles are requested again.
pub const MINUTE_DAYS: usize = 2;

/// The days that `mirror run` requests again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recheck {
    /// `--again`: the last trading days.
    Again,
    /// `--since`: all days since a date.
    Since(Date),
}

impl Recheck {
    /// Returns the dates of a period to request again, up to the latest trading day that has begun;
    /// `None` if there are none.
    pub fn range(self, venue: &Venue, period: Period, now: Timestamp) -> Option<DateRange> {
        let through = venue.rolled(now)?;
        let from = match self {
            Recheck::Since(date) => date,
            Recheck::Again => {
                let days = if period.is_clock() { MINUTE_DAYS } else { DAYS };
                let earlier = |date: &Date| venue.calendar().on_or_before(date.yesterday().ok()?);
                std::iter::successors(Some(through), earlier).take(days).last()?
            }
        };
        (from <= through).then_some(DateRange { from, through })
    }
}
