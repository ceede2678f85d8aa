//! Commands 5, 6 and 7: the subscriptions of one connection.

use access::{Demand, Fit, Permit};
use feed::{FirstPush, SubType, SubTypes};
use market::{Symbol, Timestamp};
use prost::Message;
use wire::command::{SUBSCRIBE, SUBSCRIPTIONS, UNSUBSCRIBE};
use wire::quote::{
    SubscribeRequest, Subscription, SubscriptionsResponse, UnsubscribeRequest, UnsubscribeResponse,
};

use super::subscriptions::{LeftOut, NO_RIGHT, Recipient, Wanted};
use crate::caller::Caller;
use crate::command::{Reply, Response, SYMBOLS_MAX, undecodable};
use crate::core::Core;
use crate::refusal::Refusal;

const MALFORMED: &str = "malformed";
const OPTION: &str = "option";
const WRONG_REGION: &str = "wrong region";
const OVER_LIMIT: &str = "over the limit";

/// A request on a connection, to be answered on a thread that may block.
#[derive(Debug)]
pub(crate) struct SubscriptionRequest {
    pub(crate) command: u8,
    pub(crate) body: Vec<u8>,
    pub(crate) caller: Caller,
    pub(crate) connection: access::ConnectionId,
    pub(crate) mailbox: crate::mailbox::Mailbox,
    /// Recent candle requests of this connection.
    pub(crate) pulls: Vec<Pull>,
}

/// A request for the newest candles of a security (command 19). A client that subscribes right
/// afterwards expects the pushes since then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pull {
    pub(crate) symbol: Symbol,
    /// Market time of the request.
    pub(crate) at: Timestamp,
}

/// Returns whether this is a command about subscriptions.
pub(crate) fn is_subscription(command: u8) -> bool {
    matches!(command, SUBSCRIPTIONS | SUBSCRIBE | UNSUBSCRIBE)
}

/// Answers a request. Pushes that follow the answer are in the connection's mailbox already, so the
/// connection must not take any until it has sent the answer.
pub(crate) fn answer(core: &Core, request: &SubscriptionRequest) -> Result<Reply, Refusal> {
    core.version_check()?;
    let caller = &request.caller;
    match request.command {
        SUBSCRIBE => subscribe(core, request).map(Response::encode),
        UNSUBSCRIBE => unsubscribe(core, request).map(Response::encode),
        _ => {
            core.access.admit_call(
                &caller.who,
                core.limits.calls,
                access::Freshness::Recent,
                core.uptime(),
            )?;
            Ok(Response::encode(list(core, request.connection)))
        }
    }
}

fn list(core: &Core, connection: access::ConnectionId) -> SubscriptionsResponse {
    let subscribed = core.live.of_connection(connection);
    let sub_list = subscribed.list.into_iter().map(|(symbol, types)| subscription(&symbol, types));
    SubscriptionsResponse { sub_list: sub_list.collect() }
}

fn subscription(symbol: &Symbol, types: SubTypes) -> Subscription {
    let sub_type = types.iter().map(|kind| kind.code().into()).collect();
    Subscription { symbol: symbol.as_str().to_owned(), sub_type }
}

fn subscribe(core: &Core, request: &SubscriptionRequest) -> Result<SubscriptionsResponse, Refusal> {
    let message = SubscribeRequest::decode(&*request.body).map_err(|error| undecodable(&error))?;
    let types = types(&message.sub_type)?;
    let first_push = if message.is_first_push { FirstPush::Wanted } else { FirstPush::Unwanted };
    let caller = &request.caller;
    let permit = core.access.admit(Demand::Open { caller: &caller.who }, caller.now())?;
    let recipient = Recipient {
        id: request.connection,
        who: caller.who,
        mailbox: request.mailbox.clone(),
        overnight: caller.overnight && permit.overnight(),
    };
    let (mut wanted, mut left_out) = sort_out(core, caller, &permit, &message.symbol)?;
    let over = reserve(core, &permit, request, &message, &wanted)?;
    wanted.retain(|wanted| over.binary_search(&wanted.symbol).is_err());
    left_out.extend(over.iter().map(|symbol| left(symbol.as_str(), OVER_LIMIT)));

    // Held until the first pushes are queued, so that no later push precedes them.
    let mut publisher = core.live.publisher();
    let mut subscriptions = core.live.subscriptions();
    publisher.begin(caller.now(), subscriptions.registry.symbols().next().is_none());
    let had: Vec<SubTypes> =
        wanted.iter().map(|wanted| subscriptions.types(recipient.id, &wanted.symbol)).collect();
    subscriptions.subscribe(&recipient, &wanted, types, first_push);
    subscriptions.leave_out(recipient.id, left_out);
    let stored: Vec<&Wanted> = wanted.iter().filter(|wanted| wanted.is_stored).collect();
    let sub_list =
        stored.iter().map(|of| subscription(&of.symbol, subscriptions.types(recipient.id, &of.symbol)));
    let response = SubscriptionsResponse { sub_list: sub_list.collect() };
    // Other connections need not wait while the first pushes are computed.
    drop(subscriptions);

    for (wanted, had) in wanted.iter().zip(had).filter(|(wanted, _)| wanted.is_stored) {
        let since = request.pulls.iter().find(|pull| pull.symbol == wanted.symbol).map(|pull| pull.at);
        publisher.catch_up(core, &recipient, &wanted.symbol, types.without(had), since)?;
    }
    if first_push == FirstPush::Wanted && types.contains(SubType::Quote) {
        for Wanted { symbol, .. } in stored {
            publisher.first_push(core, &recipient, symbol)?;
        }
    }
    // The publisher may have had nothing to do so far.
    core.live.sooner().notify_one();
    Ok(response)
}

/// Counts the securities of a request toward the account's limit on all nodes. Returns those that
/// do not fit, ascending. A request for first pushes is refused instead; after a reconnect clients
/// do not want any, and would repeat a refused request forever.
fn reserve(
    core: &Core,
    permit: &Permit,
    request: &SubscriptionRequest,
    message: &SubscribeRequest,
    wanted: &[Wanted],
) -> Result<Vec<Symbol>, Refusal> {
    let (account, limit) = (permit.account().id, permit.account().terms.subscriptions);
    let symbols: Vec<Symbol> = wanted.iter().map(|wanted| wanted.symbol.clone()).collect();
    let too_many = |used: u32, more: usize| {
        let text = format!("too many subscriptions: {used} of {limit} used, {more} more asked");
        Refusal::TooManySubscriptions(text)
    };
    let fit = if message.is_first_push { Fit::AllOrNothing } else { Fit::Smallest };
    if message.is_first_push && message.symbol.len() > SYMBOLS_MAX {
        let used = core.live.subscriptions().securities(account);
        return Err(too_many(used, message.symbol.len()));
    }
    let reserved = core.access.reserve_subscriptions(account, request.connection, &symbols, (limit, fit));
    let reserved = reserved.map_err(|error| Refusal::of_access(&error))?;
    if message.is_first_push && !reserved.over.is_empty() {
        return Err(too_many(reserved.used, reserved.over.len()));
    }
    Ok(reserved.over)
}

/// Divides the symbols of a request into those to subscribe to, in request order, and those to
/// leave out.
fn sort_out(
    core: &Core,
    caller: &Caller,
    permit: &Permit,
    texts: &[String],
) -> Result<(Vec<Wanted>, Vec<LeftOut>), Refusal> {
    let version = core.version_check()?;
    let is_foreign = core.own_region_only(caller).is_err();
    let (mut wanted, mut left_out): (Vec<Wanted>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    let mut seen = std::collections::HashSet::new();
    for text in texts {
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
            Err(Refusal::BadQuery(_) | Refusal::NoQuotes(_)) => false,
            Err(refusal) => return Err(refusal),
        };
        wanted.push(Wanted { symbol, is_stored });
    }
    Ok((wanted, left_out))
}

/// Maximum number of characters of a malformed symbol that are remembered.
const ECHO_CHARS_MAX: usize = 40;

fn left(symbol: &str, reason: &'static str) -> LeftOut {
    LeftOut { symbol: symbol.chars().take(ECHO_CHARS_MAX).collect(), reason }
}

fn unsubscribe(core: &Core, request: &SubscriptionRequest) -> Result<UnsubscribeResponse, Refusal> {
    let message = UnsubscribeRequest::decode(&*request.body).map_err(|error| undecodable(&error))?;
    if message.unsub_all {
        core.live.subscriptions().unsubscribe_all(request.connection);
        core.access.release_subscriptions(request.connection, None);
        return Ok(UnsubscribeResponse {});
    }
    let types = types(&message.sub_type)?;
    let symbols: Vec<Symbol> = message.symbol.iter().filter_map(|text| text.parse().ok()).collect();
    let ended = core.live.subscriptions().unsubscribe(request.connection, &symbols, types);
    if !ended.is_empty() {
        core.access.release_subscriptions(request.connection, Some(&ended));
    }
    Ok(UnsubscribeResponse {})
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
