//! Who listens to the orders of paper accounts, and what they are told.

mod event;
mod listeners;

pub(crate) use listeners::{Listening, TradeListeners};
