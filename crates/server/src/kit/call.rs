//! One complete HTTP request, as endpoints and pages see it.

use std::borrow::Cow;
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderMap;
use hyper::{Method, Response};
use serde_json::Value;

use super::counter::{self, COUNTER_ID};
use super::envelope::Problem;
use super::fields;
use super::listening::ListenerKind;
use super::terms::CredentialTerms;
use super::unique_fields;
use super::whole_numbers::without_zero_fractions;
use crate::intake::Arriving;
use crate::refusal::Refusal;

pub(crate) type Answer = Response<Full<Bytes>>;

/// The name of a path parameter, and its value.
pub(crate) type PathValue = (&'static str, String);

/// A request that has been read completely.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// What its row says about its proof.
    pub(crate) terms: CredentialTerms,
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    /// The values of the route's path parameters, decoded.
    pub(crate) path_values: &'a [PathValue],
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    /// The body as a file, on endpoints that take one.
    pub(crate) arriving: Option<&'a Arriving>,
    /// The client's address: the peer of the connection, or the client of a trusted proxy.
    pub(crate) peer: SocketAddr,
    /// The local address of the connection.
    pub(crate) reached: SocketAddr,
    /// The region of the listener; `None` if it serves every region.
    pub(crate) region: Option<access::Region>,
    /// A token from the URL, on endpoints that accept one there.
    pub(crate) address_token: Option<&'a access::Secret>,
    pub(crate) listener_kind: ListenerKind,
    /// Whether it comes from this machine. Determined only for rows that ask.
    pub(crate) is_local: bool,
    /// Facts for the log and the metrics, collected while the request is answered.
    pub(crate) note: &'a RequestNotes,
}

impl Call<'_> {
    /// The value of a path parameter; empty if the route has none of this name.
    pub(crate) fn path_value(&self, name: &str) -> &str {
        self.path_values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.as_str())
    }

    /// The first value of a query parameter.
    pub(crate) fn parameter_of(&self, name: &str) -> Option<String> {
        fields::values(self.query, name).next().map(Cow::into_owned)
    }

    /// The body, parsed as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Problem> {
        let refused =
            |error: serde_json::Error| Refusal::Malformed(format!("the body cannot be decoded: {error}"));
        Ok(self.object().map_err(refused)?)
    }

    /// The fields of a body that is a JSON object. The values of a list would do for fields, too, in their order, so it is refused.
    pub(crate) fn object<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        if self.body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            return Err(serde::de::Error::custom("a list is no object with fields"));
        }
        let body = without_zero_fractions(self.body);
        if !body.windows(COUNTER_ID.len()).any(|part| part == COUNTER_ID.as_bytes()) {
            return serde_json::from_slice(&body);
        }
        let mut fields = unique_fields::parse(&body)?;
        counter::fields(&mut fields).map_err(serde::de::Error::custom)?;
        serde_json::from_value(Value::Object(fields))
    }

    /// The text of a header. `None` if it is there twice: it would be unclear which one was signed.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    }
}

/// What the log and the metrics need of a request once it is answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestFacts {
    pub(crate) account: Option<access::AccountId>,
    pub(crate) candles: usize,
    /// The client's address, which a trusted proxy may have named.
    pub(crate) client: Option<IpAddr>,
}

/// Collects [`RequestFacts`] while the request is answered.
#[derive(Debug, Default)]
pub(crate) struct RequestNotes {
    account: Cell<Option<access::AccountId>>,
    candles: Cell<usize>,
    is_repeated: Cell<bool>,
}

impl RequestNotes {
    /// Notes the account of the caller.
    pub(crate) fn account(&self, id: access::AccountId) {
        self.account.set(Some(id));
    }

    /// Notes the number of candles in the answer.
    pub(crate) fn candles(&self, count: usize) {
        self.candles.set(count);
    }

    /// Notes that an earlier request with the same idempotency key did the same.
    pub(crate) fn repeated(&self, is_repeated: bool) {
        self.is_repeated.set(is_repeated);
    }

    pub(crate) fn is_repeated(&self) -> bool {
        self.is_repeated.get()
    }

    pub(crate) fn noted(&self) -> RequestFacts {
        RequestFacts { account: self.account.get(), candles: self.candles.get(), client: None }
    }
}
