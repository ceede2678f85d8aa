//! One request over HTTP, whole, as endpoints and pages see it.

use std::borrow::Cow;
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderMap;
use hyper::{Method, Response};

use super::envelope::Problem;
use super::fields;
use super::listening::Face;
use crate::refusal::Refusal;

pub(crate) type Answer = Response<Full<Bytes>>;

/// A whole request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    /// What stands in the path where its route has braces, decoded.
    pub(crate) parameter: &'a str,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    /// Who asks: the other end of the connection, or whom a trusted proxy there asks for.
    pub(crate) peer: SocketAddr,
    /// The address of ours that was asked.
    pub(crate) reached: SocketAddr,
    /// The region whose accounts the listener is for; none if it is for all.
    pub(crate) region: Option<access::Region>,
    /// Whether it is about the account itself, which only listeners of its own region answer.
    pub(crate) is_at_home: bool,
    /// Whether it changes something.
    pub(crate) is_change: bool,
    /// Whether the session of a browser proves who asks.
    pub(crate) takes_session: bool,
    /// A token that came in the address, where it may.
    pub(crate) address_token: Option<&'a access::Secret>,
    pub(crate) face: Face,
    /// Whether it comes from this very machine, where somebody wants to know.
    pub(crate) is_local: bool,
    /// What is told about the request once it is answered.
    pub(crate) note: &'a RequestNotes,
}

impl Call<'_> {
    /// The first value of a name in the query string.
    pub(crate) fn parameter_of(&self, name: &str) -> Option<String> {
        fields::values(self.query, name).next().map(Cow::into_owned)
    }

    /// The body as the JSON it must be.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Problem> {
        let refused =
            |error: serde_json::Error| Refusal::Malformed(format!("the body cannot be decoded: {error}"));
        Ok(serde_json::from_slice(self.body).map_err(refused)?)
    }

    /// A header's text; of one that stands there twice, none: what was signed would be anyone's guess.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    }
}

/// What there is to say about a request once it is answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestFacts {
    pub(crate) account: Option<access::AccountId>,
    pub(crate) candles: usize,
    /// Whoever a proxy has asked for.
    pub(crate) client: Option<IpAddr>,
}

/// Where it is written down meanwhile.
#[derive(Debug, Default)]
pub(crate) struct RequestNotes {
    account: Cell<Option<access::AccountId>>,
    candles: Cell<usize>,
}

impl RequestNotes {
    /// The account that asks.
    pub(crate) fn account(&self, id: access::AccountId) {
        self.account.set(Some(id));
    }

    /// How many candles are sent.
    pub(crate) fn candles(&self, count: usize) {
        self.candles.set(count);
    }

    pub(crate) fn noted(&self) -> RequestFacts {
        RequestFacts { account: self.account.get(), candles: self.candles.get(), client: None }
    }
}
