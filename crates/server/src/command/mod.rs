//! The quote gateway commands, one file each: request message, typed query, answer. They implement
//! [`Command`]; `dispatch.rs` looks them up by number.

mod calc_indexes;
mod candles;
mod capital_distribution;
mod capital_flow;
mod days;
mod definition;
mod history_candles;
mod intraday;
mod latest_candles;
mod profile;
mod quotes;
mod sessions;
mod static_info;
mod trades;

pub(crate) use calc_indexes::CalcIndexes;
pub use candles::PAGED_MAX;
pub(crate) use candles::{calls, period};
pub(crate) use capital_distribution::CapitalDistribution;
pub(crate) use capital_flow::CapitalFlow;
pub(crate) use days::TradingDays;
pub(crate) use definition::symbol;
pub(crate) use definition::{Command, Context, Pace, Reply, Request, Response, Subject, undecodable};
pub(crate) use history_candles::HistoryCandles;
pub(crate) use intraday::Intraday;
pub(crate) use latest_candles::LatestCandles;
pub(crate) use profile::Profile;
pub(crate) use quotes::Quotes;
pub(crate) use sessions::TradingSessions;
pub(crate) use static_info::StaticInfo;
pub(crate) use trades::LatestTradesCommand;
