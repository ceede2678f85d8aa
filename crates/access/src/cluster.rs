//! This node's view of the cluster: database health and open connections. A single process is a
//! cluster of one node without a shared database.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{PaceLimit, Shared, SlotEnding, StoreError};

use crate::connection::Registry;
use crate::health::{DatabaseHealth, briefly};
use crate::{AccessError, ConnectionId, Pace, RateLimit};

/// Time for which the version of the last applied withdrawals can be used to read later
/// withdrawals. The database retains its withdrawal log for longer than this.
const WITHDRAWALS_KNOWN: Duration = Duration::from_secs(3_600);
/// Interval at which this node's connection slots are compared with the database.
const SLOTS_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct Cluster {
    shared: Option<Arc<Shared>>,
    /// Health of the database, as observed by this node.
    pub(crate) health: DatabaseHealth,
    pub(crate) registry: Arc<Registry>,
    upkeep: Mutex<Upkeep>,
}

/// State carried over between heartbeats.
#[derive(Debug, Default)]
struct Upkeep {
    /// Database version up to which withdrawals were applied, and this process's uptime at that
    /// heartbeat.
    withdrawals: Option<(i64, Duration)>,
    /// Slots of this node in the database that had no open connection at the last comparison.
    strays: HashSet<i64>,
    without_slot: HashSet<i64>,
    slots_at: Option<Duration>,
    /// Number of broken database connections at the last heartbeat. Each break may have lost the
    /// last subscriptions, which are committed asynchronously.
    losses: u64,
}

/// Returns whether a limit must be enforced in memory, because the database did not answer or has
/// no disk space for a write.
pub(crate) fn is_decided_here(error: &StoreError) -> bool {
    error.is_unanswered() || error.is_full()
}

impl Cluster {
    pub(crate) fn of(shared: Option<Arc<Shared>>) -> Cluster {
        Cluster {
            registry: Arc::new(Registry::of(shared.clone())),
            shared,
            health: DatabaseHealth::default(),
            upkeep: Mutex::default(),
        }
    }

    /// Returns the state shared by all nodes; `None` for a single process.
    pub(crate) fn shared(&self) -> Option<&Arc<Shared>> {
        self.shared.as_ref()
    }

    /// Returns the state shared by all nodes, or `None` for a single process or while the database
    /// is unreachable.
    pub(crate) fn shared_if_reachable(&self) -> Option<&Arc<Shared>> {
        self.shared().filter(|_| !self.health.is_unreachable())
    }

    /// Converts a query's error to an [`AccessError`]. Marks the database as unreachable if that
    /// caused the error.
    pub(crate) fn check_query<T>(&self, answer: Result<T, StoreError>) -> Result<T, AccessError> {
        answer.map_err(|error| {
            self.note_unreachable(&error);
            AccessError::from(error)
        })
    }

    pub(crate) fn note_unreachable(&self, error: &StoreError) {
        if error.is_unreachable() && self.shared.is_some() {
            self.health.lose();
        }
    }

    /// Marks the database as unreachable if a query failed because of that or its outcome is
    /// unknown. The caller falls back to a decision in memory.
    pub(crate) fn note_unanswered(&self, error: &StoreError) {
        if error.is_unreachable() || matches!(error, StoreError::Unknown { .. }) {
            self.health.lose();
        }
    }

    /// Returns whether this node serves from memory because the database is unreachable. Fails with
    /// [`AccessError::Lost`] once the offline window is over.
    pub(crate) fn goes_on_alone(&self) -> Result<bool, AccessError> {
        match (self.health.is_unreachable(), self.health.is_lost()) {
            (_, true) => Err(AccessError::Lost),
            (is_unreachable, false) => Ok(is_unreachable),
        }
    }

    /// Counts a request for `key`, or returns the time to wait. While the database is unreachable
    /// or fails to count, each node enforces its share of the limit.
    pub(crate) fn keep_pace<K: Eq + std::hash::Hash + fmt::Display>(
        &self,
        pace: &Pace<K>,
        key: K,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let Some(shared) = self.shared() else { return pace.here.pass(key, pace.limit, 1, uptime) };
        let RateLimit { requests, within } = pace.limit;
        if !self.health.is_unreachable() {
            let text = key.to_string();
            let limit = PaceLimit { kind: pace.kind, key: &text, requests, within };
            match briefly(|| shared.take_pace(&limit)) {
                Ok(taken) => return taken,
                // A rate limit only bounds load, so fall back to this node's limiter. The request
                // itself reports the database error.
                Err(error) => self.note_unanswered(&error),
            }
        }
        pace.here.pass(key, self.health.share(pace.limit, uptime), 1, uptime)
    }

    /// Returns the database version up to which withdrawals were applied, or `None` if the database
    /// may have deleted later withdrawals from its log.
    pub(crate) fn withdrawals_known(&self, uptime: Duration) -> Option<i64> {
        let known = self.lock_upkeep().withdrawals;
        known.filter(|(_, at)| uptime.saturating_sub(*at) < WITHDRAWALS_KNOWN).map(|(version, _)| version)
    }

    pub(crate) fn note_withdrawals(&self, version: i64, uptime: Duration) {
        self.lock_upkeep().withdrawals = Some((version, uptime));
    }

    /// Compares this node's connections with its slots in the database. Releases slots that have no
    /// connection and writes slots that the database lacks, but only those found in two consecutive
    /// comparisons, because a slot may be taken or released during a comparison. Mismatches arise
    /// when a database response is lost or while the database is unreachable.
    pub(crate) fn compare_slots(&self, shared: &Arc<Shared>, uptime: Duration) -> Result<(), AccessError> {
        let mut upkeep = self.lock_upkeep();
        if upkeep.slots_at.is_some_and(|at| uptime.saturating_sub(at) < SLOTS_EVERY) {
            return Ok(());
        }
        upkeep.slots_at = Some(uptime);
        drop(upkeep);
        let mut slots = self.registry.slots();
        let rows: HashSet<i64> = self.check_query(shared.own_slots())?.into_iter().collect();
        let strays: HashSet<i64> =
            rows.iter().copied().filter(|id| !self.registry.has(ConnectionId::of_slot(*id))).collect();
        let mut upkeep = self.lock_upkeep();
        strays.intersection(&upkeep.strays).for_each(|id| shared.leave(*id));
        upkeep.strays = strays;
        let without_slot: HashSet<i64> =
            slots.iter().map(|(id, _)| *id).filter(|id| !rows.contains(id)).collect();
        let before = std::mem::replace(&mut upkeep.without_slot, without_slot);
        slots.retain(|(id, _)| before.contains(id) && upkeep.without_slot.contains(id));
        drop(upkeep);
        if !slots.is_empty() {
            self.check_query(shared.renew_slots(&slots))?;
            self.registry.rewrite_subscriptions(slots.iter().map(|(id, _)| *id));
        }
        Ok(())
    }

    /// Writes the subscriptions of this node's connections that may differ from the database. After
    /// a database connection was lost, all subscriptions may differ.
    pub(crate) fn write_subscriptions(&self, shared: &Shared) -> Result<(), AccessError> {
        let losses = shared.connection_losses();
        if std::mem::replace(&mut self.lock_upkeep().losses, losses) != losses {
            self.registry.rewrite_all_subscriptions();
        }
        self.check_query(self.registry.write_subscriptions(shared))
    }

    /// Returns the connections that this node must close. For connections that are already closed,
    /// releases the slot, whose release was still pending.
    pub(crate) fn to_close(
        &self,
        shared: &Arc<Shared>,
        ended: Vec<(i64, SlotEnding)>,
    ) -> Vec<(ConnectionId, SlotEnding)> {
        let ended = ended.into_iter().map(|(id, why)| (ConnectionId::of_slot(id), why));
        let (here, gone): (Vec<_>, Vec<_>) = ended.partition(|(id, _)| self.registry.has(*id));
        gone.into_iter().for_each(|(id, _)| shared.leave(id.slot()));
        here
    }

    fn lock_upkeep(&self) -> MutexGuard<'_, Upkeep> {
        // A panicking thread leaves no partial update, so a poisoned mutex is usable.
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
