//! Candles and the other pull commands over HTTP.

mod candles;
mod format;
mod live;
mod mirror;
pub(super) mod parameters;
mod trades;

use access::Scope;
use wire::command;

use crate::dispatch::CommandRow;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::envelope::{self, Empty};
use crate::kit::{Accepts, Admitted, Answer, Call, PermittedHandler, Problem, Row, RowPace, Site};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    Row::get("/v1/quote/cmd", Accepts::Program, Scope::Quote, Task::Other, announce).doc(&ANNOUNCE),
    Row::get("/v1/quote/history-candlesticks", Accepts::Address, Scope::Quote, HISTORY, candles::answer)
        .paced(RowPace::History)
        .doc(&candles::CANDLES),
    own::<{ command::QUOTE }>("/v1/quote/quotes", trades::quotes).doc(&trades::QUOTES),
    own::<{ command::TRADES }>("/v1/quote/trades", trades::latest).doc(&trades::TRADES),
    own::<{ command::CAPITAL_FLOW }>("/v1/quote/capital-flow", trades::flow).doc(&trades::CAPITAL_FLOW),
    own::<{ command::CAPITAL_DISTRIBUTION }>("/v1/quote/capital-distribution", trades::distribution)
        .doc(&trades::CAPITAL_DISTRIBUTION),
    own::<{ command::TRADING_DAYS }>("/v1/quote/trading-days", trades::trading_days)
        .doc(&trades::TRADING_DAYS),
    Row::get("/v1/live", Accepts::Account, Scope::Quote, Task::Subscriptions, live::answer)
        .own_region_only()
        .paced(RowPace::Calls)
        .doc(&live::LIVE),
    mirror::<{ command::HISTORY }>("/quote/history-candlesticks").doc(&mirror::HISTORY),
    mirror::<{ command::CANDLESTICKS }>("/quote/candlesticks").doc(&mirror::CANDLESTICKS),
    mirror::<{ command::INTRADAY }>("/quote/intraday").doc(&mirror::INTRADAY),
    mirror::<{ command::QUOTE }>("/quote/quotes").doc(&mirror::QUOTES),
    mirror::<{ command::CALC_INDEXES }>("/quote/calc-indexes").doc(&mirror::CALC_INDEXES),
    mirror::<{ command::TRADES }>("/quote/trades").doc(&mirror::TRADES),
    mirror::<{ command::CAPITAL_FLOW }>("/quote/capital-flow").doc(&mirror::CAPITAL_FLOW),
    mirror::<{ command::CAPITAL_DISTRIBUTION }>("/quote/capital-distribution")
        .doc(&mirror::CAPITAL_DISTRIBUTION),
    mirror::<{ command::STATIC_INFO }>("/quote/static-info").doc(&mirror::STATIC_INFO),
    mirror::<{ command::TRADING_SESSIONS }>("/quote/markets/trading-sessions").doc(&mirror::TRADING_SESSIONS),
    mirror::<{ command::TRADING_DAYS }>("/quote/markets/trading-days").doc(&mirror::TRADING_DAYS),
    mirror::<{ command::PROFILE }>("/quote/profile").doc(&mirror::PROFILE),
    // Protocol commands that Chandler does not offer. The refusal says so instead of returning 404.
    mirror::<{ command::OPTION_QUOTE }>("/quote/options/quotes").doc(&mirror::OPTION_QUOTES),
    mirror::<{ command::WARRANT_QUOTE }>("/quote/warrants/quotes").doc(&mirror::WARRANT_QUOTES),
    mirror::<{ command::DEPTH }>("/quote/depth").doc(&mirror::DEPTH),
    mirror::<{ command::BROKERS }>("/quote/brokers").doc(&mirror::BROKERS),
    mirror::<{ command::PARTICIPANTS }>("/quote/participants").doc(&mirror::PARTICIPANTS),
    mirror::<{ command::OPTION_EXPIRY_DATES }>("/quote/options/expiry-dates")
        .doc(&mirror::OPTION_EXPIRY_DATES),
    mirror::<{ command::OPTION_STRIKES }>("/quote/options/strikes").doc(&mirror::OPTION_STRIKES),
    mirror::<{ command::WARRANT_ISSUERS }>("/quote/warrants/issuers").doc(&mirror::WARRANT_ISSUERS),
    mirror::<{ command::WARRANT_FILTER }>("/quote/warrants").doc(&mirror::WARRANTS),
];

const ANNOUNCE: Doc = Doc::new(Tag::Service, "announce", "Command announcement by some clients; ignored")
    .answers(&[AnswerDoc::ok("An empty response", &[data::<Empty>()])]);

/// `GET /v1/quote/cmd`: accepts the command that a client announces, and stores nothing.
fn announce(_: &Call<'_>, _: &Site, _: Admitted) -> Result<Answer, Problem> {
    Ok(envelope::success(Empty {}))
}

/// The candles endpoint is measured as the history command.
const HISTORY: Task = Task::of_command(command::HISTORY);

/// Creates the row of a GET endpoint that runs a command, for people and pages.
const fn own<const COMMAND: u8>(path: &'static str, handler: PermittedHandler) -> Row {
    let pace = match CommandRow::pace_of(COMMAND) {
        Some(pace) => RowPace::of(pace),
        None => RowPace::Unlimited,
    };
    Row::get(path, Accepts::Account, Scope::Quote, Task::of_command(COMMAND), handler)
        .own_region_only()
        .paced(pace)
}

/// Creates the row that mirrors a long-connection command, by its number.
const fn mirror<const COMMAND: u8>(path: &'static str) -> Row {
    let task = Task::of_command(COMMAND);
    let pace = match CommandRow::pace_of(COMMAND) {
        Some(pace) => RowPace::of(pace),
        None => RowPace::Unlimited,
    };
    Row::post(path, Accepts::Program, Scope::Quote, task, |call, site, admitted| {
        mirror::answer(call, COMMAND, site, &admitted)
    })
    .question()
    .paced(pace)
}
