//! Subscribers to the orders of paper accounts, and their events.

mod event;
mod listeners;

pub(crate) use listeners::{Listening, TradeListeners};
