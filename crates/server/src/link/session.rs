//! State of a signed-in connection: its client, rights, gateway, connection slot, and subscriptions
//! on the trade gateway. The only topic is the account's order events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use access::{ConnectionId, Freshness, Lineage, Permit, Scope};
use market::Timestamp;
use paper::{PaperError, Watched};
use prost::{DecodeError, Message};
use wire::{command, quote, trade};

use super::gateway::{Gateway, Hub, UNSUBSCRIBE};
use super::push_flow::PushFlow;
use super::transport::CloseCode;
use crate::caller::{Caller, Client};
use crate::core::Core;
use crate::dispatch::{CommandRow, Step};
use crate::limit_hint;
use crate::links::Pulse;
use crate::live::Pull;
use crate::mailbox::{ClosedBy, Kick, MailboxReader};
use crate::message::{Reply, Response};
use crate::refusal::Refusal;
use crate::route::Memory;
use crate::trade_listeners::{Listening, TradeListeners};
use crate::unsent::Tally;
use crate::versions::Dated;

/// Close reason for a revoked account.
pub(super) const REVOKED: &str = "this account has been revoked";

/// A signed-in connection. Dropping it releases its connection slot.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    /// Results of earlier requests on this connection, reused to make later requests cheaper.
    pub(super) memory: Memory,
    pub(super) gateway: Gateway,
    pub(super) id: ConnectionId,
    pub(super) mailbox: MailboxReader,
    pub(super) pulse: Arc<Pulse>,
    pub(super) hub: Arc<Hub>,
    pub(super) unsent: Arc<Tally>,
    pub(super) topics: Topics,
    pub(super) subscribing: Subscribing,
    pub(super) lineage: Lineage,
    /// Flow control of pushes, for the clock of a world.
    pub(super) flow: Option<PushFlow>,
}

/// An admitted request, by gateway.
pub(super) enum Admitted {
    Quote(Step),
    Trade(Permit),
}

impl Session {
    /// Processes a request as far as possible without blocking.
    pub(super) fn start(
        &mut self,
        core: &Core,
        caller: &Caller,
        command: u8,
        body: &[u8],
    ) -> Result<Step, Refusal> {
        CommandRow::of_packet(command, body)?.start(core, caller, body, &mut self.memory)
    }

    /// Returns whether the account is still valid. If the lookup fails, the account is assumed to
    /// be valid.
    pub(super) fn is_valid(&self, core: &Core) -> bool {
        let is_valid = store::without_waiting(|| {
            core.version_check()?;
            core.access
                .is_valid(&self.client.who, Freshness::Recent)
                .map_err(|error| Refusal::of_access(&error))
        });
        match is_valid {
            Ok(is_valid) => is_valid,
            // The account is looked up on a worker thread, so that the result is known at the next
            // check.
            Err(Refusal::Waits) => {
                self.look_aside();
                true
            }
            Err(_) => true,
        }
    }

    fn look_aside(&self) {
        let (core, who) = (self.hub.core.clone(), self.client.who);
        let (workers, share) = (core.workers.clone(), core.share_of_caller(&who));
        let looked = workers.submit(share, move || core.access.is_valid(&who, Freshness::Recent).is_ok());
        // Work without a receiver is skipped, so a task is spawned that waits for the result.
        if let Ok(looked) = looked {
            drop(tokio::spawn(looked));
        }
    }

    /// Returns the counter of the account's unsent bytes on all connections.
    pub(super) fn unsent(&self) -> &Arc<Tally> {
        &self.unsent
    }

    /// Records that a ping was sent.
    pub(super) fn pinged(&self, uptime: Duration) {
        self.pulse.pinged(uptime);
    }

    /// Records that the client has sent data.
    pub(super) fn heard(&self) {
        self.pulse.heard();
    }

    /// Returns whether a command is for the trade gateway, and records the gateway if the command
    /// reveals it.
    pub(super) fn is_trade(&mut self, command: u8, body: &[u8]) -> bool {
        if let Some((lineage, used)) = self.gateway.learn(command, body, &self.hub.clients)
            && self.hub.core.access.is_shared()
        {
            self.remember_aside(lineage, used);
        }
        self.gateway.is_trade(command, body)
    }

    /// Stores the client's gateway for other nodes, because the client may reconnect to another
    /// node.
    fn remember_aside(&self, lineage: Lineage, used: &'static str) {
        let (core, who) = (self.hub.core.clone(), self.client.who);
        let (workers, share) = (core.workers.clone(), core.share_of_caller(&who));
        let answer = workers.submit(share, move || {
            if let Err(error) = core.access.remember_client(lineage, used) {
                tracing::debug!(%error, "cannot store the gateway of a client");
            }
        });
        if let Ok(answer) = answer {
            drop(tokio::spawn(answer));
        }
    }
}

/// Admits a trade gateway call.
pub(super) fn admit_trade(caller: &Caller, core: &Core) -> Result<Permit, Refusal> {
    core.version_check()?;
    let (who, rule, uptime) = (&caller.who, core.limits.calls, core.uptime());
    let counted = core.access.admit_call(who, rule, Freshness::Recent, uptime);
    counted.map_err(|refusal| limit_hint::with_hint(refusal.into(), who, core))?;
    Ok(core.access.admit_within(who, Scope::Trade, Freshness::Recent, caller.now())?)
}

/// Returns the close code and text for a connection closed by the server.
pub(super) fn close_reason(kick: Kick) -> (CloseCode, String) {
    let (code, reason) = match kick {
        Kick::Superseded => (CloseCode::Duplicate, "the session was resumed on another connection"),
        Kick::Silent => (CloseCode::HeartbeatTimeout, "heartbeat timeout"),
        // A client that knows this code signs in again instead of resuming its session.
        Kick::Closed(ClosedBy::Owner) => (CloseCode::SessionExpired, "closed by the owner of the account"),
        Kick::Closed(ClosedBy::Operator) => (CloseCode::SessionExpired, "closed by the operator"),
        Kick::Revoked => (CloseCode::Auth, REVOKED),
        // Every client reconnects after this code.
        Kick::ClockSetBack => (CloseCode::Shutdown, "the clock was set back"),
        // The protocol has no code for slow clients; with this one every client reconnects.
        Kick::TooSlow { waiting } => {
            return (CloseCode::ServerError, format!("too slow: {waiting} pushes waiting"));
        }
    };
    (code, reason.to_owned())
}

impl Drop for Session {
    fn drop(&mut self) {
        // A step of a world that waits for this client resumes immediately.
        self.mailbox.shut();
        let core = &self.hub.core;
        core.leave_live(self.client.who.account(), self.id, self.lineage);
        if self.client.who.is_of_world() {
            core.worlds.left(self.client.who.account(), self.id.number());
        }
        self.hub.links.leave(self.id);
    }
}

/// Maximum number of subscription changes in a window. One SDK subscribes to its securities one by
/// one after a reconnect, and gives up at the first refusal.
const SUBSCRIPTION_CALLS_MAX: u32 = 1_000;
const SUBSCRIPTION_WINDOW: Duration = Duration::from_secs(10);
/// Maximum number of stored candle requests.
const PULLS_MAX: usize = 1_000;
/// Time for which a candle request is stored.
const PULL_KEPT: Duration = Duration::from_secs(10);

/// State of one connection for its requests about quote subscriptions: the rate limit window and
/// recent candle requests.
#[derive(Debug, Default)]
pub(super) struct Subscribing {
    /// Uptime at the start of the current window.
    window: Duration,
    calls: u32,
    /// Candle requests, oldest first, with the uptime of each.
    pulls: VecDeque<(Duration, Pull)>,
}

impl Session {
    /// Counts commands 6 and 7, which have a separate rate limit.
    pub(super) fn count_subscription(&mut self, number: u8, uptime: Duration) -> Result<(), Refusal> {
        let Subscribing { window, calls, .. } = &mut self.subscribing;
        if number == command::SUBSCRIPTIONS {
            return Ok(());
        }
        if uptime >= *window + SUBSCRIPTION_WINDOW || *calls == 0 {
            (*window, *calls) = (uptime, 0);
        }
        if *calls >= SUBSCRIPTION_CALLS_MAX {
            let text = format!(
                "too many subscription changes: the limit is {SUBSCRIPTION_CALLS_MAX} in {} seconds",
                SUBSCRIPTION_WINDOW.as_secs()
            );
            return Err(Refusal::TooFast { text, retry_after: *window + SUBSCRIPTION_WINDOW - uptime });
        }
        *calls += 1;
        Ok(())
    }

    /// Stores a request for the newest candles of a security (command 19).
    pub(super) fn note_pull(&mut self, body: &[u8], at: Timestamp) {
        let Ok(request) = quote::SecurityCandlestickRequest::decode(body) else { return };
        let Ok(symbol) = request.symbol.parse() else { return };
        let pulls = &mut self.subscribing.pulls;
        pulls.retain(|(_, pull)| pull.symbol != symbol);
        if pulls.len() >= PULLS_MAX {
            pulls.pop_front();
        }
        let core = &self.hub.core;
        pulls.push_back((core.uptime(), Pull { symbol, at, through: core.ingest.merged_through() }));
    }

    /// Removes expired candle requests, and returns the others.
    pub(super) fn pulls(&mut self, uptime: Duration) -> Vec<Pull> {
        let pulls = &mut self.subscribing.pulls;
        pulls.retain(|(since, _)| uptime < *since + PULL_KEPT);
        pulls.iter().map(|(_, pull)| pull.clone()).collect()
    }
}

/// Maximum number of topics per request.
const TOPICS_MAX: usize = 16;
/// Maximum number of characters of an unknown topic quoted in a refusal.
const ECHO_CHARS_MAX: usize = 40;

/// Subscriptions of a connection. The client repeats them after a reconnect.
#[derive(Debug, Default)]
pub(super) struct Topics(Option<Listening>);

impl Topics {
    fn current(&self) -> Vec<String> {
        self.0.iter().map(|_| TradeListeners::TOPIC.to_owned()).collect()
    }
}

impl Session {
    /// Subscribes or unsubscribes, and returns the resulting subscriptions. `watched` is the
    /// account's watch if it was already loaded on a worker thread.
    pub(super) fn answer_trade(
        &mut self,
        command: u8,
        body: &[u8],
        permit: &Permit,
        watched: Option<Watched>,
    ) -> Result<Reply, Refusal> {
        if command == UNSUBSCRIBE {
            let request = trade::UnsubscribeRequest::decode(body).map_err(malformed)?;
            if request.topics.iter().any(|topic| topic == TradeListeners::TOPIC) {
                self.topics = Topics::default();
            }
            return Ok(Response::encode(trade::UnsubscribeResponse { current: self.topics.current() }));
        }
        let requested = trade::SubscribeRequest::decode(body).map_err(malformed)?.topics;
        let (known, unknown): (Vec<String>, Vec<String>) =
            requested.into_iter().take(TOPICS_MAX).partition(|topic| topic == TradeListeners::TOPIC);
        if !known.is_empty() && self.topics.0.is_none() {
            self.listen(permit, watched)?;
        }
        let fail = |topic: String| trade::subscribe_response::Fail {
            topic: topic.chars().take(ECHO_CHARS_MAX).collect(),
            reason: format!("unknown topic: subscribe to {}", TradeListeners::TOPIC),
        };
        Ok(Response::encode(trade::SubscribeResponse {
            success: known,
            fail: unknown.into_iter().map(fail).collect(),
            current: self.topics.current(),
        }))
    }

    fn listen(&mut self, permit: &Permit, watched: Option<Watched>) -> Result<(), Refusal> {
        // A connection that has lost its slot is already being closed.
        let Some(mailbox) = self.hub.links.mailbox(self.id) else { return Ok(()) };
        let (core, account) = (&self.hub.core, permit.account().id);
        let form = (self.client.language, Dated::of(&self.client.who, permit.account()));
        let watched = match watched {
            Some(watched) => watched,
            None => core.paper.watch(account).map_err(|error| unwatched(&error))?,
        };
        let listening = core.listeners.listen(watched, account, (self.id, mailbox), form);
        if self.client.who.is_of_world() {
            core.worlds.subscribed(account, core.uptime());
        }
        self.topics = Topics(Some(listening));
        Ok(())
    }
}

/// Returns whether a request subscribes to order events, which requires watching the account.
pub(super) fn subscribes(command: u8, body: &[u8]) -> bool {
    let topics = trade::SubscribeRequest::decode(body).map(|request| request.topics).unwrap_or_default();
    command != UNSUBSCRIBE && topics.iter().take(TOPICS_MAX).any(|topic| topic == TradeListeners::TOPIC)
}

pub(super) fn unwatched(error: &PaperError) -> Refusal {
    match error.store() {
        Some(error) => Refusal::of_store(error, "cannot subscribe to a paper account"),
        None => {
            tracing::error!(%error, "cannot subscribe to a paper account");
            Refusal::Internal
        }
    }
}

fn malformed(error: DecodeError) -> Refusal {
    Refusal::Malformed(format!("the body cannot be decoded: {error}"))
}
