//! Subscriptions on the trade gateway. The only topic is the account's order events.

use access::Permit;
use paper::{PaperError, Watched};
use prost::{DecodeError, Message};
use wire::trade;

use super::gateway::UNSUBSCRIBE;
use super::session::Session;
use crate::command::{Reply, Response};
use crate::refusal::Refusal;
use crate::trade_listeners::{Listening, TradeListeners};
use crate::versions::Dated;

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
    /// account, if it is already loaded.
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
            reason: format!("there is no such topic: subscribe to {}", TradeListeners::TOPIC),
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
        Some(error) => Refusal::of_store(error, "cannot listen to a paper account"),
        None => {
            tracing::error!(%error, "cannot listen to a paper account");
            Refusal::Internal
        }
    }
}

fn malformed(error: DecodeError) -> Refusal {
    Refusal::Malformed(format!("the body cannot be decoded: {error}"))
}
