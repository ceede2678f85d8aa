//! Which of the two gateways a connection is for. Commands 16 and 17 mean one thing on the quote gateway (participants, single
//! trades) and another on the trade gateway (subscribe, unsubscribe). The path of the upgrade may say it. Where it does not,
//! both share an address: what a client has shown of itself decides first, then the body of the command.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use access::{Lineage, Permit};
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
use prost::{DecodeError, Message};
use wire::{command, trade};

use crate::command::Reply;
use crate::refusal::Refusal;

/// The trade gateway's own commands.
const SUBSCRIBE: u8 = 16;
const UNSUBSCRIBE: u8 = 17;
/// Where a request for single trades has how many are wanted; topics are in field 1 alone.
const TRADES_COUNT_FIELD: u32 = 2;

/// Topics that one request may name.
const TOPICS_MAX: usize = 16;
/// Clients that are remembered after their connection has ended. Whoever is forgotten is judged by the body alone.
const REMEMBERED_MAX: usize = 4096;

/// Which gateway a connection was opened for. Decided once, by the path of the upgrade; TCP has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum GatewayKind {
    Quote,
    Trade,
    /// Either, as its commands tell: the default path of the SDKs is the same for both.
    #[default]
    Mixed,
}

impl GatewayKind {
    /// The last segment says it, so that a proxy may put whatever it likes in front.
    pub(crate) fn of_path(path: &str) -> GatewayKind {
        match path.trim_end_matches('/').rsplit('/').next() {
            Some("quote") => GatewayKind::Quote,
            Some("trade") => GatewayKind::Trade,
            _ => GatewayKind::Mixed,
        }
    }
}

/// Which program is at the other end, as far as its upgrade request tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// An SDK built on the Rust core. It names a language in the upgrade of either gateway, and all but the oldest again when
    /// they sign in at the quote gateway. At the trade gateway the first thing it does when it comes back is to subscribe, also to
    /// nothing, and it tries again for ever if that is refused.
    CoreSdk,
    Other,
}

/// What a client has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// It has asked for something that only the quote gateway has. Topics are still topics.
    Asked,
    /// It named its language or its wish for overnight quotes when it signed in, or asked for its profile.
    Quote,
    /// It has subscribed to a topic.
    Trade,
}

/// Which gateway a signed-in connection is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gateway {
    Quote,
    Trade,
    Mixed(Mixed),
}

/// What tells on a mixed connection which gateway a command is meant for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixed {
    shown: Shown,
    program: Program,
    by: SignedInBy,
    lineage: Lineage,
}

/// How a connection has signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignedInBy {
    Password,
    /// The client has been here before.
    Session,
}

/// Whether the metadata of a sign-in are those of a quote client.
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

    /// Whether a command is meant for the trade gateway.
    pub(super) fn is_trade(&self, command: u8, body: &[u8]) -> bool {
        match self {
            Gateway::Quote => false,
            Gateway::Trade => matches!(command, SUBSCRIBE | UNSUBSCRIBE),
            Gateway::Mixed(mixed) => mixed.is_trade(command, body),
        }
    }

    /// Learns from a command of a mixed connection which gateway the client takes us for.
    pub(super) fn learn(&mut self, command: u8, body: &[u8], clients: &Clients) {
        if let Gateway::Mixed(mixed) = self {
            mixed.learn(command, body, clients);
        }
    }

    /// What is known of a mixed connection so far.
    pub(super) fn mixed(&self) -> Option<Mixed> {
        match self {
            Gateway::Mixed(mixed) => Some(*mixed),
            Gateway::Quote | Gateway::Trade => None,
        }
    }
}

impl Mixed {
    /// Of a connection that signs in. `before` is what the same connection was until now.
    pub(super) fn of(
        metadata: Metadata,
        program: Program,
        by: SignedInBy,
        lineage: Lineage,
        before: Option<Mixed>,
        clients: &Clients,
    ) -> Mixed {
        let known = before.map(|before| before.shown).unwrap_or(clients.recall(lineage));
        let shown = match (metadata, known) {
            // Whoever has subscribed to a topic is a trade client, whatever it names besides.
            (_, Shown::Trade) => Shown::Trade,
            (Metadata::OfQuotes, _) => Shown::Quote,
            (Metadata::Plain, known) => known,
        };
        // A second sign-in on one connection begins another lineage.
        if metadata == Metadata::Plain && before.is_some() && shown != Shown::Nothing {
            clients.remember(lineage, shown);
        }
        Mixed { shown, program, by, lineage }
    }

    /// Whether a command is meant for the trade gateway; the body is looked at only where it has to be.
    fn is_trade(&self, command: u8, body: &[u8]) -> bool {
        match (command, self.shown) {
            (SUBSCRIBE, Shown::Trade) => true,
            // An empty list is no list of topics, unless it comes from a client that sends those.
            (SUBSCRIBE, Shown::Nothing) => self.subscribes_to_nothing() || topics(body) != Ok(0),
            (SUBSCRIBE, Shown::Asked) => topics(body) != Ok(0),
            // Participants are asked for without a body: topics are topics.
            (SUBSCRIBE, Shown::Quote) => names_topics(body),
            (UNSUBSCRIBE, Shown::Trade | Shown::Nothing | Shown::Asked) => !has_count(body),
            _ => false,
        }
    }

    fn subscribes_to_nothing(&self) -> bool {
        (self.program, self.by) == (Program::CoreSdk, SignedInBy::Session)
    }

    fn learn(&mut self, command: u8, body: &[u8], clients: &Clients) {
        let shown = match (command, self.shown) {
            (command::PROFILE, Shown::Nothing | Shown::Asked | Shown::Trade) => Shown::Quote,
            (SUBSCRIBE, Shown::Nothing | Shown::Asked | Shown::Quote) if names_topics(body) => Shown::Trade,
            (SUBSCRIBE | UNSUBSCRIBE, _) => return,
            (_, Shown::Nothing) => Shown::Asked,
            _ => return,
        };
        self.shown = shown;
        clients.remember(self.lineage, shown);
    }
}

/// How many topics there are, if it is a list of them; what cannot be decoded is no question of the quote gateway either.
fn topics(body: &[u8]) -> Result<usize, DecodeError> {
    trade::SubscribeRequest::decode(body).map(|request| request.topics.len())
}

fn names_topics(body: &[u8]) -> bool {
    topics(body).is_ok_and(|count| count > 0)
}

/// Whether there is a number where a request for trades has one, zero or not.
fn has_count(mut body: &[u8]) -> bool {
    while !body.is_empty() {
        match decode_key(&mut body) {
            Ok((TRADES_COUNT_FIELD, WireType::Varint)) => return true,
            Ok((tag, kind)) if skip_field(kind, tag, &mut body, DecodeContext::default()).is_ok() => {}
            _ => return false,
        }
    }
    false
}

/// The least of a trade gateway: there is nothing to be notified of, and the client is content.
pub(super) fn answer(command: u8, body: &[u8], _: &Permit) -> Result<Reply, Refusal> {
    let malformed = |error| Refusal::Malformed(format!("the body cannot be decoded: {error}"));
    if command == UNSUBSCRIBE {
        trade::UnsubscribeRequest::decode(body).map_err(malformed)?;
        return Ok(Reply::Unsubscribed(trade::UnsubscribeResponse::default()));
    }
    let mut topics = trade::SubscribeRequest::decode(body).map_err(malformed)?.topics;
    topics.truncate(TOPICS_MAX);
    Ok(Reply::Subscribed(trade::SubscribeResponse {
        success: topics.clone(),
        fail: Vec::new(),
        current: topics,
    }))
}

/// What clients had shown that named nothing when they signed in. A client shows it once, on its first connection, and goes
/// on with its session on others.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients(Arc<Mutex<Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    shown: HashMap<Lineage, Shown>,
    /// Oldest first.
    order: VecDeque<Lineage>,
}

impl Clients {
    fn recall(&self, lineage: Lineage) -> Shown {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.shown.get(&lineage).copied().unwrap_or(Shown::Nothing)
    }

    fn remember(&self, lineage: Lineage, shown: Shown) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.shown.insert(lineage, shown).is_some() {
            return;
        }
        remembered.order.push_back(lineage);
        if remembered.order.len() > REMEMBERED_MAX
            && let Some(oldest) = remembered.order.pop_front()
        {
            remembered.shown.remove(&oldest);
        }
    }
}

#[cfg(test)]
#[path = "gateway_tests.rs"]
mod tests;
