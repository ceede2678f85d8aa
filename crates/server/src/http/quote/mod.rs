//! Candles and the other pull commands over HTTP.

mod announce;
mod candles;
mod format;
mod mirror;
pub(super) mod parameters;

use access::Scope;
use wire::command;

use crate::kit::{Asks, Row};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    Row::get("/v1/quote/cmd", Asks::Program, Scope::Quote, Task::Other, announce::answer),
    Row::get("/v1/quote/history-candlesticks", Asks::Address, Scope::Quote, Task::History, candles::answer),
    mirror::<{ command::HISTORY }>("/quote/history-candlesticks"),
    mirror::<{ command::CANDLESTICKS }>("/quote/candlesticks"),
    mirror::<{ command::INTRADAY }>("/quote/intraday"),
    mirror::<{ command::QUOTE }>("/quote/quotes"),
    mirror::<{ command::STATIC_INFO }>("/quote/static-info"),
    mirror::<{ command::TRADING_SESSIONS }>("/quote/markets/trading-sessions"),
    mirror::<{ command::TRADING_DAYS }>("/quote/markets/trading-days"),
    mirror::<{ command::PROFILE }>("/quote/profile"),
    // Commands that the protocol has and Chandler does not: they are told so, instead of that nothing is there.
    mirror::<12>("/quote/options/quotes"),
    mirror::<13>("/quote/warrants/quotes"),
    mirror::<14>("/quote/depth"),
    mirror::<15>("/quote/brokers"),
    mirror::<16>("/quote/participants"),
    mirror::<17>("/quote/trades"),
    mirror::<20>("/quote/options/expiry-dates"),
    mirror::<21>("/quote/options/strikes"),
    mirror::<22>("/quote/warrants/issuers"),
    mirror::<23>("/quote/warrants"),
    mirror::<24>("/quote/capital-flow"),
    mirror::<25>("/quote/capital-distribution"),
    mirror::<26>("/quote/calc-indexes"),
];

/// A command of the long connection, by its number.
const fn mirror<const COMMAND: u8>(path: &'static str) -> Row {
    let task = Task::of_command(COMMAND);
    Row::post(path, Asks::Program, Scope::Quote, task, |call, site, admitted| {
        mirror::answer(call, COMMAND, site, &admitted)
    })
    .question()
}
