//! Messages of commands: requests and responses, as protobuf or JSON.

use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::refusal::Refusal;

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

    /// Returns the number of candles in the response, or 0 if the response has none.
    fn candles(&self) -> usize {
        0
    }
}

impl<M: prost::Message + Serialize> Response for M {
    fn encode(self) -> Reply {
        Reply { body: vec![Bytes::from(self.encode_to_vec())], candles: 0 }
    }

    fn json(&self) -> Value {
        // Cannot fail: messages consist of numbers, strings and lists.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A response body on a long connection.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Chunks of the encoded body, in order.
    pub(crate) body: Vec<Bytes>,
    /// Number of candles in the reply.
    pub(crate) candles: usize,
}

/// Returns the refusal for a body that cannot be decoded.
pub(crate) fn undecodable(error: &dyn fmt::Display) -> Refusal {
    Refusal::Malformed(format!("the body cannot be decoded: {error}"))
}

/// Maximum number of symbols per request.
pub(crate) const SYMBOLS_MAX: usize = 500;
