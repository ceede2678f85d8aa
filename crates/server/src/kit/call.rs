//! A complete HTTP request, as passed to endpoints and pages, with the part of its route table row
//! that authentication needs and the listener that accepted it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr};

use access::{Region, Repetition};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderMap;
use hyper::{Method, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::counter::{self, COUNTER_ID};
use super::envelope::Problem;
use super::fields;
use super::json_text::{parse_unique, without_zero_fractions};
use crate::intake::Arriving;
use crate::refusal::Refusal;
use crate::worlds::Waiter;

pub(crate) type Answer = Response<Full<Bytes>>;

/// Prefix of the `User-Agent` header of Go's `net/http`, which the Go SDK does not override, neither
/// in requests nor in upgrades.
pub(crate) const GO_AGENT: &str = "Go-http-client/";

/// Name and value of a path parameter.
pub(crate) type PathValue = (&'static str, String);

/// An HTTP request whose body has been read completely.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// Credentials that the route's row requires.
    pub(crate) terms: CredentialTerms,
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    /// Decoded values of the route's path parameters.
    pub(crate) path_values: &'a [PathValue],
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    /// The body as a file, for endpoints that accept uploads.
    pub(crate) arriving: Option<&'a Arriving>,
    /// Client address: the connection's peer, or the address reported by a trusted proxy.
    pub(crate) peer: SocketAddr,
    /// Local address of the connection.
    pub(crate) reached: SocketAddr,
    /// Region of the listener, or `None` if the listener serves every region.
    pub(crate) region: Option<Region>,
    /// Token from the URL, for endpoints that accept a token there.
    pub(crate) address_token: Option<&'a access::Secret>,
    /// Name of a world from the URL, for browser sessions.
    pub(crate) world: Option<&'a str>,
    pub(crate) listener_kind: ListenerKind,
    /// Whether the request comes from this machine. Determined only for rows that need it.
    pub(crate) is_local: bool,
    /// Values for the log and metrics, collected while the request is processed.
    pub(crate) note: &'a RequestNotes,
}

impl Call<'_> {
    /// Returns the value of a path parameter, or an empty string if the route has no parameter with
    /// this name.
    pub(crate) fn path_value(&self, name: &str) -> &str {
        self.path_values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.as_str())
    }

    /// Returns the first value of a query parameter, or `None` if the parameter is absent.
    pub(crate) fn parameter_of(&self, name: &str) -> Option<String> {
        fields::values(self.query, name).next().map(Cow::into_owned)
    }

    /// Parses the body as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Problem> {
        let refused =
            |error: serde_json::Error| Refusal::Malformed(format!("the body cannot be decoded: {error}"));
        Ok(self.object().map_err(refused)?)
    }

    /// Parses the body as a JSON object. Arrays are refused explicitly, because serde would
    /// deserialize an array into a struct by position.
    pub(crate) fn object<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        if self.body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            return Err(serde::de::Error::custom("expected an object, not a list"));
        }
        let body = without_zero_fractions(self.body);
        if !body.windows(COUNTER_ID.len()).any(|part| part == COUNTER_ID.as_bytes()) {
            return serde_json::from_slice(&body);
        }
        let mut fields = parse_unique(&body)?;
        counter::fields(&mut fields).map_err(serde::de::Error::custom)?;
        serde_json::from_value(Value::Object(fields))
    }

    /// Returns a header as text, or `None` if the header is absent or repeated. For a repeated
    /// header, it would be ambiguous which value was signed.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    }
}

/// Values that the log and metrics need after the response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestFacts {
    pub(crate) account: Option<access::AccountId>,
    pub(crate) candles: usize,
    /// Client address, which a trusted proxy may have reported. `None` until it is known.
    pub(crate) client: Option<IpAddr>,
}

/// Collects [`RequestFacts`] while the request is processed.
#[derive(Debug, Default)]
pub(crate) struct RequestNotes {
    account: Cell<Option<access::AccountId>>,
    candles: Cell<usize>,
    is_repeated: Cell<bool>,
    /// The movement of a world's clock after which the request is restarted.
    waiter: RefCell<Option<Waiter>>,
}

impl RequestNotes {
    /// Records the caller's account.
    pub(crate) fn account(&self, id: access::AccountId) {
        self.account.set(Some(id));
    }

    /// Records the number of candles in the response.
    pub(crate) fn candles(&self, count: usize) {
        self.candles.set(count);
    }

    /// Records whether the request was a retry with a known idempotency key.
    pub(crate) fn repeated(&self, is_repeated: bool) {
        self.is_repeated.set(is_repeated);
    }

    /// Records that the request must wait for the clock of its world.
    pub(crate) fn wait(&self, waiter: Waiter) {
        *self.waiter.borrow_mut() = Some(waiter);
    }

    pub(crate) fn take_waiter(&self) -> Option<Waiter> {
        self.waiter.borrow_mut().take()
    }

    pub(crate) fn is_repeated(&self) -> bool {
        self.is_repeated.get()
    }

    pub(crate) fn noted(&self) -> RequestFacts {
        RequestFacts { account: self.account.get(), candles: self.candles.get(), client: None }
    }
}

/// The part of a row that authentication needs. This type is not in `row.rs` because that would
/// create a dependency cycle: rows refer to handlers, handlers take a request, and requests refer
/// to these terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CredentialTerms {
    pub(crate) home: Home,
    pub(crate) effect: Effect,
    /// Whether a browser session is accepted as credentials.
    pub(crate) takes_session: bool,
    pub(crate) world: WorldEntry,
}

/// Account whose data a browser session gets if its request names a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorldEntry {
    /// The world's account, as of the clock of the world.
    World,
    /// The owner's account. Reads are as of the clock of the world.
    Owner,
    /// The request is refused, because the endpoint is not about a market.
    Refused,
    /// The request is refused, even with the API key of a world, because the data is current and a
    /// world must not see later data.
    Outside,
}

/// Which accounts a regional listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// All accounts. The endpoint is public, or for signing in, or it returns market data, for
    /// which the route itself checks the region.
    Anywhere,
    /// Only accounts of the listener's region, because the endpoint concerns the account itself.
    /// Tokens of other accounts are invalid here.
    OwnRegion,
}

/// Whether a request changes state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Changes state unless the method is GET, HEAD or OPTIONS.
    ByMethod,
    /// Never changes state, whatever the method. SDKs sign with a timestamp in seconds, so two
    /// equal requests within a second have the same signature. Both requests are answered, whereas
    /// a change with a repeated signature is refused.
    Question,
    /// Changes state unless the method is GET, HEAD or OPTIONS, and a client may intend the same
    /// change twice. For example, two equal orders within a second are both executed.
    Orders,
}

impl CredentialTerms {
    /// Terms of a request without an endpoint, which changes nothing.
    pub(crate) const NO_ROW: CredentialTerms = CredentialTerms {
        home: Home::Anywhere,
        effect: Effect::Question,
        takes_session: false,
        world: WorldEntry::Refused,
    };

    /// Returns whether a request with this method changes state.
    pub(crate) fn is_change(self, method: &Method) -> bool {
        let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        !is_safe && self.effect != Effect::Question
    }

    /// Returns whether the signature of a change may be repeated.
    pub(crate) fn repetition(self) -> Repetition {
        match self.effect {
            Effect::Orders => Repetition::InAMoment,
            Effect::ByMethod | Effect::Question => Repetition::Never,
        }
    }
}

/// A listener, as shown to operators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listening {
    pub(crate) kind: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) region: Option<Region>,
    pub(crate) is_tls: bool,
}

/// A listening socket of the server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Listener")]
pub(crate) struct ListenerDocument {
    kind: &'static str,
    address: String,
    /// Region of the accounts that the listener serves; null for all regions.
    region: Option<&'static str>,
    tls: bool,
}

impl Listening {
    pub(crate) fn document(&self) -> ListenerDocument {
        ListenerDocument {
            kind: self.kind,
            address: self.address.to_string(),
            region: self.region.map(Region::as_str),
            tls: self.is_tls,
        }
    }
}

/// The kind of listener that accepted a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    Public,
    /// Serves only monitoring, without authentication.
    Internal,
}
