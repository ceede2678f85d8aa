//! Health of the accounts database, if it is a server shared by several nodes.
//!
//! While the database is unreachable, a node serves from memory for a limited time: the accounts in
//! its cache, the securities that those accounts have paid for, and the node's share of their rate
//! limits. The first failed request marks the database as unreachable. After that only the
//! heartbeat ([`Access::heartbeat`](crate::Access::heartbeat)) queries the database, so that no
//! request waits for an unreachable server.
//!
//! The database does not count requests admitted during the outage, and may lose the last counts
//! before a crash of its server. Uncounted requests matter for one rate window, so for that long
//! after recovery a request must pass both the node's share, which counts the node's own
//! admissions, and the database. The share is based on the highest number of nodes within the
//! window, because nodes that have not reconnected yet are missing from the current number but have
//! used their shares.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::RateLimit;

/// Default offline window: the time for which a node serves from memory while the database is
/// unreachable.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(300);
/// Time for which [`DatabaseState::Settling`] is reported after recovery: the window of the default
/// rate limit. Nodes probe the database every second, so every node that can reach the database has
/// reconnected by then.
const SETTLES: Duration = Duration::from_secs(30);

/// Timeout of database queries for which this node can fall back to memory. A query normally takes
/// less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs a query with a timeout of one second, for queries for which this node can fall back to
/// memory.
pub(crate) fn briefly<T>(ask: impl FnOnce() -> T) -> T {
    store::waiting_at_most(PATIENCE, ask)
}

/// State of the accounts database as seen by this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// The database is reachable or is a local file.
    Yes,
    /// The database became reachable again recently, so requests must also pass this node's share
    /// of the rate limit.
    Settling,
    /// The database has been unreachable for this long, and this node serves from memory.
    Away(Duration),
    /// The database has been unreachable for this long, which exceeds the offline window.
    Lost(Duration),
}

/// Which cached values may be used, by the database version at which they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Learnt {
    /// Only values read at this database version.
    At(i64),
    /// Values read at any version, because the database is unreachable.
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
    offline_window: Duration,
    is_unreachable: AtomicBool,
    is_lost: AtomicBool,
    /// Number of nodes in the cluster at the last heartbeat.
    nodes: AtomicU32,
    known: Mutex<Known>,
}

/// Mutable state behind the lock. All times are uptime.
#[derive(Debug, Default)]
struct Known {
    /// When the database became unreachable, as noticed by a heartbeat; `None` while it is
    /// reachable.
    away: Option<Duration>,
    /// Last time at which requests were admitted that the database may not have counted; `None` if
    /// there were none.
    lacking: Option<Duration>,
    /// Number of broken database connections detected since the start.
    losses: u64,
    /// Earlier numbers of nodes, in decreasing order, each with the time at which a lower number
    /// replaced it.
    more_nodes: Vec<(u32, Duration)>,
    /// The database's clock in microseconds, and the uptime at which the clock was read.
    clock: Option<(i64, Duration)>,
}

impl Known {
    fn lacks_some(&self, within: Duration, uptime: Duration) -> bool {
        self.lacking.is_some_and(|last| uptime.saturating_sub(last) < within)
    }
}

impl Default for DatabaseHealth {
    fn default() -> DatabaseHealth {
        DatabaseHealth {
            offline_window: GRACE_DEFAULT,
            is_unreachable: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            nodes: AtomicU32::new(1),
            known: Mutex::default(),
        }
    }
}

impl DatabaseHealth {
    pub(crate) fn set_grace(&mut self, offline_window: Duration) {
        self.offline_window = offline_window;
    }

    /// Returns whether the database is unreachable and must not be queried by requests.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.is_unreachable.load(Ordering::Acquire)
    }

    /// Returns which cached values may be used if `version` is the current database version.
    pub(crate) fn learnt(&self, version: i64) -> Learnt {
        if self.is_unreachable() { Learnt::Ever } else { Learnt::At(version) }
    }

    /// Returns whether the database has been unreachable for longer than the offline window.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Records that the database may not have counted requests admitted up to `uptime`.
    pub(crate) fn note_lacking(&self, uptime: Duration) {
        let lacking = &mut self.lock().lacking;
        *lacking = (*lacking).max(Some(uptime));
    }

    /// Records the number of database connections found broken since the start. A broken connection
    /// may indicate a crash in which the database lost its last commits.
    pub(crate) fn note_losses(&self, losses: u64, uptime: Duration) {
        let mut known = self.lock();
        if losses > known.losses {
            known.losses = losses;
            known.lacking = known.lacking.max(Some(uptime));
        }
    }

    /// Returns the limit that this node enforces. While the database is unreachable, or may not
    /// have counted some requests of the last window, the limit is the node's share. Otherwise it
    /// is unlimited, because the database enforces the limit.
    pub(crate) fn local_limit(&self, limit: RateLimit, uptime: Duration) -> RateLimit {
        let is_share = self.is_unreachable() || self.lock().lacks_some(limit.within, uptime);
        if is_share { self.share(limit, uptime) } else { RateLimit { requests: u32::MAX, ..limit } }
    }

    /// Marks the database as unreachable.
    pub(crate) fn lose(&self) {
        self.is_unreachable.store(true, Ordering::Release);
    }

    /// Starts the offline window at the first heartbeat after the database has become unreachable,
    /// and marks the database as lost when the window is over.
    pub(crate) fn pass_time(&self, uptime: Duration) {
        if !self.is_unreachable() {
            return;
        }
        let since = *self.lock().away.get_or_insert(uptime);
        if uptime.saturating_sub(since) >= self.offline_window {
            self.is_lost.store(true, Ordering::Release);
        }
    }

    /// Marks the database as reachable, and stores the number of nodes and the database's clock in
    /// microseconds.
    pub(crate) fn find(&self, nodes: u32, now_us: i64, uptime: Duration) {
        if self.is_unreachable() {
            self.note_lacking(uptime);
        }
        let mut known = self.lock();
        let before = self.nodes.swap(nodes, Ordering::AcqRel);
        if nodes < before {
            known.more_nodes.retain(|(more, _)| *more > before);
            known.more_nodes.push((before, uptime));
        }
        known.clock = Some((now_us, uptime));
        known.away = None;
        self.is_lost.store(false, Ordering::Release);
        self.is_unreachable.store(false, Ordering::Release);
    }

    /// Returns the database's clock in microseconds, extrapolated from the last heartbeat, or
    /// `None` before the first heartbeat.
    pub(crate) fn clock(&self, uptime: Duration) -> Option<i64> {
        let (at_us, at) = self.lock().clock?;
        let passed = i64::try_from(uptime.saturating_sub(at).as_micros()).unwrap_or(i64::MAX);
        Some(at_us.saturating_add(passed))
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Acquire)
    }

    /// Returns the share of a limit that one node may admit without the database, which is at least
    /// one request. The limit is divided by the highest number of nodes within the limit's window,
    /// or within [`SETTLES`] if the window is shorter.
    pub(crate) fn share(&self, limit: RateLimit, uptime: Duration) -> RateLimit {
        let known = self.lock();
        let within = limit.within.max(SETTLES);
        let more = known.more_nodes.iter().find(|(_, until)| uptime.saturating_sub(*until) < within);
        let nodes = more.map_or(1, |(nodes, _)| *nodes).max(self.nodes());
        let requests = limit.requests.checked_div(nodes);
        RateLimit { requests: requests.unwrap_or(limit.requests).max(1), ..limit }
    }

    pub(crate) fn state(&self, uptime: Duration) -> DatabaseState {
        let known = self.lock();
        if !self.is_unreachable() {
            let settles = known.lacks_some(SETTLES, uptime);
            return if settles { DatabaseState::Settling } else { DatabaseState::Yes };
        }
        let since = known.away.map_or(Duration::ZERO, |since| uptime.saturating_sub(since));
        if self.is_lost() { DatabaseState::Lost(since) } else { DatabaseState::Away(since) }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn a_node_serves_during_its_offline_window_and_recovers_immediately() {
        let mut health = DatabaseHealth::default();
        health.set_grace(S(60));
        assert_eq!(health.state(S(100)), DatabaseState::Yes);
        health.find(3, 0, S(100));
        health.pass_time(S(110));
        assert_eq!(health.state(S(110)), DatabaseState::Yes, "time alone means nothing");
        health.lose();
        health.pass_time(S(120));
        health.lose();
        health.pass_time(S(179));
        assert_eq!(health.state(S(179)), DatabaseState::Away(S(59)));
        let share = |requests| health.share(RateLimit::of_seconds(requests, 30), S(179)).requests;
        assert_eq!((share(60), share(2)), (20, 1));
        health.pass_time(S(180));
        assert_eq!(health.state(S(180)), DatabaseState::Lost(S(60)));
        health.find(2, 0, S(181));
        assert_eq!(health.state(S(181)), DatabaseState::Settling);
        health.find(2, 0, S(210));
        assert_eq!(health.state(S(210)), DatabaseState::Settling);
        health.find(2, 0, S(211));
        assert_eq!(health.state(S(211)), DatabaseState::Yes);
        health.lose();
        health.pass_time(S(220));
        assert_eq!(health.state(S(221)), DatabaseState::Away(S(1)), "it is counted anew");
    }

    #[test]
    fn shares_apply_for_one_window_after_recovery() {
        let health = DatabaseHealth::default();
        let local = |seconds, at| health.local_limit(RateLimit::of_seconds(60, seconds), at).requests;
        let share = |at| health.share(RateLimit::of_seconds(60, 30), at).requests;
        health.find(2, 0, S(10));
        assert_eq!(health.state(S(10)), DatabaseState::Yes, "it was never away");
        assert_eq!(local(30, S(10)), u32::MAX, "the database decides");
        health.lose();
        assert_eq!(local(30, S(50)), 30);
        // The row of the other node has expired, so that node is not counted. The node reconnects
        // shortly afterwards.
        health.find(1, 0, S(60));
        assert_eq!((health.state(S(60)), local(30, S(60))), (DatabaseState::Settling, 30));
        health.find(3, 0, S(61));
        assert_eq!(local(30, S(61)), 20, "more are there");
        health.find(2, 0, S(62));
        assert_eq!(local(30, S(62)), 20);
        assert_eq!((local(10, S(69)), local(10, S(70))), (20, u32::MAX), "as long as its window");
        assert_eq!((local(30, S(89)), local(30, S(90))), (20, u32::MAX));
        assert_eq!(local(3_600, S(90)), 20, "longer windows take longer");
        health.find(2, 0, S(90));
        assert_eq!((health.state(S(90)), share(S(91)), share(S(92))), (DatabaseState::Yes, 20, 30));
        // A connection breaks, which may mean that the database server has crashed.
        health.note_losses(1, S(100));
        health.find(1, 0, S(101));
        assert_eq!((health.state(S(101)), local(30, S(101))), (DatabaseState::Settling, 30));
        health.note_losses(1, S(131));
        health.find(1, 0, S(131));
        assert_eq!((health.state(S(131)), share(S(131))), (DatabaseState::Yes, 60), "it is gone");
    }

    #[test]
    fn a_share_uses_the_highest_number_of_nodes_within_its_window() {
        let health = DatabaseHealth::default();
        let local = |seconds, at| health.local_limit(RateLimit::of_seconds(60, seconds), at).requests;
        health.find(3, 0, S(10));
        health.lose();
        // The other two nodes have used their shares for the hour, whether or not they reconnect.
        for at in [60, 61, 90, 120, 3_000] {
            health.find(if at < 90 { 1 } else { 2 }, 0, S(at));
            assert_eq!(local(3_600, S(at)), 20, "at {at} s");
        }
        assert_eq!((local(3_600, S(3_659)), local(3_600, S(3_660))), (20, u32::MAX));
        health.lose();
        assert_eq!((local(3_600, S(3_660)), health.nodes()), (30, 2), "one is gone for an hour");
    }

    #[test]
    fn the_database_clock_advances_between_heartbeats() {
        let health = DatabaseHealth::default();
        assert_eq!(health.clock(S(1)), None);
        health.find(1, 5_000_000, S(10));
        assert_eq!(health.clock(S(12)), Some(7_000_000));
    }
}
