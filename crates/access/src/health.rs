//! Whether the database of accounts is there, where it is a server that several nodes share.
//!
//! When it is away, a node goes on by itself for a while with what it knows: accounts that it has seen, securities that they have paid for, and its share of their
//! rates. Requests find out once; from then on nobody asks the database but the beat ([`Access::heartbeat`](crate::Access::beat)), so that no request waits
//! for a server that is not there.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a node goes on by itself when the database is away, unless it is told otherwise.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(300);
/// How long rates are shares at least after the database was found again. Nodes look for it each second, so by then every one that can reach
/// it has brought back what it admitted by itself.
const SETTLES: Duration = Duration::from_secs(3);

/// How long a request waits for the database where this node can answer from memory. A decision takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs a query for which this node has an answer in memory: it does not wait long for a silent database.
pub(crate) fn briefly<T>(ask: impl FnOnce() -> T) -> T {
    store::waiting_at_most(PATIENCE, ask)
}

/// How a node stands with its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// It is there, or is a file.
    Yes,
    /// It is there again; other nodes may not have brought back yet what they admitted, so rates are shares.
    Settling,
    /// It is away since so long, and this node goes on with what it knows.
    Away(Duration),
    /// It is away for longer than this node goes on without it.
    Lost(Duration),
}

/// What is taken of what was learnt before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Learnt {
    /// What was learnt at this version of the database.
    At(i64),
    /// Whatever was learnt: the database is away, and nothing newer can be had.
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
    /// Nodes that were there when it was last looked.
    nodes: AtomicU32,
    since: Mutex<Since>,
}

/// In uptime.
#[derive(Debug, Default)]
struct Since {
    /// When it was found to be away; `None` until somebody has looked at the clock.
    away: Option<Duration>,
    /// When it was found again, or found to be another server; `None` if that is long ago.
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

    /// Whether to go on without the database, and not to ask it.
    pub(crate) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// What is taken of what was learnt, where a version of the database would be looked for.
    pub(crate) fn learnt(&self, version: i64) -> Learnt {
        if self.is_away() { Learnt::Ever } else { Learnt::At(version) }
    }

    /// Whether it is away for too long to go on.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Whether rates are shares although the database is there.
    pub(crate) fn is_settling(&self) -> bool {
        self.is_settling.load(Ordering::Acquire)
    }

    /// It is another server than before: rates are shares until all nodes have brought back what they admitted.
    pub(crate) fn settle(&self, uptime: Duration) {
        let mut since = self.lock();
        since.found = Some(uptime);
        self.is_settling.store(true, Ordering::Release);
    }

    /// Somebody has found that it is away.
    pub(crate) fn lose(&self) {
        self.is_away.store(true, Ordering::Release);
    }

    /// Looks at the clock while it is away.
    pub(crate) fn pass_time(&self, uptime: Duration) {
        if !self.is_away() {
            return;
        }
        let since = *self.lock().away.get_or_insert(uptime);
        if uptime.saturating_sub(since) >= self.grace {
            self.is_lost.store(true, Ordering::Release);
        }
    }

    /// Whether rates would still be shares if it was found now, with some nodes that have not brought back what they admitted or none.
    pub(crate) fn settles_on(&self, has_unsettled: bool, uptime: Duration) -> bool {
        has_unsettled || self.is_away() || self.lock().is_fresh(uptime)
    }

    /// It is there, with so many nodes. `has_unsettled` if some of them have not brought back what they admitted.
    pub(crate) fn find(&self, nodes: u32, has_unsettled: bool, uptime: Duration) {
        let mut since = self.lock();
        if self.is_away() {
            since.found = Some(uptime);
        }
        let settles_on = has_unsettled || since.is_fresh(uptime);
        // Others that were away as well are not counted until they have found it, and have their share all the same.
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

    /// What one node may admit of a limit without asking the others: at least one.
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
    fn a_node_goes_on_by_itself_for_its_grace_and_is_back_at_once() {
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
    fn rates_are_shares_for_three_seconds_after_it_was_found_again() {
        let health = DatabaseHealth::default();
        health.find(2, false, S(10));
        assert_eq!(health.state(S(10)), DatabaseState::Yes, "it was never away");
        health.lose();
        assert!(health.settles_on(false, S(60)));
        // The row of the other node is too old to count after so long; it comes back in a moment.
        health.find(1, false, S(60));
        assert_eq!((health.state(S(60)), health.share(60)), (DatabaseState::Settling, 30));
        health.find(3, false, S(61));
        assert_eq!(health.share(60), 20, "more are there");
        health.find(2, false, S(62));
        assert_eq!((health.state(S(62)), health.share(60)), (DatabaseState::Settling, 20));
        assert!(!health.settles_on(false, S(63)) && health.settles_on(true, S(63)));
        health.find(2, false, S(63));
        assert_eq!((health.state(S(63)), health.share(60)), (DatabaseState::Yes, 30));
        // Another server has taken its place.
        health.settle(S(70));
        health.find(1, false, S(71));
        assert_eq!((health.state(S(71)), health.share(60)), (DatabaseState::Settling, 30));
        health.find(1, false, S(73));
        assert_eq!((health.state(S(73)), health.share(60)), (DatabaseState::Yes, 60), "it is gone");
    }
}
