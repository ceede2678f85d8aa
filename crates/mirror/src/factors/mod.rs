//! Derives corporate actions from actual and adjusted daily candles. The protocol sends both kinds
//! of prices, but no corporate actions.

mod causes;
mod derived;
mod interval;
mod ratio;
mod segments;
mod subtract;

pub use derived::{Cause, DayPair, Derived, Event, Method, Problem, Segment};
pub use interval::{Exact, Interval, decimal};

/// Minimum average number of trading days between two events. Funds pay monthly.
const EVENT_DAYS: usize = 15;
/// Number of events that is plausible in any number of days.
const EVENTS_MIN: usize = 3;

/// Derives the corporate actions of a security from its days, ascending by date.
///
/// The result has [`Method::Ratio`], unless [`Method::Subtract`] explains the days better and the
/// factors contradict each other within a day or change too often for dividends.
pub fn derive(days: &[DayPair]) -> Derived {
    let ratio = ratio::derive(days);
    // Both methods explain days without adjustment.
    if ratio.events.is_empty() && ratio.inconsistent() == 0 {
        return ratio;
    }
    let is_doubtful = ratio.inconsistent() > 0 || ratio.events.len() > days.len() / EVENT_DAYS + EVENTS_MIN;
    if !is_doubtful {
        return ratio;
    }
    let subtract = subtract::derive(days);
    let cost = |derived: &Derived| derived.inconsistent() + derived.events.len();
    if cost(&subtract) < cost(&ratio) { subtract } else { ratio }
}
