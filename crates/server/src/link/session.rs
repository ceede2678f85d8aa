//! What hangs on a sign-in on a long connection: who the client is, what it may be told, who may close it.

use std::sync::Arc;
use std::time::Duration;

use access::{ConnectionId, Look, Permit, Scope};

use super::gateway::Gateway;
use super::hub::Hub;
use super::transport::CloseCode;
use crate::caller::Caller;
use crate::core::Core;
use crate::links::Pulse;
use crate::mailbox::{ClosedBy, Kick, MailboxReader};
use crate::refusal::Refusal;
use crate::route::{self, Memory, Work};
use crate::unsent::Tally;

/// What a signed-in connection knows of itself. Dropping it gives its seat up.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) caller: Caller,
    /// Of its requests so far.
    pub(super) memory: Memory,
    pub(super) gateway: Gateway,
    pub(super) id: ConnectionId,
    pub(super) mailbox: MailboxReader,
    pub(super) pulse: Arc<Pulse>,
    pub(super) hub: Arc<Hub>,
    pub(super) unsent: Arc<Tally>,
}

/// A request that was let in.
#[derive(Debug)]
pub(super) enum Admitted {
    Work(Work),
    Trade(Permit),
}

impl Session {
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Asks whether a request may be answered.
    pub(super) fn admit(&mut self, core: &Core, command: u8, body: &[u8]) -> Result<Work, Refusal> {
        route::admit(core, &self.caller, command, body, &mut self.memory)
    }

    /// Asks whether a call of the trade gateway may be answered, which has no work to it.
    pub(super) fn admit_trade(&self, core: &Core) -> Result<Permit, Refusal> {
        core.glance()?;
        let (who, rule, uptime) = (&self.caller.who, core.limits.calls, core.uptime());
        core.access.admit_call(who, rule, Look::Recent, uptime)?;
        Ok(core.access.admit_within(who, Scope::Trade, Look::Recent, core.market_now())?)
    }

    /// Whether its account still stands. If that cannot be told, it does.
    pub(super) fn stands(&self, core: &Core) -> bool {
        let looked = core.glance().map_err(|_| ());
        let stands = looked.and_then(|_| {
            let stands = core.access.stands(&self.caller.who, Look::Recent);
            stands.map_err(|error| tracing::error!(%error, "cannot look at an account"))
        });
        stands.unwrap_or(true)
    }

    /// What waits to be sent to its account, on all connections.
    pub(super) fn unsent(&self) -> &Arc<Tally> {
        &self.unsent
    }

    /// A ping has been sent.
    pub(super) fn pinged(&self, uptime: Duration) {
        self.pulse.pinged(uptime);
    }

    /// Something has come, whatever it is.
    pub(super) fn heard(&self) {
        self.pulse.heard();
    }

    /// Whether a command is meant for the trade gateway; the client may show by it which one it takes us for.
    pub(super) fn is_trade(&mut self, command: u8, body: &[u8]) -> bool {
        self.gateway.learn(command, body, &self.hub.clients);
        self.gateway.is_trade(command, body)
    }
}

/// What a client is told whose connection somebody else wants closed.
pub(super) fn told(kick: Kick) -> (CloseCode, &'static str) {
    match kick {
        Kick::Superseded => (CloseCode::Duplicate, "the session goes on elsewhere"),
        Kick::Silent => (CloseCode::HeartbeatTimeout, "heartbeat timeout"),
        // A client that heeds the code signs in anew instead of going on with its session.
        Kick::Closed(ClosedBy::Owner) => (CloseCode::SessionExpired, "closed by the owner of the account"),
        Kick::Closed(ClosedBy::Operator) => (CloseCode::SessionExpired, "closed by the operator"),
        // The protocol has no code of its own for it; with this one every client reconnects.
        Kick::TooSlow => (CloseCode::ServerError, "the client reads more slowly than is pushed to it"),
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.hub.links.leave(self.id);
    }
}
