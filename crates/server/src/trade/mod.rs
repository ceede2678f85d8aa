//! Subscribers to paper accounts' orders, and their events.

mod event;
mod listeners;

pub(crate) use listeners::{Listening, TradeListeners};
