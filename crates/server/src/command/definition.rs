//! The parts of a command: its request message, the typed query, and its response. Associated types
//! link the three, so a query can only be answered with the response of its own command.

use access::Permit;
use collect::Wants;
use market::{FloorTable, Symbol};

use crate::caller::Caller;
use crate::core::Core;
use crate::message::{Reply, Request, Response, SYMBOLS_MAX};
use crate::refusal::Refusal;

/// A quote gateway command. The implementing type is the parsed query, whose values need no further
/// validation.
pub(crate) trait Command: Sized + Send + 'static {
    /// Command number in the protocol.
    const NUMBER: u8;
    /// Name in metrics and logs.
    const LABEL: &'static str;
    const PACE: Pace = Pace::Calls;
    /// Protobuf message of the request.
    type Request: Request;
    /// Response, before it is encoded as protobuf or JSON.
    type Response: Response;

    /// Parses a message. Queries from HTTP query strings are built directly, without a message.
    fn parse(request: Self::Request, context: &Context<'_>) -> Result<Self, Refusal>;

    /// Returns the subject of the query, which determines the rights that the caller needs.
    fn subject(&self) -> Subject<'_>;

    /// Returns the data that the query reads, which may be requested from the source of a mirror.
    fn wants(&self) -> Wants<'_> {
        Wants::Nothing
    }

    /// Removes data that the account may not see from the query, so that the request is answered
    /// with less data instead of being refused. `caller.overnight` is set only if the account has
    /// the overnight right.
    fn narrow(&mut self, _caller: &Caller, _floors: FloorTable) {}

    /// Executes the query. May block on disk I/O.
    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Self::Response, Refusal>;

    /// Returns the answer encoded for the wire. Commands with a faster encoding override this
    /// method.
    fn reply(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Reply, Refusal> {
        self.answer(caller, permit, core).map(Response::encode)
    }

    /// Returns the encoded reply if it is available without blocking. Otherwise returns `None`, and
    /// may store intermediate results for [`Command::reply`].
    fn reply_at_once(
        &mut self,
        _caller: &Caller,
        _core: &Core,
        _version: i64,
    ) -> Option<Result<Reply, Refusal>> {
        None
    }
}

/// The rate limit that a command's requests count against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The general rate limit for quote commands.
    Calls,
    /// The account's history request window. These requests also count toward the monthly quota.
    History,
}

/// The subject of a query, which determines who may send it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// Prices of one security.
    Security(&'a Symbol),
    /// Individual trades of one security.
    Trades(&'a Symbol),
    /// Capital flow, computed from the trades of one security.
    CapitalFlow(&'a Symbol),
    /// Prices of several securities; the response omits those that the account may not see.
    Prices,
    /// No prices. Accounts of every region may send the query to every listener.
    Open,
}

impl<'a> Subject<'a> {
    /// Returns the security whose prices are requested.
    pub(crate) fn symbol(self) -> Option<&'a Symbol> {
        match self {
            Subject::Security(symbol) | Subject::Trades(symbol) | Subject::CapitalFlow(symbol) => {
                Some(symbol)
            }
            Subject::Prices | Subject::Open => None,
        }
    }
}

/// Inputs of [`Command::parse`] other than the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) caller: &'a Caller,
    /// Start of the account's visible history, by market.
    pub(crate) floors: FloorTable,
    pub(crate) core: &'a Core,
}

/// Parses one symbol as typed by a user. An empty or invalid symbol is an error.
pub(crate) fn symbol(text: &str) -> Result<Symbol, Refusal> {
    if text.is_empty() {
        return Err(Refusal::BadQuery("symbol is missing".to_owned()));
    }
    text.parse().map_err(|error: market::ParseSymbolError| Refusal::BadQuery(error.to_string()))
}

/// Parses a list of symbols into canonical form, deduplicated, in request order. Invalid symbols
/// are skipped.
pub(super) fn symbols(texts: &[String]) -> Result<Vec<Symbol>, Refusal> {
    if texts.is_empty() {
        return Err(Refusal::BadQuery("no symbol is given".to_owned()));
    }
    if texts.len() > SYMBOLS_MAX {
        return Err(Refusal::TooMany(format!(
            "{} symbols in one request: the maximum is {SYMBOLS_MAX}",
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
