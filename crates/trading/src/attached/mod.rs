//! Attached orders: the take profit and the stop loss of an order, which is their main order.
//!
//! An attached order is a LIT or MIT order on the other side. It is dormant until its main order
//! has a fill, and closes at most what the main order has bought or sold. It never opens a
//! position.
//!
//! | event | effect |
//! |---|---|
//! | first fill of the main order | the attached orders watch the price, from candles stamped at or after the fill; their time in force begins |
//! | later fill | can be closed from the next candle on; the quantity of an attached order includes the open rest of its main order |
//! | the main order ends without a fill | the attached orders are cancelled |
//! | the main order ends with fills, or is replaced with another quantity | the attached orders are resized |
//! | an attached order is released | the rest of its main order is cancelled; a released stop loss also cancels the take profit |
//! | an attached order is filled | the other one is resized by the same quantity, or cancelled |
//! | another order reduces the position | the attached orders of the oldest main orders are resized or cancelled first |
//!
//! If one candle reaches both triggers, the stop loss applies, because the order of the prices
//! within a candle is unknown. The take profit then only fills at the open of that candle, which
//! precedes the stop loss on every path.

mod change;
mod follow;
mod legs;
mod release;

pub(crate) use change::{change, resized};
pub(crate) use follow::{Cause, MAIN_CANCELED, follow};
pub(crate) use legs::{check_quantity_of, legs, stand};
pub(crate) use release::{make_way, matured};
