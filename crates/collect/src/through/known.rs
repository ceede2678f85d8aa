//! What read-through remembers of a series, so that it is not requested again.

use market::{Date, Timestamp, Venue};
use mirror::{DateRange, gaps};

use super::Part;
use super::wanted::settled_day;
use crate::jobs::merged;

/// Minimum time between two requests for the newest candles of a series, in seconds.
const NEWEST_EVERY_S: u64 = 60;

/// What is known of a series since the start of the process.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Days that need not be requested.
    complete: Vec<DateRange>,
    /// Time of the last request.
    tried_at: Option<Timestamp>,
}

impl Known {
    /// Returns whether the series was requested recently. `now` may be earlier than the request: a
    /// client's request may have begun before another one was answered.
    pub(super) fn is_tried(&self, now: Timestamp) -> bool {
        self.tried_at.is_some_and(|at| at.0.abs_diff(now.0) < NEWEST_EVERY_S)
    }

    /// Returns the days of a range to request. Days of which the source may not have candles yet are
    /// left out if they were requested recently.
    pub(super) fn open_days(&self, venue: &Venue, range: DateRange, now: Timestamp) -> Vec<DateRange> {
        let mut open = open_days(venue, range, &self.complete);
        if self.is_tried(now) {
            let settled = settled_day(venue, now);
            open.retain(|gap| settled.is_some_and(|settled| gap.from <= settled));
        }
        open
    }

    /// Returns the days to request of those that the store did not have, or `None` if another request
    /// has fetched them since the store was read. Data without days has no ranges.
    pub(super) fn still_missing(
        &self,
        venue: &Venue,
        part: Part,
        ranges: &[DateRange],
        now: Timestamp,
    ) -> Option<Vec<DateRange>> {
        if ranges.is_empty() {
            return (!self.is_tried(now)).then(Vec::new);
        }
        let days = |range: &DateRange| self.open_days(venue, *range, now);
        let open: Vec<DateRange> = match part {
            // Their first days are compared with known ones, so the ranges remain whole.
            Part::AdjustedDays => ranges.iter().filter(|range| !days(range).is_empty()).copied().collect(),
            _ => ranges.iter().flat_map(days).collect(),
        };
        (!open.is_empty()).then_some(open)
    }

    /// Notes that days are stored.
    pub(super) fn add(&mut self, venue: &Venue, range: DateRange) {
        let ranges = std::mem::take(&mut self.complete);
        self.complete = merged(venue, ranges.into_iter().chain([range]));
    }

    /// Notes the answer to a request. Days that the source may complete later are not added.
    pub(super) fn answered(&mut self, venue: &Venue, ranges: &[DateRange], at: Timestamp) {
        self.tried_at = Some(at);
        let settled = settled_day(venue, at).unwrap_or(Date::MIN);
        for range in ranges {
            let through = range.through.min(settled);
            if range.from <= through {
                self.add(venue, DateRange { through, ..*range });
            }
        }
    }
}

/// Returns the parts of a range with trading days that `complete` does not contain.
pub(super) fn open_days(venue: &Venue, range: DateRange, complete: &[DateRange]) -> Vec<DateRange> {
    let has_days = |gap: &DateRange| venue.calendar().days(gap.from, gap.through).next().is_some();
    gaps(range, complete.iter().copied()).into_iter().filter(has_days).collect()
}
