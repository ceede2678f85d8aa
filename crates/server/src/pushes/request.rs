//! Commands 5, 6 and 7: the subscriptions of one connection.

use access::{Demand, Fit, Lineage, Permit};
use feed::{ConnectionId, FirstPush, SubType, SubTypes};
use market::Symbol;
use prost::Message;
use serde_json::json;
use wire::command::{SUBSCRIBE, SUBSCRIPTIONS, UNSUBSCRIBE};
use wire::quote::{
    SubscribeRequest, Subscription, SubscriptionsResponse, UnsubscribeRequest, UnsubscribeResponse,
};
use world::Reserved;

use super::replay::RESENT_ROOM;
use super::{Channel, with_channel};
use crate::caller::Caller;
use crate::core::Core;
use crate::live::{LeftOut, NO_RIGHT, Pull, Recipient, STREAMS_MAX, Wanted};
use crate::mailbox::Mailbox;
use crate::market_clock::ClockSpeed;
use crate::message::{Reply, Response, SYMBOLS_MAX, undecodable};
use crate::quote_push::{ClockPush, encode_clock};
use crate::refusal::Refusal;
use crate::settings::PUSH_QUEUE_MIN;
use crate::worlds::{LineKind, World};

const MALFORMED: &str = "malformed";
const OPTION: &str = "option";
const WRONG_REGION: &str = "wrong region";
const OVER_LIMIT: &str = "over the limit";
/// Maximum number of securities named in a log line about a subscription.
const NAMED_MAX: usize = 20;
/// The queue has room for the first pushes of a request in addition to repeated pushes.
const _: () = assert!(RESENT_ROOM > SYMBOLS_MAX && RESENT_ROOM < PUSH_QUEUE_MIN);

/// A subscription command on a connection. The command runs on a thread that may block.
#[derive(Debug)]
pub(crate) struct SubscriptionRequest {
    pub(crate) command: u8,
    pub(crate) body: Vec<u8>,
    pub(crate) caller: Caller,
    pub(crate) connection: access::ConnectionId,
    /// Identifies the client across its connections.
    pub(crate) lineage: Lineage,
    pub(crate) mailbox: Mailbox,
    /// Recent candle requests of this connection.
    pub(crate) pulls: Vec<Pull>,
}

/// Returns whether this is a command about subscriptions.
pub(crate) fn is_subscription(command: u8) -> bool {
    matches!(command, SUBSCRIPTIONS | SUBSCRIBE | UNSUBSCRIBE)
}

/// Executes a subscription command. Pushes that follow the response are already in the connection's
/// mailbox, so the connection must send the response before it takes pushes.
pub(crate) fn answer(core: &Core, request: &SubscriptionRequest) -> Result<Reply, Refusal> {
    core.version_check()?;
    let caller = &request.caller;
    match request.command {
        SUBSCRIBE => subscribe(core, request).map(Response::encode),
        UNSUBSCRIBE => {
            with_channel(core, caller, |channel| unsubscribe(channel, request)).map(Response::encode)
        }
        _ => {
            core.access.admit_call(
                &caller.who,
                core.limits.calls,
                access::Freshness::Recent,
                core.uptime(),
            )?;
            with_channel(core, caller, |channel| Ok(Response::encode(list(channel, request.connection))))
        }
    }
}

fn list(core: &Channel<'_>, connection: access::ConnectionId) -> SubscriptionsResponse {
    let subscribed = core.live.of_connection(connection);
    let sub_list = subscribed.list.into_iter().map(|(symbol, types)| subscription(&symbol, types));
    let mut sub_list: Vec<Subscription> = sub_list.collect();
    if core.live.subscriptions().has_clock(ConnectionId(connection.number())) {
        let place = sub_list.partition_point(|before| before.symbol.as_str() < world::CLOCK);
        sub_list.insert(place, clock_subscription());
    }
    SubscriptionsResponse { sub_list }
}

fn clock_subscription() -> Subscription {
    Subscription { symbol: world::CLOCK.to_owned(), sub_type: vec![SubType::Quote.code().into()] }
}

/// Returns whether a symbol means the clock of the client's world or of the server. The machine
/// clock is not pushed.
fn is_clock(text: &str, core: &Channel<'_>) -> bool {
    let is_set = core.world().is_some() || core.pace() != ClockSpeed::Machine;
    is_set && Reserved::parse(text) == Some(Reserved::Clock)
}

fn subscription(symbol: &Symbol, types: SubTypes) -> Subscription {
    Subscription { symbol: symbol.as_str().to_owned(), sub_type: codes(types) }
}

fn subscribe(core: &Core, request: &SubscriptionRequest) -> Result<SubscriptionsResponse, Refusal> {
    let message = SubscribeRequest::decode(&*request.body).map_err(|error| undecodable(&error))?;
    let types = types(&message.sub_type)?;
    let (first_push, excess) = match message.is_first_push {
        true => (FirstPush::Wanted, Excess::Refused),
        false => (FirstPush::Unwanted, Excess::LeftOut),
    };
    let wish = Wish {
        caller: &request.caller,
        id: ConnectionId(request.connection.number()),
        connection: Some(request.connection),
        slot: request.connection,
        lineage: Some(request.lineage),
        mailbox: &request.mailbox,
        symbols: &message.symbol,
        types,
        first_push,
        excess,
        pulls: &request.pulls,
    };
    subscribe_to(core, &wish)
}

/// A subscription request of a connection or a stream.
pub(super) struct Wish<'a> {
    pub(super) caller: &'a Caller,
    pub(super) id: ConnectionId,
    /// The connection; `None` for a stream.
    pub(super) connection: Option<access::ConnectionId>,
    /// The connection or the stream, whose subscriptions count toward the account's limit.
    pub(super) slot: access::ConnectionId,
    pub(super) lineage: Option<Lineage>,
    pub(super) mailbox: &'a Mailbox,
    pub(super) symbols: &'a [String],
    pub(super) types: SubTypes,
    pub(super) first_push: FirstPush,
    pub(super) excess: Excess,
    pub(super) pulls: &'a [Pull],
}

/// How a request that exceeds the account's limit is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    Refused,
    /// The last symbols in ascending order are left out.
    LeftOut,
}

/// Subscribes, and queues the first pushes.
pub(super) fn subscribe_to(core: &Core, wish: &Wish<'_>) -> Result<SubscriptionsResponse, Refusal> {
    with_channel(core, wish.caller, |channel| subscribe_on(channel, wish))
}

fn subscribe_on(core: &Channel<'_>, wish: &Wish<'_>) -> Result<SubscriptionsResponse, Refusal> {
    let &Wish { caller, types, first_push, .. } = wish;
    let permit = core.access.admit(Demand::Open { caller: &caller.who }, caller.now())?;
    let recipient = Recipient {
        id: wish.id,
        connection: wish.connection,
        who: caller.who,
        mailbox: wish.mailbox.clone(),
        overnight: caller.overnight && permit.overnight(),
    };
    let (mut wanted, mut left_out) = sort_out(core, caller, &permit, wish.symbols)?;
    let over = over_limit(core, &permit, wish, &wanted)?;
    wanted.retain(|wanted| over.binary_search(&wanted.symbol).is_err());
    left_out.extend(over.iter().map(|symbol| left(symbol.as_str(), OVER_LIMIT)));

    // Held until the first pushes are queued, so that later pushes follow the first pushes.
    let mut publisher = core.live.publisher();
    let subscriptions = core.live.subscriptions();
    if wish.connection.is_none() && subscriptions.streams(permit.account().id) >= STREAMS_MAX {
        return Err(Refusal::TooMany(format!("too many streams: {STREAMS_MAX} of {STREAMS_MAX} open")));
    }
    let is_first = subscriptions.registry.symbols().next().is_none();
    drop(subscriptions);
    publisher.publish_due(core)?;
    publisher.begin(core, caller.as_of, is_first)?;
    let stored: Vec<&Symbol> = wanted.iter().filter(|of| of.is_stored).map(|of| &of.symbol).collect();
    publisher.load_all(core, &stored, caller.as_of)?;
    let mut subscriptions = core.live.subscriptions();
    let had: Vec<SubTypes> =
        wanted.iter().map(|wanted| subscriptions.types(recipient.id, &wanted.symbol)).collect();
    subscriptions.subscribe(&recipient, &wanted, types, first_push);
    let is_new = had.iter().any(|had| !types.without(*had).is_empty());
    subscriptions.leave_out(recipient.id, left_out);
    let has_clock = types.contains(SubType::Quote) && wish.symbols.iter().any(|text| is_clock(text, core));
    if has_clock {
        subscriptions.subscribe_clock(recipient.id);
    }
    let stored: Vec<&Wanted> = wanted.iter().filter(|wanted| wanted.is_stored).collect();
    let sub_list =
        stored.iter().map(|of| subscription(&of.symbol, subscriptions.types(recipient.id, &of.symbol)));
    let mut sub_list: Vec<Subscription> = sub_list.collect();
    if has_clock {
        let before = wish.symbols.iter().take_while(|text| !is_clock(text, core));
        let before: Vec<Symbol> = before.filter_map(|text| text.parse().ok()).collect();
        let place = stored.iter().filter(|of| before.contains(&of.symbol)).count();
        sub_list.insert(place, clock_subscription());
    }
    let response = SubscriptionsResponse { sub_list };
    // Released now, so that other connections do not wait while the first pushes are computed.
    drop(subscriptions);
    record_pending(core, recipient.id, wish.slot);
    if let Some(world) = core.world().filter(|_| is_new) {
        note_subscription(core, world, LineKind::Subscribed, wish.symbols, &codes(types));
    }

    for wanted in wanted.iter().filter(|wanted| wanted.is_stored && types.contains(SubType::Trades)) {
        let missing = core.live.subscriptions().missing(wish.lineage, &wanted.symbol, core.uptime());
        let missing = missing.filter(|_| first_push == FirstPush::Unwanted);
        publisher.resend(core, &recipient, &wanted.symbol, missing, caller.as_of)?;
    }
    for (wanted, had) in wanted.iter().zip(had).filter(|(wanted, _)| wanted.is_stored) {
        let pull = wish.pulls.iter().find(|pull| pull.symbol == wanted.symbol);
        publisher.catch_up(core, &recipient, &wanted.symbol, types.without(had), (pull, caller.as_of))?;
    }
    if first_push == FirstPush::Wanted && types.contains(SubType::Quote) {
        for Wanted { symbol, .. } in stored {
            publisher.first_push(core, &recipient, symbol, caller.as_of)?;
        }
    }
    if has_clock {
        let (now, step) = match core.world() {
            Some(world) => (world.now(core.uptime()), world.standing().step),
            None => (caller.now(), publisher.steps()),
        };
        let first = ClockPush { now, step, pushes: 0 };
        core.live.subscriptions().send_clock(encode_clock(&first), Some(recipient.id));
    }
    if core.world().is_some() && !wish.symbols.is_empty() {
        core.worlds.subscribed(caller.who.account(), core.uptime());
    }
    // Without subscribers, the publisher was idle.
    core.live.sooner().notify_one();
    Ok(response)
}

/// Counts the securities of a request toward the account's limit, on all nodes. Returns the
/// securities that exceed the limit, in ascending order, or refuses the request.
fn over_limit(
    core: &Channel<'_>,
    permit: &Permit,
    wish: &Wish<'_>,
    wanted: &[Wanted],
) -> Result<Vec<Symbol>, Refusal> {
    let (account, limit) = (permit.account().id, permit.account().terms.subscriptions);
    let symbols: Vec<Symbol> = wanted.iter().map(|wanted| wanted.symbol.clone()).collect();
    let too_many = |used: u32, more: usize| {
        let text = format!("too many subscriptions: {used} of {limit} used, {more} more asked");
        Refusal::TooManySubscriptions(text)
    };
    let is_refused = wish.excess == Excess::Refused;
    let fit = if is_refused { Fit::AllOrNothing } else { Fit::Smallest };
    let reserve = |symbols: &[Symbol]| {
        let reserved = core.access.reserve_subscriptions(account, wish.slot, symbols, (limit, fit));
        reserved.map_err(|error| Refusal::of_access(&error))
    };
    if is_refused && wish.symbols.len() > SYMBOLS_MAX {
        let used = reserve(&[])?.used;
        let (_, more) = core.live.subscriptions().securities(account, &symbols);
        return Err(too_many(used, more));
    }
    let reserved = reserve(&symbols)?;
    if is_refused && !reserved.over.is_empty() {
        return Err(too_many(reserved.used, reserved.over.len()));
    }
    Ok(reserved.over)
}

/// Splits the symbols of a request into symbols to subscribe to, in request order, and symbols to
/// leave out.
fn sort_out(
    core: &Channel<'_>,
    caller: &Caller,
    permit: &Permit,
    texts: &[String],
) -> Result<(Vec<Wanted>, Vec<LeftOut>), Refusal> {
    let version = core.version_check()?;
    let is_foreign = core.own_region_only(caller).is_err();
    let (mut wanted, mut left_out): (Vec<Wanted>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    let mut seen = std::collections::HashSet::new();
    for text in texts {
        if is_clock(text, core) {
            continue;
        }
        let Ok(symbol) = text.parse::<Symbol>() else {
            left_out.push(left(text, MALFORMED));
            continue;
        };
        if !seen.insert(symbol.clone()) {
            continue;
        }
        let reason = match () {
            () if is_foreign => Some(WRONG_REGION),
            () if symbol.is_us_option() => Some(OPTION),
            () if !permit.holds(symbol.market().into()) => Some(NO_RIGHT),
            () => None,
        };
        if let Some(reason) = reason {
            left_out.push(left(symbol.as_str(), reason));
            continue;
        }
        let is_stored = match core.known(&symbol, version, caller.as_of) {
            Ok(()) => true,
            // For a security without visible candles, pushes begin with its first candle.
            Err(Refusal::BadQuery(_) | Refusal::NoQuotes(_)) => core.is_stored(&symbol)?,
            Err(refusal) => return Err(refusal),
        };
        wanted.push(Wanted { symbol, is_stored });
    }
    Ok((wanted, left_out))
}

/// Maximum number of stored characters of a malformed symbol.
const ECHO_CHARS_MAX: usize = 40;

fn left(symbol: &str, reason: &'static str) -> LeftOut {
    LeftOut { symbol: symbol.chars().take(ECHO_CHARS_MAX).collect(), reason }
}

fn unsubscribe(core: &Channel<'_>, request: &SubscriptionRequest) -> Result<UnsubscribeResponse, Refusal> {
    let message = UnsubscribeRequest::decode(&*request.body).map_err(|error| undecodable(&error))?;
    let connection = ConnectionId(request.connection.number());
    // A request with symbols ends all types of these symbols.
    let note = |types: &[i32]| {
        if let Some(world) = core.world() {
            note_subscription(core, world, LineKind::Unsubscribed, &message.symbol, types);
        }
    };
    if message.unsub_all && message.symbol.is_empty() {
        note(&[]);
        core.live.subscriptions().unsubscribe_all(connection);
        core.access.release_subscriptions(request.connection, None);
        record_pending(core, connection, request.connection);
        return Ok(UnsubscribeResponse {});
    }
    let types =
        if message.unsub_all { SubType::ALL.into_iter().collect() } else { types(&message.sub_type)? };
    let symbols: Vec<Symbol> = message.symbol.iter().filter_map(|text| text.parse().ok()).collect();
    if types.contains(SubType::Quote) && message.symbol.iter().any(|text| is_clock(text, core)) {
        core.live.subscriptions().unsubscribe_clock(connection);
    }
    note(&codes(types));
    let ended = core.live.subscriptions().unsubscribe(connection, &symbols, types);
    if !ended.is_empty() {
        core.access.release_subscriptions(request.connection, Some(&ended));
        record_pending(core, connection, request.connection);
    }
    Ok(UnsubscribeResponse {})
}

/// Records for other nodes what a connection or a stream requested and does not get.
pub(super) fn record_pending(core: &Channel<'_>, id: ConnectionId, slot: access::ConnectionId) {
    if !core.access.is_shared() {
        return;
    }
    let pending = core.live.subscriptions().pending_to_record(id);
    if let Some(text) = pending
        && let Err(error) = core.access.set_pending(slot, &text)
    {
        tracing::debug!(%error, "cannot describe subscriptions to other nodes");
    }
}

/// Records a change of a program's subscriptions in the log of its world. `types` are the
/// protocol's numbers.
fn note_subscription(core: &Core, world: &World, kind: LineKind, symbols: &[String], types: &[i32]) {
    let named: Vec<String> =
        symbols.iter().take(NAMED_MAX).map(|symbol| symbol.chars().take(20).collect()).collect();
    let more = symbols.len().saturating_sub(named.len());
    let note = json!({"symbols": named, "more": more, "types": types});
    world.note(kind, world.now(core.uptime()), &note);
    if let Err(error) = world.will_write(&core.worlds, &core.access.database()) {
        tracing::error!(%error, world = world.id.0, "cannot note a subscription of a world");
    }
}

fn codes(types: SubTypes) -> Vec<i32> {
    types.iter().map(|kind| kind.code().into()).collect()
}

fn types(codes: &[i32]) -> Result<SubTypes, Refusal> {
    let kind = |code: &i32| u8::try_from(*code).ok().and_then(SubType::from_code);
    let types: Option<SubTypes> = codes.iter().map(kind).collect();
    match types {
        Some(types) if !types.is_empty() => Ok(types),
        Some(_) => Err(Refusal::BadQuery("sub_type is missing".to_owned())),
        None => Err(Refusal::BadQuery("sub_type is outside 1 to 4".to_owned())),
    }
}
