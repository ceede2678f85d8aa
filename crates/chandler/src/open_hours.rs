//! The hours in which at least one market is open. The demo's clock runs through them and skips the
//! closed hours in between.

use std::ops::Range;

use jiff::ToSpan;
use market::{Market, Session, Timestamp, Venue, Venues};

/// Number of years for which open hours are computed. A clock stops at the end of these hours, or
/// at the end of the calendars. At ten times real speed, a year of open hours takes two weeks.
const YEARS: i64 = 1;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OpenHours {
    /// Open periods in Unix seconds, ascending and disjoint.
    spans: Vec<Range<i64>>,
}

impl OpenHours {
    /// Returns the regular hours of all markets starting at `from`, including closing auctions.
    pub(crate) fn since(venues: &Venues, from: Timestamp) -> OpenHours {
        let markets = [Market::Hk, Market::Us, Market::Cn].map(|market| venues.of(market));
        let mut regular: Vec<Range<i64>> = markets.iter().flat_map(|venue| regular(venue, from)).collect();
        regular.retain(|span| span.end > from.0);
        regular.sort_by_key(|span| (span.start, span.end));
        let mut spans: Vec<Range<i64>> = Vec::with_capacity(regular.len());
        for span in regular {
            match spans.last_mut().filter(|last| span.start <= last.end) {
                Some(last) => last.end = last.end.max(span.end),
                None => spans.push(span),
            }
        }
        OpenHours { spans }
    }

    /// Returns the instant after `seconds` of open hours starting at `from`. An instant in closed
    /// hours is moved to the next open; the end of a span counts as closed.
    pub(crate) fn after(&self, from: Timestamp, seconds: i64) -> Timestamp {
        let mut left = seconds;
        for span in self.spans.iter().filter(|span| span.end > from.0) {
            let start = span.start.max(from.0);
            let length = span.end - start;
            if left < length {
                return Timestamp(start + left);
            }
            left -= length;
        }
        let end = self.spans.last().map_or(from.0, |span| span.end);
        Timestamp(end.max(from.0))
    }

    /// Returns the number of open seconds between two instants.
    pub(crate) fn between(&self, from: Timestamp, to: Timestamp) -> i64 {
        let shared = |span: &Range<i64>| (span.end.min(to.0) - span.start.max(from.0)).max(0);
        self.spans.iter().take_while(|span| span.start < to.0).map(shared).sum()
    }
}

fn regular(venue: &Venue, from: Timestamp) -> Vec<Range<i64>> {
    let first = venue.zone().date(from);
    let through = first.saturating_add(YEARS.years());
    let days = venue.calendar().days(first, through).filter_map(|(date, _)| venue.day(date));
    days.flat_map(|day| {
        let regular = day.segments.iter().filter(|segment| segment.session == Session::Intraday);
        let span = |start, end| day.at(start).0..day.at(end).0;
        regular.map(|segment| span(segment.start, segment.end + segment.tail)).collect::<Vec<_>>()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_second())
    }

    fn hours(from: &str) -> OpenHours {
        OpenHours::since(&Venues::built_in().unwrap(), at(from))
    }

    #[test]
    fn the_clock_starts_at_its_instant_and_skips_closed_hours() {
        let start = "2026-11-12T02:00:00Z";
        let hours = hours(start);
        for (seconds, expected) in [
            (0, start),
            (60, "2026-11-12T02:01:00Z"),
            (2 * 3_600 - 1, "2026-11-12T03:59:59Z"),
            // Lunch in Hong Kong.
            (2 * 3_600, "2026-11-12T05:00:00Z"),
            // After the closing auction of ten minutes, New York opens.
            (2 * 3_600 + 3 * 3_600 + 599, "2026-11-12T08:09:59Z"),
            (2 * 3_600 + 3 * 3_600 + 600, "2026-11-12T14:30:00Z"),
            // The night, and the weekend after the following day.
            (2 * 3_600 + 3 * 3_600 + 600 + 6 * 3_600 + 1_800, "2026-11-13T01:30:00Z"),
            (42_000 + 43_800, "2026-11-16T01:30:00Z"),
        ] {
            let now = hours.after(at(start), seconds);
            assert_eq!(now.to_string(), at(expected).to_string(), "{seconds}");
            assert_eq!(hours.between(at(start), now), seconds, "{expected}");
        }
    }

    #[test]
    fn an_instant_in_closed_hours_is_moved_to_the_next_open() {
        for (from, expected) in [
            ("2026-11-15T12:00:00Z", "2026-11-16T01:30:00Z"),
            ("2026-11-16T04:30:00Z", "2026-11-16T05:00:00Z"),
            ("2026-11-16T08:10:00Z", "2026-11-16T14:30:00Z"),
        ] {
            assert_eq!(hours(from).after(at(from), 0), at(expected), "{from}");
        }
    }

    #[test]
    fn half_days_end_early() {
        // Christmas Eve: Hong Kong closes at noon, China is open all day, and New York closes at
        // 13:00.
        let hours = hours("2026-12-24T01:30:00Z");
        let spans: Vec<(String, String)> = hours.spans[..4]
            .iter()
            .map(|span| (Timestamp(span.start).to_string(), Timestamp(span.end).to_string()))
            .collect();
        let expected = [
            ("2026-12-24T01:30:00Z", "2026-12-24T04:10:00Z"),
            ("2026-12-24T05:00:00Z", "2026-12-24T07:10:00Z"),
            ("2026-12-24T14:30:00Z", "2026-12-24T18:00:00Z"),
            // Christmas: only China is open.
            ("2026-12-25T01:30:00Z", "2026-12-25T03:30:00Z"),
        ];
        assert_eq!(spans, expected.map(|(start, end)| (start.to_owned(), end.to_owned())));
    }

    #[test]
    fn a_restarted_clock_continues_from_any_instant() {
        let venues = Venues::built_in().unwrap();
        let start = at("2026-11-12T02:00:00Z");
        let all = OpenHours::since(&venues, start);
        for seconds in (0..200_000).step_by(1_777) {
            let stopped = all.after(start, seconds);
            let resumed = OpenHours::since(&venues, stopped);
            assert_eq!(resumed.after(stopped, 5_000), all.after(start, seconds + 5_000), "{stopped}");
        }
    }

    #[test]
    fn the_clock_stops_after_a_year() {
        let from = "2027-12-31T02:00:00Z";
        let hours = hours(from);
        let end = hours.after(at(from), i64::MAX);
        assert_eq!(end, Timestamp(hours.spans.last().unwrap().end));
        assert!(end < at("2029-01-02T00:00:00Z"), "{end}");
        assert_eq!(hours.after(end, 60), end);
    }
}
