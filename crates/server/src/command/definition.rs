//! The parts of a command: its request message, the typed query, and its response.
//!
//! They are tied together by type, so a query can be answered only with the response of the same
//! command.

use std::fmt;

use access::Permit;
use bytes::Bytes;
use market::{FloorTable, Symbol};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

/// A command of the quote gateway. The implementing type is the parsed query: its values need no
/// further checks.
pub(crate) trait Command: Sized + Send + 'static {
    /// Wire number.
    const NUMBER: u8;
    /// Name in metrics and logs.
    const LABEL: &'static str;
    const PACE: Pace = Pace::Calls;
    /// The request message.
    type Request: Request;
    /// The response, before it is encoded as bytes or JSON.
    type Response: Response;

    /// Parses a message. Queries from HTTP query strings are built without one.
    fn parse(request: Self::Request, context: &Context<'_>) -> Result<Self, Refusal>;

    /// The subject, which decides the rights that the command needs.
    fn subject(&self) -> Subject<'_>;

    /// Removes what the account may not see from the query, instead of refusing it.
    /// `caller.overnight` is set only if the account has the right.
    fn narrow(&mut self, _caller: &Caller, _floors: FloorTable) {}

    /// Answers. May block on the disk.
    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Self::Response, Refusal>;

    /// Like `answer`, encoded for the wire. A command with a faster encoding overrides it.
    fn reply(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Reply, Refusal> {
        self.answer(caller, permit, core).map(Response::encode)
    }

    /// Encoded reply, if it is available without noticeable waiting. Otherwise, work done so far
    /// may be stored for [`Command::reply`].
    fn reply_at_once(
        &mut self,
        _caller: &Caller,
        _core: &Core,
        _version: i64,
    ) -> Option<Result<Reply, Refusal>> {
        None
    }
}

/// The rate limit that the requests of a command count against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The general limit of quote commands.
    Calls,
    /// The account's window of history requests. Such a request also counts toward the monthly
    /// quota.
    History,
}

/// The subject of a query, which decides who may send it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// The prices of one security.
    Security(&'a Symbol),
    /// The individual trades of one security.
    Trades(&'a Symbol),
    /// The capital flow computed from them.
    CapitalFlow(&'a Symbol),
    /// The prices of several securities; those that the account may not see are omitted.
    Prices,
    /// No prices: answered to accounts of every region at every listener.
    Open,
}

/// Input of [`Command::parse`] besides the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) caller: &'a Caller,
    /// Where the account's history begins.
    pub(crate) floors: FloorTable,
    pub(crate) core: &'a Core,
}

/// A request message, decoded from protobuf, or from JSON with the message's field names.
pub(crate) trait Request: DeserializeOwned {
    fn decode(body: &[u8]) -> Result<Self, Refusal>;
}

impl<M: prost::Message + Default + DeserializeOwned> Request for M {
    fn decode(body: &[u8]) -> Result<M, Refusal> {
        <M as prost::Message>::decode(body).map_err(|error| undecodable(&error))
    }
}

/// A response, encoded as protobuf, or as JSON with the message's field names.
pub(crate) trait Response {
    fn encode(self) -> Reply;
    fn json(&self) -> Value;

    /// The number of its candles.
    fn candles(&self) -> usize {
        0
    }
}

impl<M: prost::Message + Serialize> Response for M {
    fn encode(self) -> Reply {
        Reply { body: vec![Bytes::from(self.encode_to_vec())], candles: 0 }
    }

    fn json(&self) -> Value {
        // Cannot fail: messages consist of numbers, texts and lists.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A response body on a long connection.
#[derive(Debug)]
pub(crate) struct Reply {
    /// In pieces, in order.
    pub(crate) body: Vec<Bytes>,
    /// The number of its candles.
    pub(crate) candles: usize,
}

/// The refusal of a body that cannot be decoded.
pub(crate) fn undecodable(error: &dyn fmt::Display) -> Refusal {
    Refusal::Malformed(format!("the body cannot be decoded: {error}"))
}

/// Most symbols of one request.
pub(crate) const SYMBOLS_MAX: usize = 500;

/// Parses one symbol, as typed.
pub(crate) fn symbol(text: &str) -> Result<Symbol, Refusal> {
    if text.is_empty() {
        return Err(Refusal::BadQuery("symbol is missing".to_owned()));
    }
    text.parse().map_err(|error: market::ParseSymbolError| Refusal::BadQuery(error.to_string()))
}

/// Parses a list: canonical symbols, without duplicates, in the order of the request. Invalid texts
/// are skipped.
pub(super) fn symbols(texts: &[String]) -> Result<Vec<Symbol>, Refusal> {
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
