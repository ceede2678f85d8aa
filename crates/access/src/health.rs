//! Health of the accounts' database, where it is a server that several nodes share.
//!
//! When it is unreachable, a node serves for a while from memory: accounts that it has seen,
//! securities that they have paid for, and its share of their rates. The first request that fails
//! marks the database as unreachable; from then on only the heartbeat
//! ([`Access::heartbeat`](crate::Access::heartbeat)) queries it, so that no request waits for an
//! unreachable server.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Default offline window: how long a node serves from memory while the database is unreachable.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(300);
/// Rates remain shares for at least this long after the database is found again. Nodes probe it
/// each second, so by then every node that can reach it has written back what it admitted by
/// itself.
const SETTLES: Duration = Duration::from_secs(3);

/// How long a request waits for the database where this node can answer from memory. A query takes
/// less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs a query for which this node has an answer in memory, with a short timeout.
pub(crate) fn briefly<T>(ask: impl FnOnce() -> T) -> T {
    store::waiting_at_most(PATIENCE, ask)
}

/// The state of the database, as this node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// Reachable, or a file.
    Yes,
    /// Reachable again; other nodes may not have written back yet what they admitted, so rates are
    /// shares.
    Settling,
    /// Unreachable for this long; serving from cached state.
    Away(Duration),
    /// Unreachable for longer than the offline window.
    Lost(Duration),
}

/// Which cached values are acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Learnt {
    /// Those read at this version of the database.
    At(i64),
    /// All of them: the database is unreachable, so nothing newer can be read.
    Ever,
}

impl Learnt {
    pub(crate) fn takes(self, version: i64) -> bool {
        match self {
            Learnt::At(at) => at == version,
            Learnt::Ever => true,
        }
    }
}

#[derive(Debug)]
pub(crate) struct DatabaseHealth {
    grace: Duration,
    is_away: AtomicBool,
    is_lost: AtomicBool,
    is_settling: AtomicBool,
    /// Nodes at the last heartbeat.
    nodes: AtomicU32,
    since: Mutex<Since>,
}

/// In uptime.
#[derive(Debug, Default)]
struct Since {
    /// When it became unreachable; `None` until a heartbeat has set the time.
    away: Option<Duration>,
    /// When it was found again, or was replaced by another server; `None` if that is long ago.
    found: Option<Duration>,
}

impl Since {
    fn is_fresh(&self, uptime: Duration) -> bool {
        self.found.is_some_and(|found| uptime.saturating_sub(found) < SETTLES)
    }
}

impl Default for DatabaseHealth {
    fn default() -> DatabaseHealth {
        DatabaseHealth {
            grace: GRACE_DEFAULT,
            is_away: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            is_settling: AtomicBool::new(false),
            nodes: AtomicU32::new(1),
            since: Mutex::default(),
        }
    }
}

impl DatabaseHealth {
    pub(crate) fn set_grace(&mut self, grace: Duration) {
        self.grace = grace;
    }

    /// Whether to serve without querying the database.
    pub(crate) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// Which cached values are acceptable where `version` is current.
    pub(crate) fn learnt(&self, version: i64) -> Learnt {
        if self.is_away() { Learnt::Ever } else { Learnt::At(version) }
    }

    /// Whether the offline window is over.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Whether rates are shares although the database is reachable.
    pub(crate) fn is_settling(&self) -> bool {
        self.is_settling.load(Ordering::Acquire)
    }

    /// The server was replaced: rates are shares until all nodes have written back what they
    /// admitted.
    pub(crate) fn settle(&self, uptime: Duration) {
        let mut since = self.lock();
        since.found = Some(uptime);
        self.is_settling.store(true, Ordering::Release);
    }

    /// Marks the database as unreachable.
    pub(crate) fn lose(&self) {
        self.is_away.store(true, Ordering::Release);
    }

    /// Starts the offline window, or ends it when it has passed.
    pub(crate) fn pass_time(&self, uptime: Duration) {
        if !self.is_away() {
            return;
        }
        let since = *self.lock().away.get_or_insert(uptime);
        if uptime.saturating_sub(since) >= self.grace {
            self.is_lost.store(true, Ordering::Release);
        }
    }

    /// Whether rates would still be shares if the database were found now. `has_unsettled`: some
    /// nodes have not written back yet what they admitted.
    pub(crate) fn settles_on(&self, has_unsettled: bool, uptime: Duration) -> bool {
        has_unsettled || self.is_away() || self.lock().is_fresh(uptime)
    }

    /// Marks the database as reachable, with this number of nodes. `has_unsettled`: some of them
    /// have not written back yet what they admitted.
    pub(crate) fn find(&self, nodes: u32, has_unsettled: bool, uptime: Duration) {
        let mut since = self.lock();
        if self.is_away() {
            since.found = Some(uptime);
        }
        let settles_on = has_unsettled || since.is_fresh(uptime);
        // Nodes that have not reconnected yet are not in the count, but still use their share.
        let least = if settles_on { self.nodes() } else { 1 };
        self.nodes.store(nodes.max(least), Ordering::Release);
        self.is_settling.store(settles_on, Ordering::Release);
        since.away = None;
        self.is_lost.store(false, Ordering::Release);
        self.is_away.store(false, Ordering::Release);
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Acquire)
    }

    /// The share of a limit that one node may admit without the others: at least one.
    pub(crate) fn share(&self, limit: u32) -> u32 {
        limit.checked_div(self.nodes()).unwrap_or(limit).max(1)
    }

    pub(crate) fn state(&self, uptime: Duration) -> DatabaseState {
        if !self.is_away() {
            return if self.is_settling() { DatabaseState::Settling } else { DatabaseState::Yes };
        }
        let since = self.lock().away.map_or(Duration::ZERO, |since| uptime.saturating_sub(since));
        if self.is_lost() { DatabaseState::Lost(since) } else { DatabaseState::Away(since) }
    }

    fn lock(&self) -> MutexGuard<'_, Since> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn a_node_serves_for_its_offline_window_and_recovers_immediately() {
        let mut health = DatabaseHealth::default();
        health.set_grace(S(60));
        assert_eq!(health.state(S(100)), DatabaseState::Yes);
        health.find(3, false, S(100));
        health.pass_time(S(110));
        assert_eq!(health.state(S(110)), DatabaseState::Yes, "time alone means nothing");
        health.lose();
        health.pass_time(S(120));
        health.lose();
        health.pass_time(S(179));
        assert_eq!(health.state(S(179)), DatabaseState::Away(S(59)));
        assert_eq!((health.share(60), health.share(2)), (20, 1));
        health.pass_time(S(180));
        assert_eq!(health.state(S(180)), DatabaseState::Lost(S(60)));
        health.find(2, true, S(181));
        assert_eq!(health.state(S(181)), DatabaseState::Settling);
        health.find(2, true, S(184));
        assert_eq!(health.state(S(184)), DatabaseState::Settling, "others have not settled");
        health.find(2, false, S(185));
        assert_eq!(health.state(S(185)), DatabaseState::Yes);
        health.lose();
        health.pass_time(S(200));
        assert_eq!(health.state(S(201)), DatabaseState::Away(S(1)), "it is counted anew");
    }

    #[test]
    fn rates_are_shares_for_three_seconds_after_recovery() {
        let health = DatabaseHealth::default();
        health.find(2, false, S(10));
        assert_eq!(health.state(S(10)), DatabaseState::Yes, "it was never away");
        health.lose();
        assert!(health.settles_on(false, S(60)));
        // The other node's row is too old to count after so long; that node returns shortly.
        health.find(1, false, S(60));
        assert_eq!((health.state(S(60)), health.share(60)), (DatabaseState::Settling, 30));
        health.find(3, false, S(61));
        assert_eq!(health.share(60), 20, "more are there");
        health.find(2, false, S(62));
        assert_eq!((health.state(S(62)), health.share(60)), (DatabaseState::Settling, 20));
        assert!(!health.settles_on(false, S(63)) && health.settles_on(true, S(63)));
        health.find(2, false, S(63));
        assert_eq!((health.state(S(63)), health.share(60)), (DatabaseState::Yes, 30));
        // The server is replaced.
        health.settle(S(70));
        health.find(1, false, S(71));
        assert_eq!((health.state(S(71)), health.share(60)), (DatabaseState::Settling, 30));
        health.find(1, false, S(73));
        assert_eq!((health.state(S(73)), health.share(60)), (DatabaseState::Yes, 60), "it is gone");
    }
}
