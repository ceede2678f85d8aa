//! What a command is made of: the request it is asked with, the values that this means, and the response.
//!
//! The parts of one command belong together by type: what a question is answered with is its own response and no other's.

use std::fmt;

use access::Permit;
use bytes::Bytes;
use market::{FloorTable, Symbol};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::caller::Caller;
use crate::core::Core;
use crate::metrics::Task;
use crate::refusal::Refusal;

/// A command of the quote gateway. Whatever implements it is the question itself, in values that need no further checks.
pub(crate) trait Command: Sized + Send + 'static {
    /// On the wire.
    const NUMBER: u8;
    /// What it counts as.
    const TASK: Task;
    const PACE: Pace = Pace::Calls;
    /// The message that asks it.
    type Request: Request;
    /// What answers it, before it is bytes or JSON.
    type Response: Response;

    /// What a message means. HTTP has addresses besides, which need no message to mean the same.
    fn parse(request: Self::Request, context: &Context<'_>) -> Result<Self, Refusal>;

    /// Whose right to see it is looked at.
    fn subject(&self) -> Subject<'_>;

    /// Takes out of the question what its account may not see; that is no refusal. The caller's wish for overnight hours holds by
    /// now only if the account has the right.
    fn narrow(&mut self, _caller: &Caller, _floors: FloorTable) {}

    /// Answers, and may wait for the disk to do so.
    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Self::Response, Refusal>;

    /// The same in the bytes of the wire, for a command that has a shorter way to them.
    fn reply(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<Reply, Refusal> {
        self.answer(caller, permit, core).map(Response::encode)
    }

    /// The bytes, if they take no time to speak of. What was found out meanwhile may be kept for [`Command::reply`].
    fn reply_at_once(&mut self, _core: &Core, _version: i64) -> Option<Result<Reply, Refusal>> {
        None
    }
}

/// Which limit the requests of a command count against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The general one of quote commands.
    Calls,
    /// The account's window of history requests; its month of securities follows.
    History,
}

/// What is asked about, which decides who may have it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// The prices of one security.
    Security(&'a Symbol),
    /// The prices of several; those that may not be seen are left out of the answer.
    Prices,
    /// Nothing that has a price: it is told to accounts of every region at every listener.
    Open,
}

/// What the meaning of a message depends on besides the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) caller: &'a Caller,
    /// From when on the account is served.
    pub(crate) floors: FloorTable,
    pub(crate) core: &'a Core,
}

/// A message that asks for something, out of bytes or, under its own names, out of JSON.
pub(crate) trait Request: DeserializeOwned {
    fn decode(body: &[u8]) -> Result<Self, Refusal>;
}

impl<M: prost::Message + Default + DeserializeOwned> Request for M {
    fn decode(body: &[u8]) -> Result<M, Refusal> {
        <M as prost::Message>::decode(body).map_err(|error| undecodable(&error))
    }
}

/// What answers a question: as bytes, or as JSON under the names of the message.
pub(crate) trait Response {
    fn encode(self) -> Reply;
    fn json(&self) -> Value;

    /// Candles in it.
    fn candles(&self) -> usize {
        0
    }
}

impl<M: prost::Message + Serialize> Response for M {
    fn encode(self) -> Reply {
        Reply { body: vec![Bytes::from(self.encode_to_vec())], candles: 0 }
    }

    fn json(&self) -> Value {
        // Plain numbers, texts and lists always have a form in JSON.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The body of a response on a long connection.
#[derive(Debug)]
pub(crate) struct Reply {
    /// In pieces that follow each other.
    pub(crate) body: Vec<Bytes>,
    /// Candles in it.
    pub(crate) candles: usize,
}

/// The refusal of a body that is not the message of its command.
pub(crate) fn undecodable(error: &dyn fmt::Display) -> Refusal {
    Refusal::Malformed(format!("the body cannot be decoded: {error}"))
}
