use std::fmt;

use market::{Date, DateSpan};

/// A calendar month in Hong Kong. Its text form is `2026-08`.
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
