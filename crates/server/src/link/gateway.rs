//! The gateway that a connection uses. Commands 16 and 17 mean different things on the quote
//! gateway (participants, trades) and on the trade gateway (subscribe, unsubscribe). The upgrade
//! path may name the gateway. Otherwise the connection serves both gateways: the client's earlier
//! commands decide which gateway a command is for, and without earlier commands, the body of the
//! command decides.
//!
//! This file also defines the shared state of all long connections, which contains the gateways of
//! known clients.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use access::{Lineage, Region};
use prost::encoding::WireType;
use prost::{DecodeError, Message};
use wire::{command, trade};

use crate::connection_limits::UnauthenticatedSlot;
use crate::core::Core;
use crate::dispatch::has_field;
use crate::links::Links;

/// Number of the subscription command of the trade gateway.
const SUBSCRIBE: u8 = trade::Command::Subscribe as u8;
/// Number of the trade gateway command that ends subscriptions.
pub(super) const UNSUBSCRIBE: u8 = trade::Command::Unsubscribe as u8;
/// Field number of the count in a request for trades. A list of topics has only field 1.
const TRADES_COUNT_FIELD: u32 = 2;

/// Maximum number of clients whose gateway is stored. For other clients, the body of a command
/// determines its gateway.
const REMEMBERED_MAX: usize = 4096;

/// The gateway that a connection was opened for, determined by the upgrade path. TCP connections
/// have no path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum GatewayKind {
    Quote,
    Trade,
    /// Both gateways, because the SDKs use the same default path for both.
    #[default]
    Mixed,
}

impl GatewayKind {
    /// Determines the gateway by the last path segment, so that a proxy may prepend a prefix.
    pub(crate) fn of_path(path: &str) -> GatewayKind {
        match path.trim_end_matches('/').rsplit('/').next() {
            Some("quote") => GatewayKind::Quote,
            Some("trade") => GatewayKind::Trade,
            _ => GatewayKind::Mixed,
        }
    }
}

/// The client program, as far as its upgrade request or its transport identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// An SDK built on the Rust core. It sends a language in the upgrade request on either gateway;
    /// all but the oldest versions send the language again when they sign in to the quote gateway.
    /// On the trade gateway it subscribes first after a reconnect, even to an empty list, and
    /// retries forever if the subscription is refused.
    CoreSdk,
    /// The Go SDK, which drops packets, including responses, while sixteen are queued.
    GoSdk,
    Other,
}

/// The gateway that a client has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UsedGateway {
    Unknown,
    /// The client has sent a command that only the quote gateway has. A list of topics is still
    /// handled by the trade gateway.
    QuoteCommand,
    /// The client sent its language or requested overnight quotes at sign-in, or requested its
    /// profile.
    Quote,
    /// The client has subscribed to a topic.
    Trade,
}

impl UsedGateway {
    const ALL: [UsedGateway; 4] =
        [UsedGateway::Unknown, UsedGateway::QuoteCommand, UsedGateway::Quote, UsedGateway::Trade];

    /// Returns the name under which the state is stored for other nodes.
    const fn as_str(self) -> &'static str {
        match self {
            UsedGateway::Unknown => "unknown",
            UsedGateway::QuoteCommand => "quote_command",
            UsedGateway::Quote => "quote",
            UsedGateway::Trade => "trade",
        }
    }
}

/// The gateway of a signed-in connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gateway {
    Quote,
    Trade,
    Mixed(Mixed),
}

/// State that decides which gateway a command on a mixed connection is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixed {
    used: UsedGateway,
    program: Program,
    by: SignedInBy,
    lineage: Lineage,
}

/// How a connection signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignedInBy {
    Password,
    /// The client resumed the session of an earlier connection.
    Session,
}

/// Whether the sign-in metadata identifies the client as a quote client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metadata {
    OfQuotes,
    Plain,
}

impl Gateway {
    pub(super) fn of(kind: GatewayKind, mixed: impl FnOnce() -> Mixed) -> Gateway {
        match kind {
            GatewayKind::Quote => Gateway::Quote,
            GatewayKind::Trade => Gateway::Trade,
            GatewayKind::Mixed => Gateway::Mixed(mixed()),
        }
    }

    /// Returns whether a command is for the trade gateway.
    pub(super) fn is_trade(&self, command: u8, body: &[u8]) -> bool {
        match self {
            Gateway::Quote => false,
            Gateway::Trade => matches!(command, SUBSCRIBE | UNSUBSCRIBE),
            Gateway::Mixed(mixed) => mixed.is_trade(command, body),
        }
    }

    /// Updates the client's gateway from a command on a mixed connection. Returns the lineage and
    /// the new state if the state changed, or `None` otherwise.
    pub(super) fn learn(
        &mut self,
        command: u8,
        body: &[u8],
        clients: &Clients,
    ) -> Option<(Lineage, &'static str)> {
        match self {
            Gateway::Mixed(mixed) => mixed.learn(command, body, clients),
            Gateway::Quote | Gateway::Trade => None,
        }
    }

    /// Returns the state of a mixed connection, or `None` for a connection with a fixed gateway.
    pub(super) fn mixed(&self) -> Option<Mixed> {
        match self {
            Gateway::Mixed(mixed) => Some(*mixed),
            Gateway::Quote | Gateway::Trade => None,
        }
    }
}

impl Mixed {
    /// Returns the state after a sign-in. `before` is the previous state of the same connection.
    pub(super) fn of(
        metadata: Metadata,
        program: Program,
        by: SignedInBy,
        lineage: Lineage,
        before: Option<Mixed>,
        clients: &Clients,
    ) -> Mixed {
        let known = before.map(|before| before.used).unwrap_or(clients.recall(lineage));
        let used = match (metadata, known) {
            // A client that has subscribed to a topic is a trade client, regardless of its other
            // requests.
            (_, UsedGateway::Trade) => UsedGateway::Trade,
            (Metadata::OfQuotes, _) => UsedGateway::Quote,
            (Metadata::Plain, known) => known,
        };
        // A second sign-in on the same connection has a new lineage, so the state is stored under
        // the new lineage.
        if metadata == Metadata::Plain && before.is_some() && used != UsedGateway::Unknown {
            clients.remember(lineage, used);
        }
        Mixed { used, program, by, lineage }
    }

    /// Returns whether a command is for the trade gateway. The body is inspected only if the
    /// earlier commands do not decide.
    fn is_trade(&self, command: u8, body: &[u8]) -> bool {
        match (command, self.used) {
            (SUBSCRIBE, UsedGateway::Trade) => true,
            // An empty list is a subscription only if the client is known to subscribe to empty
            // lists.
            (SUBSCRIBE, UsedGateway::Unknown) => self.subscribes_to_nothing() || topics(body) != Ok(0),
            (SUBSCRIBE, UsedGateway::QuoteCommand) => topics(body) != Ok(0),
            // A request for participants has no body, so a non-empty list of topics is for the
            // trade gateway.
            (SUBSCRIBE, UsedGateway::Quote) => names_topics(body),
            (UNSUBSCRIBE, UsedGateway::Trade | UsedGateway::Unknown | UsedGateway::QuoteCommand) => {
                !has_count(body)
            }
            _ => false,
        }
    }

    fn subscribes_to_nothing(&self) -> bool {
        (self.program, self.by) == (Program::CoreSdk, SignedInBy::Session)
    }

    fn learn(&mut self, command: u8, body: &[u8], clients: &Clients) -> Option<(Lineage, &'static str)> {
        let used = match (command, self.used) {
            (command::PROFILE, UsedGateway::Unknown | UsedGateway::QuoteCommand | UsedGateway::Trade) => {
                UsedGateway::Quote
            }
            (SUBSCRIBE, UsedGateway::Unknown | UsedGateway::QuoteCommand | UsedGateway::Quote)
                if names_topics(body) =>
            {
                UsedGateway::Trade
            }
            (SUBSCRIBE | UNSUBSCRIBE, _) => return None,
            (_, UsedGateway::Unknown) => UsedGateway::QuoteCommand,
            _ => return None,
        };
        self.used = used;
        clients.remember(self.lineage, used);
        Some((self.lineage, used.as_str()))
    }
}

/// Returns the number of topics in a body, or an error if the body is not a list of topics.
fn topics(body: &[u8]) -> Result<usize, DecodeError> {
    trade::SubscribeRequest::decode(body).map(|request| request.topics.len())
}

fn names_topics(body: &[u8]) -> bool {
    topics(body).is_ok_and(|count| count > 0)
}

/// Returns whether a body has the count field of a request for trades, even if the count is zero.
fn has_count(body: &[u8]) -> bool {
    has_field(body, |field, kind| (field, kind) == (TRADES_COUNT_FIELD, WireType::Varint))
}

/// Gateways used by earlier connections, for clients that do not name a gateway at sign-in. Such a
/// client reveals its gateway only on its first connection and resumes the session on later
/// connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients(Arc<Mutex<Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    used: HashMap<Lineage, UsedGateway>,
    /// Lineages of the known clients, oldest first.
    order: VecDeque<Lineage>,
}

impl Clients {
    /// Stores a gateway that another node recorded. An unknown value, which a newer version may
    /// have written, is ignored.
    pub(super) fn take_in(&self, lineage: Lineage, word: &str) {
        let used = UsedGateway::ALL.into_iter().find(|used| used.as_str() == word);
        if let Some(used) = used {
            self.remember(lineage, used);
        }
    }

    fn recall(&self, lineage: Lineage) -> UsedGateway {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.used.get(&lineage).copied().unwrap_or(UsedGateway::Unknown)
    }

    fn remember(&self, lineage: Lineage, used: UsedGateway) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.used.insert(lineage, used).is_some() {
            return;
        }
        remembered.order.push_back(lineage);
        if remembered.order.len() > REMEMBERED_MAX
            && let Some(oldest) = remembered.order.pop_front()
        {
            remembered.used.remove(&oldest);
        }
    }
}

/// Shared state of all long connections besides the core: the signed-in connections, and the
/// gateways that known clients use.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(super) core: Arc<Core>,
    pub(super) links: Links,
    pub(super) clients: Clients,
}

impl Hub {
    pub(crate) fn new(core: Arc<Core>, links: Links) -> Hub {
        Hub { core, links, clients: Clients::default() }
    }
}

/// Origin of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) address: SocketAddr,
    /// Region of the listener, or `None` if the listener serves every region.
    pub(crate) region: Option<Region>,
    pub(crate) program: Program,
    /// Slot in the limit on unauthenticated connections.
    pub(crate) unauthenticated: UnauthenticatedSlot,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Lineage {
        Lineage::new().unwrap()
    }

    #[test]
    fn gateways_are_stored_by_lineage_up_to_a_limit() {
        let clients = Clients::default();
        let first = line();
        clients.remember(first, UsedGateway::Trade);
        assert_eq!(
            (clients.recall(first), clients.recall(line())),
            (UsedGateway::Trade, UsedGateway::Unknown)
        );
        for _ in 1..REMEMBERED_MAX {
            clients.remember(line(), UsedGateway::Quote);
        }
        assert_eq!(clients.recall(first), UsedGateway::Trade);
        // A client that switches gateways is not stored twice.
        clients.remember(first, UsedGateway::Quote);
        assert_eq!(clients.recall(first), UsedGateway::Quote);
        clients.remember(line(), UsedGateway::Trade);
        assert_eq!(clients.recall(first), UsedGateway::Unknown, "the oldest is forgotten");
        let remembered = clients.0.lock().unwrap();
        assert_eq!((remembered.used.len(), remembered.order.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
    }

    #[test]
    fn clients_that_identify_themselves_are_not_stored() {
        let clients = Clients::default();
        let of = |metadata| Mixed::of(metadata, Program::Other, SignedInBy::Password, line(), None, &clients);
        of(Metadata::OfQuotes).learn(command::PROFILE, &[], &clients);
        // Empty and undecodable bodies are not stored either.
        of(Metadata::Plain).learn(SUBSCRIBE, &[], &clients);
        of(Metadata::Plain).learn(SUBSCRIBE, &[0x0a, 0x7f], &clients);
        of(Metadata::Plain).learn(UNSUBSCRIBE, &[0x0a, 1, b'x'], &clients);
        of(Metadata::OfQuotes).learn(command::HISTORY, &[], &clients);
        assert!(clients.0.lock().unwrap().order.is_empty());
    }

    #[test]
    fn only_a_varint_in_field_two_is_a_count() {
        for (body, wanted) in [
            (&[][..], false),
            (&[0x0a, 1, b'x'], false),
            (&[0x0a, 1, b'x', 0x10, 5], true),
            (&[0x10, 0], true),
            (&[0x10, 5, 0x0a, 1, b'x'], true),
            (&[0x18, 9, 0x10, 5], true),
            // These messages have bytes in field 2, a number in field 1, or a number in field 3.
            (&[0x12, 1, 5], false),
            (&[0x08, 5], false),
            (&[0x18, 5], false),
            // These messages are truncated.
            (&[0x0a, 9, 0x10, 5], false),
            (&[0xff], false),
        ] {
            assert_eq!(has_count(body), wanted, "{body:?}");
        }
    }

    #[test]
    fn the_last_segment_of_a_path_names_the_gateway() {
        for (path, kind) in [
            ("/quote", GatewayKind::Quote),
            ("/v2/quote", GatewayKind::Quote),
            ("/v2/quote/", GatewayKind::Quote),
            ("//quote", GatewayKind::Quote),
            ("/trade", GatewayKind::Trade),
            ("/behind/a/proxy/trade//", GatewayKind::Trade),
            ("/", GatewayKind::Mixed),
            ("", GatewayKind::Mixed),
            ("/v2", GatewayKind::Mixed),
            ("/trade/v2", GatewayKind::Mixed),
            ("/Trade", GatewayKind::Mixed),
            ("/quotes", GatewayKind::Mixed),
        ] {
            assert_eq!(GatewayKind::of_path(path), kind, "{path}");
        }
    }
}
