//! A file a command: what was asked as a message, what it means as values, and the answer.
//!
//! [`Request::decode`] takes bytes to the protocol's message, [`Command::parse`] takes that to values that need no further
//! checks, [`Command::answer`] answers. HTTP makes the same [`Request`] out of JSON, so there is no second path.

mod candlesticks;
mod days;
mod intraday;
mod profile;
mod quotes;
mod sessions;
mod static_info;
mod symbols;

use access::Permit;
use bytes::Bytes;
use history::{Paged, Paging, Query, Sessions};
use market::{FloorTable, Symbol};
use prost::Message;
use serde_json::Value;
use wire::{command, quote};

pub(crate) use candlesticks::{CandleReply, PAGED_MAX, period_number};
pub(crate) use days::Days;
pub(crate) use symbols::symbol;
use symbols::symbols;

use crate::caller::{Caller, Language};
use crate::core::Core;
use crate::refusal::Refusal;

/// A message of the protocol, decoded and not yet understood.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    Profile(quote::QuoteProfileRequest),
    TradingSessions,
    TradingDays(quote::TradingDaysRequest),
    StaticInfo(quote::SymbolsRequest),
    Quote(quote::SymbolsRequest),
    Intraday(quote::IntradayRequest),
    Candlesticks(quote::SecurityCandlestickRequest),
    History(quote::SecurityHistoryCandlestickRequest),
}

/// What is asked for, in values that have been checked.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Profile { language: Language },
    TradingSessions,
    TradingDays(Days),
    StaticInfo(Vec<Symbol>),
    Quote(Vec<Symbol>),
    Intraday { symbol: Symbol, sessions: Sessions },
    Candlesticks(Query),
    History(Query),
}

/// An answer, before it is bytes or JSON.
#[derive(Debug)]
pub(crate) enum Reply {
    Profile(quote::QuoteProfileResponse),
    TradingSessions(quote::TradingSessionsResponse),
    TradingDays(quote::TradingDaysResponse),
    StaticInfo(quote::StaticInfoResponse),
    Quote(quote::QuoteResponse),
    Intraday(quote::IntradayResponse),
    Candles(CandleReply),
    Subscribed(wire::trade::SubscribeResponse),
    Unsubscribed(wire::trade::UnsubscribeResponse),
}

/// The commands that the protocol has and Chandler does not, in the words of the refusal.
const NOT_OFFERED: [(u8, &str); 16] = [
    (5, "subscriptions"),
    (6, "subscriptions"),
    (7, "subscriptions"),
    (12, "option quotes"),
    (13, "warrant quotes"),
    (14, "order books"),
    (15, "broker queues"),
    (16, "participants"),
    (17, "single trades"),
    (20, "options"),
    (21, "options"),
    (22, "warrants"),
    (23, "warrants"),
    (24, "capital flows"),
    (25, "capital distributions"),
    (26, "calculated indexes"),
];

impl Request {
    pub(crate) fn decode(command: u8, body: &[u8]) -> Result<Request, Refusal> {
        fn message<M: Message + Default>(body: &[u8]) -> Result<M, Refusal> {
            M::decode(body)
                .map_err(|error| Refusal::Malformed(format!("the body cannot be decoded: {error}")))
        }
        Ok(match command {
            command::PROFILE => Request::Profile(message(body)?),
            command::TRADING_SESSIONS => Request::TradingSessions,
            command::TRADING_DAYS => Request::TradingDays(message(body)?),
            command::STATIC_INFO => Request::StaticInfo(message(body)?),
            command::QUOTE => Request::Quote(message(body)?),
            command::INTRADAY => Request::Intraday(message(body)?),
            command::CANDLESTICKS => Request::Candlesticks(message(body)?),
            command::HISTORY => Request::History(message(body)?),
            other => return Err(not_offered(other)),
        })
    }
}

/// The refusal of a command that has no request here.
pub(crate) fn not_offered(command: u8) -> Refusal {
    match NOT_OFFERED.iter().find(|(number, _)| *number == command) {
        Some((_, what)) => Refusal::NotOffered(what),
        None => Refusal::UnknownCommand(command),
    }
}

impl Command {
    pub(crate) fn parse(
        request: Request,
        caller: &Caller,
        floors: FloorTable,
        core: &Core,
    ) -> Result<Command, Refusal> {
        let venues = core.history.venues();
        Ok(match request {
            // A client that named no language when it signed in may do so here.
            Request::Profile(request) => Command::Profile {
                language: Some(request.language.as_str())
                    .filter(|text| !text.is_empty())
                    .map_or(caller.language, Language::parse),
            },
            Request::TradingSessions => Command::TradingSessions,
            Request::TradingDays(request) => {
                Command::TradingDays(Days::parse(&request, venues, core.market_now())?)
            }
            Request::StaticInfo(request) => Command::StaticInfo(symbols(&request.symbol)?),
            Request::Quote(request) => Command::Quote(symbols(&request.symbol)?),
            Request::Intraday(request) => Command::Intraday {
                symbol: symbol(&request.symbol)?,
                sessions: candlesticks::sessions(request.trade_session, caller)?,
            },
            Request::Candlesticks(request) => {
                Command::Candlesticks(candlesticks::latest(&request, caller, floors)?)
            }
            Request::History(request) => Command::History(candlesticks::history(&request, caller, floors)?),
        })
    }

    /// The one security whose quotes are asked for; in lists, what may not be seen is left out instead.
    pub(crate) fn security(&self) -> Option<&Symbol> {
        match self {
            Command::Intraday { symbol, .. } => Some(symbol),
            Command::Candlesticks(query) | Command::History(query) => Some(&query.symbol),
            Command::Profile { .. }
            | Command::TradingSessions
            | Command::TradingDays(_)
            | Command::StaticInfo(_)
            | Command::Quote(_) => None,
        }
    }

    /// Whether prices are asked for; the rest is told to accounts of every region at every listener.
    pub(crate) fn is_market_data(&self) -> bool {
        match self {
            Command::Quote(_) | Command::Intraday { .. } | Command::Candlesticks(_) | Command::History(_) => {
                true
            }
            Command::Profile { .. }
            | Command::TradingSessions
            | Command::TradingDays(_)
            | Command::StaticInfo(_) => false,
        }
    }

    pub(crate) fn leave_overnight_out(&mut self) {
        let sessions = match self {
            Command::Intraday { sessions, .. } => sessions,
            Command::Candlesticks(query) | Command::History(query) => &mut query.sessions,
            _ => return,
        };
        if *sessions == Sessions::All {
            *sessions = Sessions::Extended;
        }
    }

    /// Nothing before the floors of the account is in the answer.
    pub(crate) fn serve_from(&mut self, floors: FloorTable) {
        if let Command::Candlesticks(query) | Command::History(query) = self {
            query.floors = floors.of(query.symbol.market());
        }
    }

    /// Answers, and may wait for the disk to do so.
    pub(crate) fn answer(&self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Reply, Refusal> {
        Ok(match self {
            Command::Profile { language } => Reply::Profile(profile::answer(*language, permit, core)?),
            Command::TradingSessions => Reply::TradingSessions(sessions::answer(caller, core)),
            Command::TradingDays(days) => Reply::TradingDays(days.answer(core)),
            Command::StaticInfo(symbols) => Reply::StaticInfo(static_info::answer(symbols, core)?),
            Command::Quote(symbols) => Reply::Quote(quotes::answer(symbols, caller, permit, core)?),
            Command::Intraday { symbol, sessions } => {
                let floors = core.floors_of(permit.account()).of(symbol.market());
                Reply::Intraday(intraday::answer(symbol, *sessions, floors, core)?)
            }
            Command::Candlesticks(query) | Command::History(query) => {
                Reply::Candles(candlesticks::answer(query, core)?)
            }
        })
    }

    /// Candles as columns; only candle commands have any.
    pub(crate) fn columns(&self, core: &Core) -> Result<history::Answer, Refusal> {
        match self {
            Command::Candlesticks(query) | Command::History(query) => candlesticks::columns(query, core),
            _ => Err(Refusal::Internal),
        }
    }

    /// The same, as many pages of it as are wanted.
    pub(crate) fn pages(&self, paging: Paging, core: &Core) -> Result<Paged, Refusal> {
        match self {
            Command::Candlesticks(query) | Command::History(query) => {
                candlesticks::pages(query, paging, core)
            }
            _ => Err(Refusal::Internal),
        }
    }

    /// The answer, if it takes no time to speak of.
    pub(crate) fn answer_at_once(&self, core: &Core, version: i64) -> Option<Result<Reply, Refusal>> {
        match self {
            Command::Candlesticks(query) | Command::History(query) => {
                candlesticks::at_once(query, core, version).map(|answer| answer.map(Reply::Candles))
            }
            _ => None,
        }
    }
}

impl Reply {
    /// Candles in it.
    pub(crate) fn candles(&self) -> usize {
        match self {
            Reply::Candles(candles) => candles.len(),
            _ => 0,
        }
    }

    /// The body of a response, in pieces that follow each other.
    pub(crate) fn encode(self) -> Vec<Bytes> {
        let bytes = match self {
            Reply::Candles(candles) => return candles.encode(),
            Reply::Profile(message) => message.encode_to_vec(),
            Reply::TradingSessions(message) => message.encode_to_vec(),
            Reply::TradingDays(message) => message.encode_to_vec(),
            Reply::StaticInfo(message) => message.encode_to_vec(),
            Reply::Quote(message) => message.encode_to_vec(),
            Reply::Intraday(message) => message.encode_to_vec(),
            Reply::Subscribed(message) => message.encode_to_vec(),
            Reply::Unsubscribed(message) => message.encode_to_vec(),
        };
        vec![Bytes::from(bytes)]
    }

    /// The same under the message's own names.
    pub(crate) fn json(&self) -> Value {
        let value = match self {
            Reply::Candles(candles) => return candles.json(),
            Reply::Profile(message) => serde_json::to_value(message),
            Reply::TradingSessions(message) => serde_json::to_value(message),
            Reply::TradingDays(message) => serde_json::to_value(message),
            Reply::StaticInfo(message) => serde_json::to_value(message),
            Reply::Quote(message) => serde_json::to_value(message),
            Reply::Intraday(message) => serde_json::to_value(message),
            Reply::Subscribed(message) => serde_json::to_value(message),
            Reply::Unsubscribed(message) => serde_json::to_value(message),
        };
        // Plain numbers, texts and lists always have a form in JSON.
        value.unwrap_or_default()
    }
}
