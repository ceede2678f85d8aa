//! The server's signed-in connections. Connections can be listed and closed, and unresponsive
//! connections are evicted when an account reaches its limit.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use access::{
    AccountId, Connection, ConnectionId, Denial, Lineage, MissedTrades, Moment, SignedOn, SlotEnding, Slots,
};
use market::Timestamp;

use crate::mailbox::{ClosedBy, Kick, Mailbox, MailboxReader, PUSHES_MAX};
use crate::metrics;

/// Time without an answer to a ping after which a connection is evicted when another connection
/// needs its slot. The time is shorter than the timeout for dead connections, so that a client that
/// lost its network and reconnects is not locked out by its old connections.
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// Maximum number of connections that were superseded before they were registered. Such a
/// connection registers within milliseconds, or never.
const TOO_EARLY_MAX: usize = 4_096;

/// Uptime in milliseconds (at least 1) at which the last unanswered ping was sent, or 0 if no ping
/// is unanswered.
#[derive(Debug, Default)]
pub(crate) struct Pulse(AtomicU64);

impl Pulse {
    /// Records that a ping was sent.
    pub(crate) fn pinged(&self, uptime: Duration) {
        let now = milliseconds(uptime).max(1);
        self.0.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).ok();
    }

    /// Records that the client has sent data.
    pub(crate) fn heard(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn is_overdue(&self, uptime: Duration) -> bool {
        match self.0.load(Ordering::Relaxed) {
            0 => false,
            since => milliseconds(uptime).saturating_sub(since) >= milliseconds(PONG_WITHIN),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Signed-in connections of this server, with one slot each.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    slots: Arc<Mutex<HashMap<ConnectionId, Slot>>>,
    /// Connections that were superseded before they were registered, because two connections of one
    /// client signed in concurrently.
    superseded: Arc<Mutex<HashSet<ConnectionId>>>,
    /// Maximum number of pushes queued for a connection.
    pushes_max: usize,
}

#[derive(Debug)]
struct Slot {
    /// While this exists, the connection counts toward the account's connection limit.
    connection: Arc<Connection>,
    /// Whether other nodes were notified that the connection does not answer pings.
    is_silent: bool,
    mailbox: Mailbox,
    pulse: Arc<Pulse>,
    who: access::Caller,
    info: ConnectionInfo,
}

/// A connection as shown to its owner and to operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionInfo {
    pub(crate) id: ConnectionId,
    pub(crate) account: AccountId,
    pub(crate) transport: TransportKind,
    pub(crate) address: SocketAddr,
    /// Machine time of the sign-in.
    pub(crate) since: Timestamp,
}

/// The two transports of a long connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportKind {
    WebSocket,
    Tcp,
}

impl TransportKind {
    pub(crate) fn as_str(self) -> &'static str {
        metrics::TransportLabel::from(self).as_str()
    }
}

impl From<TransportKind> for metrics::TransportLabel {
    fn from(transport: TransportKind) -> metrics::TransportLabel {
        match transport {
            TransportKind::WebSocket => metrics::TransportLabel::WebSocket,
            TransportKind::Tcp => metrics::TransportLabel::Tcp,
        }
    }
}

impl From<TransportKind> for metrics::Entry {
    fn from(transport: TransportKind) -> metrics::Entry {
        match transport {
            TransportKind::WebSocket => metrics::Entry::WebSocket,
            TransportKind::Tcp => metrics::Entry::Tcp,
        }
    }
}

impl From<TransportKind> for metrics::Connection {
    fn from(transport: TransportKind) -> metrics::Connection {
        match transport {
            TransportKind::WebSocket => metrics::Connection::WebSocket,
            TransportKind::Tcp => metrics::Connection::Tcp,
        }
    }
}

impl Default for Links {
    fn default() -> Links {
        Links::new(PUSHES_MAX)
    }
}

impl Links {
    pub(crate) fn new(pushes_max: usize) -> Links {
        let (slots, superseded) = Default::default();
        Links { slots, superseded, pushes_max }
    }

    /// Returns the connections of one account, or of all accounts, oldest first.
    pub(crate) fn list(&self, of: Option<AccountId>) -> Vec<ConnectionInfo> {
        let all = self.lock();
        let infos = all.values().map(|slot| slot.info);
        let mut infos: Vec<_> = infos.filter(|info| of.is_none_or(|of| of == info.account)).collect();
        drop(all);
        infos.sort_by_key(|info| info.id);
        infos
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<ConnectionInfo> {
        self.lock().get(&id).map(|slot| slot.info)
    }

    /// Returns a connection's mailbox, or `None` if the connection is not signed in.
    pub(crate) fn mailbox(&self, id: ConnectionId) -> Option<Mailbox> {
        self.lock().get(&id).map(|slot| slot.mailbox.clone())
    }

    /// Closes a connection and releases its slot. Returns whether the connection was open.
    pub(crate) fn close(&self, id: ConnectionId, by: ClosedBy) -> bool {
        // Removing the slot is a separate statement, so that the lock is released before the slot
        // is dropped.
        let slot = self.lock().remove(&id);
        slot.is_some_and(|slot| {
            slot.mailbox.close(Kick::Closed(by));
            true
        })
    }

    /// Closes all connections of an account because the clock of the account was set back.
    pub(crate) fn close_set_back(&self, account: AccountId) {
        for connection in self.list(Some(account)) {
            if let Some(mailbox) = self.mailbox(connection.id) {
                mailbox.close(Kick::ClockSetBack);
            }
        }
    }

    /// Closes all connections whose account or session has ended.
    pub(crate) fn close_ended(&self, has_ended: impl Fn(&access::Caller) -> bool) {
        // Reading the accounts may need the disk, so the lock is released first.
        let all: Vec<_> = self.lock().values().map(|slot| (slot.who, slot.mailbox.clone())).collect();
        for (_, mailbox) in all.iter().filter(|(who, _)| has_ended(who)) {
            mailbox.close(Kick::Revoked);
        }
    }

    /// Signs a connection in and assigns a slot. The lock is held, so that a client that reconnects
    /// twice concurrently keeps only one connection. If all slots are taken, unresponsive
    /// connections are evicted first.
    pub(crate) fn sign_in(
        &self,
        present: Option<ConnectionId>,
        (transport, address): (TransportKind, SocketAddr),
        moment: Moment,
        sign_in: impl Fn(Option<&Connection>) -> Result<SignedOn, Denial>,
    ) -> Result<(SignedIn, MailboxReader, Arc<Pulse>), Denial> {
        let mut all = self.lock();
        let present = |all: &HashMap<ConnectionId, Slot>| {
            sign_in(present.and_then(|id| all.get(&id)).map(|slot| &*slot.connection))
        };
        let signed = match present(&all) {
            Err(Denial::ConnectionsTaken(_)) if give_up_overdue(&mut all, moment.uptime) => present(&all)?,
            other => other?,
        };
        Ok(self.slot(&mut all, (transport, address), moment, signed))
    }

    /// Like [`sign_in`](Self::sign_in), for a database that stores the slots of all nodes and
    /// serializes sign-ins by account. The lock is not held, so that sign-ins do not block each
    /// other.
    pub(crate) fn sign_in_among_all(
        &self,
        present: Option<ConnectionId>,
        (transport, address): (TransportKind, SocketAddr),
        moment: Moment,
        sign_in: impl Fn(Option<&Connection>) -> Result<SignedOn, Denial>,
    ) -> Result<(SignedIn, MailboxReader, Arc<Pulse>), Denial> {
        let present = present.and_then(|id| self.lock().get(&id).map(|slot| slot.connection.clone()));
        let signed = match sign_in(present.as_deref()) {
            Err(Denial::ConnectionsTaken(_)) if self.give_up_overdue(moment.uptime) => {
                sign_in(present.as_deref())?
            }
            other => other?,
        };
        Ok(self.slot(&mut self.lock(), (transport, address), moment, signed))
    }

    fn slot(
        &self,
        all: &mut HashMap<ConnectionId, Slot>,
        (transport, address): (TransportKind, SocketAddr),
        moment: Moment,
        signed: SignedOn,
    ) -> (SignedIn, MailboxReader, Arc<Pulse>) {
        let SignedOn { caller, connection, session, lineage, slots, superseded, missed } = signed;
        let resumed = Resumed { missed, is_from_here: !superseded.is_empty() };
        let mut too_early = self.superseded.lock().unwrap_or_else(PoisonError::into_inner);
        for id in superseded {
            match all.remove(&id) {
                Some(slot) => slot.mailbox.close(Kick::Superseded),
                None => drop(too_early.insert(id)),
            }
        }
        if too_early.len() > TOO_EARLY_MAX {
            // Connections that have closed in the meantime never register.
            too_early.clear();
        }
        let id = connection.id();
        let (mailbox, reader) = Mailbox::new(self.pushes_max);
        let pulse = Arc::<Pulse>::default();
        let info = ConnectionInfo { id, account: caller.account(), transport, address, since: moment.now };
        match too_early.remove(&id) {
            // The connection was superseded before it was registered.
            true => mailbox.close(Kick::Superseded),
            false => {
                let connection = Arc::new(connection);
                let (pulse, who) = (pulse.clone(), caller);
                let slot = Slot { connection, is_silent: false, mailbox, pulse, who, info };
                all.insert(id, slot);
            }
        }
        (SignedIn { who: caller, id, session, lineage, slots, resumed }, reader, pulse)
    }

    /// Returns the connections that stopped or resumed answering pings since the last report, each
    /// with whether it is silent now. Other nodes may need their slots.
    pub(crate) fn changed_silence(&self, uptime: Duration) -> Vec<(ConnectionId, bool)> {
        let all = self.lock();
        let changed = all.iter().filter_map(|(id, slot)| {
            let is_silent = slot.pulse.is_overdue(uptime);
            (slot.is_silent != is_silent).then_some((*id, is_silent))
        });
        let mut changed: Vec<(ConnectionId, bool)> = changed.collect();
        changed.sort_unstable();
        changed
    }

    /// Records the states that were reported to other nodes.
    pub(crate) fn told_silence(&self, report: &[(ConnectionId, bool)]) {
        let mut all = self.lock();
        for (id, is_silent) in report {
            if let Some(slot) = all.get_mut(id) {
                slot.is_silent = *is_silent;
            }
        }
    }

    /// Closes a connection that another node ended.
    pub(crate) fn end(&self, id: ConnectionId, why: SlotEnding) {
        let kick = match why {
            SlotEnding::Superseded => Kick::Superseded,
            SlotEnding::ByOwner => Kick::Closed(ClosedBy::Owner),
            SlotEnding::ByOperator => Kick::Closed(ClosedBy::Operator),
            SlotEnding::Silent => Kick::Silent,
        };
        let slot = self.lock().remove(&id);
        if let Some(slot) = slot {
            slot.mailbox.close(kick);
        }
    }

    /// Releases the slot of a closed connection.
    pub(crate) fn leave(&self, id: ConnectionId) {
        let slot = self.lock().remove(&id);
        // The slot is dropped after the lock is released, so that other threads do not wait for it.
        drop(slot);
    }

    /// Evicts connections with an overdue ping. Returns whether any were evicted.
    pub(crate) fn give_up_overdue(&self, uptime: Duration) -> bool {
        give_up_overdue(&mut self.lock(), uptime)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionId, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn give_up_overdue(all: &mut HashMap<ConnectionId, Slot>, uptime: Duration) -> bool {
    let before = all.len();
    all.extract_if(|_, slot| slot.pulse.is_overdue(uptime)).for_each(|(_, slot)| {
        slot.mailbox.close(Kick::Silent);
    });
    all.len() < before
}

/// Result of a sign-in. [`Links`] holds the slot.
pub(crate) struct SignedIn {
    pub(crate) who: access::Caller,
    pub(crate) id: ConnectionId,
    pub(crate) session: access::Session,
    pub(crate) lineage: Lineage,
    pub(crate) slots: Slots,
    pub(crate) resumed: Resumed,
}

/// What is known of the client's last connection, if the client signs in with a session and several
/// nodes share the database.
#[derive(Debug)]
pub(crate) struct Resumed {
    /// Trades that it did not receive.
    pub(crate) missed: MissedTrades,
    /// Whether it was open on this node, which then knows itself what it did not receive.
    pub(crate) is_from_here: bool,
}
