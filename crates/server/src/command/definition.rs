//! What a command consists of: its request message, the question in typed values, and its response.
//!
//! The three are tied together by type, so a question can be answered only with the response of its own command.

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

/// A command of the quote gateway. The type that implements it is the parsed question: its values need no further checks.
pub(crate) trait Command: Sized + Send + 'static {
    /// Its number on the wire.
    const NUMBER: u8;
    /// Its name in metrics and logs.
    const LABEL: &'static str;
    const PACE: Pace = Pace::Calls;
    /// The request message.
    type Request: Request;
    /// The response, before it is encoded as bytes or JSON.
    type Response: Response;

    /// Parses a message. Questions from HTTP query strings are built without one.
    fn parse(request: Self::Request, context: &Context<'_>) -> Result<Self, Refusal>;

    /// What it is about, which decides the rights that it needs.
    fn subject(&self) -> Subject<'_>;

    /// Removes from the question what the account may not see, instead of refusing it. `caller.overnight` is set only if the account has
    /// the right.
    fn narrow(&mut self, _caller: &Caller, _floors: FloorTable) {}

    /// Answers. May block on the disk.
    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Self::Response, Refusal>;

    /// The same in the bytes of the wire. A command with a faster way to encode its answer overrides it.
    fn reply(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Reply, Refusal> {
        self.answer(caller, permit, core).map(Response::encode)
    }

    /// The bytes, if they are there without a noticeable wait. If not, work that was done may be kept for [`Command::reply`].
    fn reply_at_once(&mut self, _core: &Core, _version: i64) -> Option<Result<Reply, Refusal>> {
        None
    }
}

/// The rate limit that the requests of a command count against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The general limit of quote commands.
    Calls,
    /// The account's window of history requests. Such a request also counts toward the monthly quota.
    History,
}

/// What a question is about, which decides who may ask it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// The prices of one security.
    Security(&'a Symbol),
    /// The single trades of one security.
    Trades(&'a Symbol),
    /// The capital flow that is reckoned from them.
    CapitalFlow(&'a Symbol),
    /// The prices of several securities; those that the account may not see are left out of the answer.
    Prices,
    /// No prices: answered to accounts of every region at every listener.
    Open,
}

/// What parsing a message needs besides the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) caller: &'a Caller,
    /// Where the history that the account is served begins.
    pub(crate) floors: FloorTable,
    pub(crate) core: &'a Core,
}

/// A request message, decoded from protobuf, or from JSON with the field names of the message.
pub(crate) trait Request: DeserializeOwned {
    fn decode(body: &[u8]) -> Result<Self, Refusal>;
}

impl<M: prost::Message + Default + DeserializeOwned> Request for M {
    fn decode(body: &[u8]) -> Result<M, Refusal> {
        <M as prost::Message>::decode(body).map_err(|error| undecodable(&error))
    }
}

/// A response, encoded as protobuf, or as JSON with the field names of the message.
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

/// The body of a response on a long connection.
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
