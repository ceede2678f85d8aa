use market::adjust::{Action, Amount};
use market::{Date, Price};

use super::interval::Interval;

/// Open, high, low and close of one trading day, actual and adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayPair {
    pub date: Date,
    pub actual: [Price; 4],
    pub adjusted: [Price; 4],
}

/// How the other server adjusts prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Multiplies prices by a factor, like Chandler.
    Ratio,
    /// Subtracts dividends: adjusted = A · actual + B.
    Subtract,
}

/// Consecutive days that share the factor from actual to adjusted prices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub from: Date,
    pub through: Date,
    /// Measured interval of the factor. For [`Method::Subtract`], the interval of A.
    pub factor: Interval,
}

/// Kind of an event on an ex-date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// New shares per old share.
    Split(Amount),
    /// Cash per share, and the largest error of the amount.
    Cash { amount: Amount, width: Amount },
    /// A factor that is neither a split nor a cash dividend.
    Bare(Amount),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub ex_date: Date,
    /// The latest date that can be the ex-date. Differs from `ex_date` only if the change of prices
    /// is smaller than the rounding of a day's prices.
    pub latest: Date,
    pub close_before: Price,
    pub cause: Cause,
    /// Measured interval of the factor of this event alone.
    pub factor: Interval,
}

/// A day or event that the user should check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The four prices of this day do not share a factor. The day was ignored.
    Inconsistent(Date),
    /// The newest day is adjusted by this factor, so an event is later than the given days.
    NotCurrent(Interval),
    /// Probably several corporate actions on one ex-date, stored as a bare factor.
    Unexplained(Date),
    /// A split that could also be a dividend of this amount. Prices are correct, but the number of
    /// shares may not be.
    Ambiguous { ex_date: Date, cash: Amount },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    pub method: Method,
    /// Ascending by date.
    pub segments: Vec<Segment>,
    /// Ascending by date. There is one event between two adjacent segments.
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
    /// Returns the number of ignored days.
    pub(super) fn inconsistent(&self) -> usize {
        self.problems.iter().filter(|problem| matches!(problem, Problem::Inconsistent(_))).count()
    }
}
