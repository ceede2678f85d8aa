//! Clock readings passed by callers, calendar months, and parsing of times. This crate reads no
//! clock.

use std::fmt;
use std::time::Duration;

use market::{Date, DateSpan, Market, Timestamp, Zone, parse_date};

/// A moment as wall-clock time and as uptime of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub now: Timestamp,
    pub uptime: Duration,
}

/// A moment by two wall clocks. The market clock, which may be stopped or in the past, determines
/// levels, months and rights. The machine's clock is real time, for the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    pub market: Timestamp,
    pub machine: Timestamp,
}

/// A calendar month in Hong Kong, formatted like `2026-08`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    first: Date,
}

impl Month {
    pub fn of(date: Date) -> Month {
        Month { first: date.first_of_month() }
    }

    pub fn first(self) -> Date {
        self.first
    }

    pub fn previous(self) -> Month {
        Month::of(self.first.yesterday().unwrap_or(Date::MIN))
    }

    /// Returns the first day of the next month, in Hong Kong.
    pub fn next(self) -> Date {
        self.first.checked_add(DateSpan::new().months(1)).unwrap_or(Date::MAX)
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:04}-{:02}", self.first.year(), self.first.month()))
    }
}

/// Error for text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a time: write 2026-11-13 or 20261113 (its first moment in Hong Kong), or 2026-11-13T01:30:00Z"
)]
pub struct ParseInstantError(String);

/// Parses a time in account commands and requests. A date (`2026-11-13` or `20261113`) means
/// midnight in Hong Kong, because the days and months of accounts are those of Hong Kong. An
/// instant must have an offset (RFC 3339), and fractions of a second are truncated.
pub fn parse_instant(text: &str) -> Result<Timestamp, ParseInstantError> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(Timestamp(at.as_second()));
    }
    let dashed = || {
        let (year, rest) = text.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        let fits = year.len() == 4 && month.len() == 2 && day.len() == 2;
        fits.then(|| format!("{year}{month}{day}"))
    };
    let digits = dashed().unwrap_or_else(|| text.to_owned());
    let date = parse_date(&digits).map_err(|_| ParseInstantError(text.chars().take(40).collect()))?;
    Ok(Zone::of(Market::Hk).midnight(date))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_instants_are_parsed() {
        for (text, says) in [
            ("2027-12-31", "2027-12-30T16:00:00Z"),
            ("20271231", "2027-12-30T16:00:00Z"),
            ("2027-12-31T00:00:00Z", "2027-12-31T00:00:00Z"),
            ("2027-12-31T08:00:00.9+08:00", "2027-12-31T00:00:00Z"),
        ] {
            assert_eq!(parse_instant(text).unwrap().to_string(), says, "{text}");
        }
    }

    #[test]
    fn invalid_times_are_rejected() {
        let long = "9".repeat(10_000);
        for text in
            ["", "soon", "1794708000", "2027-02-30", "2027-1-2", "20270230", "2027-12-31T00:00", &long]
        {
            let error = parse_instant(text).unwrap_err().to_string();
            assert!(error.contains("is not a time") && error.len() < 200, "{text:?}: {error}");
        }
    }
}
