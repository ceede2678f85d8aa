//! Candles and the other pull commands over HTTP.

mod announce;
mod candles;
mod docs;
mod format;
mod mirror;
pub(super) mod parameters;

use access::Scope;
use wire::command;

use crate::kit::{Asks, Row};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    Row::get("/v1/quote/cmd", Asks::Program, Scope::Quote, Task::Other, announce::answer)
        .doc(&docs::ANNOUNCE),
    Row::get("/v1/quote/history-candlesticks", Asks::Address, Scope::Quote, HISTORY, candles::answer)
        .doc(&docs::CANDLES),
    mirror::<{ command::HISTORY }>("/quote/history-candlesticks").doc(&docs::HISTORY),
    mirror::<{ command::CANDLESTICKS }>("/quote/candlesticks").doc(&docs::CANDLESTICKS),
    mirror::<{ command::INTRADAY }>("/quote/intraday").doc(&docs::INTRADAY),
    mirror::<{ command::QUOTE }>("/quote/quotes").doc(&docs::QUOTES),
    mirror::<{ command::STATIC_INFO }>("/quote/static-info").doc(&docs::STATIC_INFO),
    mirror::<{ command::TRADING_SESSIONS }>("/quote/markets/trading-sessions").doc(&docs::TRADING_SESSIONS),
    mirror::<{ command::TRADING_DAYS }>("/quote/markets/trading-days").doc(&docs::TRADING_DAYS),
    mirror::<{ command::PROFILE }>("/quote/profile").doc(&docs::PROFILE),
    // Commands that the protocol has and Chandler does not: they are told so, instead of that nothing is there.
    mirror::<12>("/quote/options/quotes").doc(&docs::OPTION_QUOTES),
    mirror::<13>("/quote/warrants/quotes").doc(&docs::WARRANT_QUOTES),
    mirror::<14>("/quote/depth").doc(&docs::DEPTH),
    mirror::<15>("/quote/brokers").doc(&docs::BROKERS),
    mirror::<16>("/quote/participants").doc(&docs::PARTICIPANTS),
    mirror::<17>("/quote/trades").doc(&docs::TRADES),
    mirror::<20>("/quote/options/expiry-dates").doc(&docs::OPTION_EXPIRY_DATES),
    mirror::<21>("/quote/options/strikes").doc(&docs::OPTION_STRIKES),
    mirror::<22>("/quote/warrants/issuers").doc(&docs::WARRANT_ISSUERS),
    mirror::<23>("/quote/warrants").doc(&docs::WARRANTS),
    mirror::<24>("/quote/capital-flow").doc(&docs::CAPITAL_FLOW),
    mirror::<25>("/quote/capital-distribution").doc(&docs::CAPITAL_DISTRIBUTION),
    mirror::<26>("/quote/calc-indexes").doc(&docs::CALC_INDEXES),
];

/// The address for people counts as the command that it asks.
const HISTORY: Task = Task::of_command(command::HISTORY);

/// A command of the long connection, by its number.
const fn mirror<const COMMAND: u8>(path: &'static str) -> Row {
    let task = Task::of_command(COMMAND);
    Row::post(path, Asks::Program, Scope::Quote, task, |call, site, admitted| {
        mirror::answer(call, COMMAND, site, &admitted)
    })
    .question()
}
