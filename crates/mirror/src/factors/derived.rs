use market::adjust::{Action, Amount};
use market::{Date, Price};

use super::interval::Interval;

/// The open, high, low and close of one trading day, actual and adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayPair {
    pub date: Date,
    pub actual: [Price; 4],
    pub adjusted: [Price; 4],
}

/// How the other server adjusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Prices are multiplied by a factor, as ours are.
    Ratio,
    /// Dividends are subtracted: adjusted = A · actual + B.
    Subtract,
}

/// Days that share the factor from actual to adjusted prices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub from: Date,
    pub through: Date,
    /// Measured interval of the factor. Of [`Method::Subtract`], the interval of A.
    pub factor: Interval,
}

/// What happened on an ex-date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// New shares per old share.
    Split(Amount),
    /// Cash per share, and how far the true amount may be from it.
    Cash { amount: Amount, width: Amount },
    /// A factor that is neither.
    Bare(Amount),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub ex_date: Date,
    /// The latest day that can be the ex-date. Differs from `ex_date` only if the change is smaller
    /// than the uncertainty of a day.
    pub latest: Date,
    pub close_before: Price,
    pub cause: Cause,
    /// Measured interval of the factor of this event alone.
    pub factor: Interval,
}

/// A day or event that needs the user's attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The four prices of this day do not share a factor. The day was not used.
    Inconsistent(Date),
    /// The newest day is adjusted by this much, so an event is later than the days given.
    NotCurrent(Interval),
    /// Probably several actions on one ex-date, stored as a bare factor.
    Unexplained(Date),
    /// A split that a dividend of this amount explains as well. Prices are right, shares may not be.
    Ambiguous { ex_date: Date, cash: Amount },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    pub method: Method,
    /// Ascending.
    pub segments: Vec<Segment>,
    /// Ascending. One between each two segments.
    pub events: Vec<Event>,
    pub problems: Vec<Problem>,
}

impl Event {
    /// Returns the action to store, or `None` for a bare factor.
    pub fn action(&self) -> Option<Action> {
        let none = Action::none(self.ex_date);
        match &self.cause {
            Cause::Split(split) => Some(Action { split: *split, ..none }),
            Cause::Cash { amount, .. } => Some(Action { cash: *amount, ..none }),
            Cause::Bare(_) => None,
        }
    }
}

impl Derived {
    /// Returns the number of days that were not used.
    pub(super) fn inconsistent(&self) -> usize {
        self.problems.iter().filter(|problem| matches!(problem, Problem::Inconsistent(_))).count()
    }
}
