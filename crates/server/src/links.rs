//! The signed-in connections of this server and their seats: who may see them, who may close them, and which of them give their seat
//! up to another.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use access::{AccountId, Connection, ConnectionId, Denial, Lineage, Moment, Seats, SignedOn};
use market::Timestamp;

use crate::mailbox::{ClosedBy, Kick, Mailbox, MailboxReader};

/// A connection that has not answered a ping for so long gives its seat up when another one needs it. That is sooner
/// than it counts as dead: a client that lost its network must not be locked out by its own past.
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// When the ping was sent to which nothing has come back yet, in milliseconds of uptime from 1 on; 0 if there is none.
#[derive(Debug, Default)]
pub(crate) struct Pulse(AtomicU64);

impl Pulse {
    /// A ping has been sent.
    pub(crate) fn pinged(&self, uptime: Duration) {
        let now = milliseconds(uptime).max(1);
        self.0.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).ok();
    }

    /// Something has come, whatever it is.
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

/// The signed-in connections of this server, and their seats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    seats: Arc<Mutex<HashMap<ConnectionId, Seat>>>,
}

#[derive(Debug)]
struct Seat {
    /// Counts as long as it is here.
    connection: Connection,
    mailbox: Mailbox,
    pulse: Arc<Pulse>,
    info: ConnectionInfo,
}

/// What is told of a connection to whoever may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionInfo {
    pub(crate) id: ConnectionId,
    pub(crate) account: AccountId,
    pub(crate) door: Door,
    pub(crate) address: SocketAddr,
    /// When it signed in, by the machine's clock.
    pub(crate) since: Timestamp,
}

/// The two ways to a long connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    WebSocket,
    Tcp,
}

impl Door {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Door::WebSocket => "websocket",
            Door::Tcp => "tcp",
        }
    }
}

impl Links {
    /// The connections of one account, or of all, oldest first.
    pub(crate) fn list(&self, of: Option<AccountId>) -> Vec<ConnectionInfo> {
        let all = self.lock();
        let infos = all.values().map(|seat| seat.info);
        let mut infos: Vec<_> = infos.filter(|info| of.is_none_or(|of| of == info.account)).collect();
        drop(all);
        infos.sort_by_key(|info| info.id);
        infos
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<ConnectionInfo> {
        self.lock().get(&id).map(|seat| seat.info)
    }

    /// Where what is pushed to a connection is put. Nobody can be pushed anything before having signed in: only then is there an id.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "nothing is pushed yet: subscriptions and changes of orders will be")
    )]
    pub(crate) fn mailbox(&self, id: ConnectionId) -> Option<Mailbox> {
        self.lock().get(&id).map(|seat| seat.mailbox.clone())
    }

    /// The same for all connections of an account.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "nothing is pushed yet: subscriptions and changes of orders will be")
    )]
    pub(crate) fn mailboxes(&self, of: AccountId) -> Vec<Mailbox> {
        let all = self.lock();
        let theirs = all.values().filter(|seat| seat.info.account == of);
        theirs.map(|seat| seat.mailbox.clone()).collect()
    }

    /// Takes a connection's seat away and has it closed; whether it was still there.
    pub(crate) fn close(&self, id: ConnectionId, by: ClosedBy) -> bool {
        // A statement of its own, so that the lock is gone when the seat is given up.
        let seat = self.lock().remove(&id);
        seat.is_some_and(|seat| {
            seat.mailbox.close(Kick::Closed(by));
            true
        })
    }

    /// Signs a connection in and gives it a seat. One at a time, so that a client which comes back twice at once is
    /// left with one connection. If all seats are taken, those whose client does not answer are given up first.
    pub(crate) fn sign_in(
        &self,
        present: Option<ConnectionId>,
        (door, address): (Door, SocketAddr),
        moment: Moment,
        sign_in: impl Fn(Option<&Connection>) -> Result<SignedOn, Denial>,
    ) -> Result<(SignedIn, MailboxReader, Arc<Pulse>), Denial> {
        let mut all = self.lock();
        let present = |all: &HashMap<ConnectionId, Seat>| {
            sign_in(present.and_then(|id| all.get(&id)).map(|seat| &seat.connection))
        };
        let signed = match present(&all) {
            Err(Denial::ConnectionsTaken(_)) if give_up_overdue(&mut all, moment.uptime) => present(&all)?,
            other => other?,
        };
        let SignedOn { caller, connection, session, lineage, seats, superseded } = signed;
        for seat in superseded.iter().filter_map(|id| all.remove(id)) {
            seat.mailbox.close(Kick::Superseded);
        }
        let id = connection.id();
        let (mailbox, reader) = Mailbox::new();
        let pulse = Arc::<Pulse>::default();
        let info = ConnectionInfo { id, account: caller.account(), door, address, since: moment.now };
        all.insert(id, Seat { connection, mailbox, pulse: pulse.clone(), info });
        Ok((SignedIn { who: caller, id, session, lineage, seats }, reader, pulse))
    }

    /// A connection has ended: its seat is free.
    pub(crate) fn leave(&self, id: ConnectionId) {
        let seat = self.lock().remove(&id);
        // Not while all the others wait.
        drop(seat);
    }

    /// Gives up the seats whose client has not answered its ping; whether there were any.
    pub(crate) fn give_up_overdue(&self, uptime: Duration) -> bool {
        give_up_overdue(&mut self.lock(), uptime)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionId, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn give_up_overdue(all: &mut HashMap<ConnectionId, Seat>, uptime: Duration) -> bool {
    let before = all.len();
    all.extract_if(|_, seat| seat.pulse.is_overdue(uptime)).for_each(|(_, seat)| {
        seat.mailbox.close(Kick::Silent);
    });
    all.len() < before
}

/// What became of a sign-in; the seat stays with [`Links`].
pub(crate) struct SignedIn {
    pub(crate) who: access::Caller,
    pub(crate) id: ConnectionId,
    pub(crate) session: access::Session,
    pub(crate) lineage: Lineage,
    pub(crate) seats: Seats,
}
