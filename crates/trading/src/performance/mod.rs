//! The performance of an account: profit by security and closed trades ([`Book`]), and growth and
//! drawdown of its value ([`Curve`]). `paper` computes them from the journal of an account, and
//! `chandler world run` from the results of a run.
//!
//! Costs are average costs, and charges are realised when they are paid. All amounts are exact,
//! except that the cost of a partial close is rounded to the tenth decimal; [`Ratio`]s are rounded
//! to a billionth.

mod book;
mod curve;
mod journal;
mod ratio;
mod round_trip;

pub use book::{Book, Profit, SecurityProfit, Trade};
pub use curve::{Curve, CurvePoint};
pub use journal::capital;
pub use ratio::Ratio;
pub use round_trip::{RoundTrip, TripStats};
