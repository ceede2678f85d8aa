//! Candles and the other pull commands over HTTP.

mod announce;
mod candles;
mod docs;
mod format;
mod mirror;
pub(super) mod parameters;

use access::Scope;
use wire::command;

use crate::dispatch::CommandRow;
use crate::kit::{Asks, Row, RowPace};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    Row::get("/v1/quote/cmd", Asks::Program, Scope::Quote, Task::Other, announce::answer)
        .doc(&docs::ANNOUNCE),
    Row::get("/v1/quote/history-candlesticks", Asks::Address, Scope::Quote, HISTORY, candles::answer)
        .paced(RowPace::History)
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
    mirror::<{ command::OPTION_QUOTE }>("/quote/options/quotes").doc(&docs::OPTION_QUOTES),
    mirror::<{ command::WARRANT_QUOTE }>("/quote/warrants/quotes").doc(&docs::WARRANT_QUOTES),
    mirror::<{ command::DEPTH }>("/quote/depth").doc(&docs::DEPTH),
    mirror::<{ command::BROKERS }>("/quote/brokers").doc(&docs::BROKERS),
    mirror::<{ command::PARTICIPANTS }>("/quote/participants").doc(&docs::PARTICIPANTS),
    mirror::<{ command::TRADES }>("/quote/trades").doc(&docs::TRADES),
    mirror::<{ command::OPTION_EXPIRY_DATES }>("/quote/options/expiry-dates").doc(&docs::OPTION_EXPIRY_DATES),
    mirror::<{ command::OPTION_STRIKES }>("/quote/options/strikes").doc(&docs::OPTION_STRIKES),
    mirror::<{ command::WARRANT_ISSUERS }>("/quote/warrants/issuers").doc(&docs::WARRANT_ISSUERS),
    mirror::<{ command::WARRANT_FILTER }>("/quote/warrants").doc(&docs::WARRANTS),
    mirror::<{ command::CAPITAL_FLOW }>("/quote/capital-flow").doc(&docs::CAPITAL_FLOW),
    mirror::<{ command::CAPITAL_DISTRIBUTION }>("/quote/capital-distribution")
        .doc(&docs::CAPITAL_DISTRIBUTION),
    mirror::<{ command::CALC_INDEXES }>("/quote/calc-indexes").doc(&docs::CALC_INDEXES),
];

/// The address for people counts as the command that it asks.
const HISTORY: Task = Task::of_command(command::HISTORY);

/// The address for people counts as the command that it asks.
const HISTORY: Task = Task::of_command(command::HISTORY);

/// A command of the long connection, by its number.
const fn mirror<const COMMAND: u8>(path: &'static str) -> Row {
    let task = Task::of_command(COMMAND);
    let pace = match CommandRow::pace_of(COMMAND) {
        Some(pace) => RowPace::of(pace),
        None => RowPace::Unlimited,
    };
    Row::post(path, Asks::Program, Scope::Quote, task, |call, site, admitted| {
        mirror::answer(call, COMMAND, site, &admitted)
    })
    .question()
    .paced(pace)
}
