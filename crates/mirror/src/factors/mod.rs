//! Corporate actions, derived from actual and adjusted daily candles. The protocol has no corporate
//! actions; it only has both kinds of prices.

mod causes;
mod derived;
mod interval;
mod ratio;
mod segments;
mod subtract;

pub use derived::{Cause, DayPair, Derived, Event, Method, Problem, Segment};
pub use interval::{Exact, Interval, decimal};

/// Trading days between two events. Funds pay monthly.
const EVENT_DAYS: usize = 15;
/// Events that are plausible in any number of days.
const EVENTS_MIN: usize = 3;

/// Derives the corporate actions of a security from its days, ascending by date.
///
/// The days are explained by factors. If they contradict each other within a day, or change so often
/// that dividends cannot be the reason, and subtracted dividends explain them better, the result is
/// that of [`Method::Subtract`].
pub fn derive(days: &[DayPair]) -> Derived {
    let ratio = ratio::derive(days);
    // A factor of 1 throughout is explained by both.
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
