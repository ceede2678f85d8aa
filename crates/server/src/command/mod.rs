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

use access::Permit;
use bytes::Bytes;
use history::{Query, Sessions};
use market::{FloorTable, Symbol};
use prost::Message;
use serde_json::Value;
use wire::quote;

pub(crate) use candlesticks::{CandleReply, EncodedPage, Paged, Paging, period_number, refusal};
pub(crate) use days::Days;

use crate::refusal::Refusal;
use crate::route::{Caller, Language};
use crate::services::Services;

/// Symbols that one request may name.
pub(crate) const SYMBOLS_MAX: usize = 500;

/// The commands of the quote endpoint by number.
pub(crate) mod number {
    pub(crate) const PROFILE: u8 = 4;
    pub(crate) const TRADING_SESSIONS: u8 = 8;
    pub(crate) const TRADING_DAYS: u8 = 9;
    pub(crate) const STATIC_INFO: u8 = 10;
    pub(crate) const QUOTE: u8 = 11;
    pub(crate) const INTRADAY: u8 = 18;
    pub(crate) const CANDLESTICKS: u8 = 19;
    pub(crate) const HISTORY: u8 = 27;
}

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
            number::PROFILE => Request::Profile(message(body)?),
            number::TRADING_SESSIONS => Request::TradingSessions,
            number::TRADING_DAYS => Request::TradingDays(message(body)?),
            number::STATIC_INFO => Request::StaticInfo(message(body)?),
            number::QUOTE => Request::Quote(message(body)?),
            number::INTRADAY => Request::Intraday(message(body)?),
            number::CANDLESTICKS => Request::Candlesticks(message(body)?),
            number::HISTORY => Request::History(message(body)?),
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
        services: &Services,
    ) -> Result<Command, Refusal> {
        let venues = services.history.venues();
        Ok(match request {
            // A client that named no language when it signed in may do so here.
            Request::Profile(request) => Command::Profile {
                language: Some(request.language.as_str())
                    .filter(|text| !text.is_empty())
                    .map_or(caller.language, Language::parse),
            },
            Request::TradingSessions => Command::TradingSessions,
            Request::TradingDays(request) => {
                Command::TradingDays(Days::parse(&request, venues, services.market_now())?)
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
    pub(crate) fn answer(
        &self,
        caller: &Caller,
        permit: &Permit,
        services: &Services,
    ) -> Result<Reply, Refusal> {
        Ok(match self {
            Command::Profile { language } => Reply::Profile(profile::answer(*language, permit, services)?),
            Command::TradingSessions => Reply::TradingSessions(sessions::answer(caller, services)),
            Command::TradingDays(days) => Reply::TradingDays(days.answer(services)),
            Command::StaticInfo(symbols) => Reply::StaticInfo(static_info::answer(symbols, services)?),
            Command::Quote(symbols) => Reply::Quote(quotes::answer(symbols, caller, permit, services)?),
            Command::Intraday { symbol, sessions } => {
                let floors = services.floors_of(permit.account()).of(symbol.market());
                Reply::Intraday(intraday::answer(symbol, *sessions, floors, services)?)
            }
            Command::Candlesticks(query) | Command::History(query) => {
                Reply::Candles(candlesticks::answer(query, services)?)
            }
        })
    }

    /// Candles as columns; only candle commands have any.
    pub(crate) fn columns(&self, services: &Services) -> Result<history::Answer, Refusal> {
        match self {
            Command::Candlesticks(query) | Command::History(query) => candlesticks::columns(query, services),
            _ => Err(Refusal::Internal),
        }
    }

    /// The same, as many pages of it as are wanted.
    pub(crate) fn pages(&self, paging: Paging, services: &Services) -> Result<Paged, Refusal> {
        match self {
            Command::Candlesticks(query) | Command::History(query) => {
                candlesticks::pages(query, paging, services)
            }
            _ => Err(Refusal::Internal),
        }
    }

    /// The answer, if it takes no time to speak of.
    pub(crate) fn answer_at_once(&self, services: &Services, version: i64) -> Option<Result<Reply, Refusal>> {
        match self {
            Command::Candlesticks(query) | Command::History(query) => {
                candlesticks::at_once(query, services, version).map(|answer| answer.map(Reply::Candles))
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

/// One symbol, as it was typed.
pub(crate) fn symbol(text: &str) -> Result<Symbol, Refusal> {
    text.parse().map_err(|error: market::ParseSymbolError| Refusal::BadQuery(error.to_string()))
}

/// Symbols of a list: canonical, each once, in the order asked; what is no symbol is left out.
fn symbols(texts: &[String]) -> Result<Vec<Symbol>, Refusal> {
    if texts.is_empty() {
        return Err(Refusal::BadQuery("no symbol is named".to_owned()));
    }
    if texts.len() > SYMBOLS_MAX {
        return Err(Refusal::TooMany(format!(
            "{} symbols in one request: {SYMBOLS_MAX} are the most",
            texts.len()
        )));
    }
    let mut symbols: Vec<Symbol> = Vec::with_capacity(texts.len());
    for symbol in texts.iter().filter_map(|text| text.parse().ok()) {
        if !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
    }
    Ok(symbols)
}
