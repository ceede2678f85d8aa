//! The quote gateway commands, in files by subject. Each command has a request message, a typed
//! query and a response, and implements [`Command`]; `dispatch/mod.rs` looks commands up by number.

mod calc_indexes;
mod calendar;
mod candles;
mod capital;
mod definition;
mod intraday;
mod securities;

pub(crate) use calc_indexes::CalcIndexes;
pub(crate) use calendar::{TradingDays, TradingSessions};
pub use candles::PAGED_MAX;
pub(crate) use candles::{HistoryCandles, LatestCandles, calls, period};
pub(crate) use capital::{CapitalDistribution, CapitalFlow};
pub(crate) use definition::{Command, Context, Pace, Subject, symbol};
pub(crate) use intraday::{Intraday, LatestTradesCommand};
pub use securities::quote_message;
pub(crate) use securities::{Quotes, StaticInfo};
