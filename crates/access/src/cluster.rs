//! This node among the nodes of a database: whether the database is reachable, and which connections
//! are open here. A single process is a cluster of one, without a shared database.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{PaceLimit, Shared, SlotEnding, StoreError};

use crate::connection::Registry;
use crate::health::{DatabaseHealth, briefly};
use crate::{AccessError, ConnectionId, Pace, RateLimit};

/// Withdrawals stay readable for longer than this.
const WITHDRAWALS_KNOWN: Duration = Duration::from_secs(3_600);
/// How often slots are compared with the database.
const SLOTS_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct Cluster {
    shared: Option<Arc<Shared>>,
    /// Whether the database is reachable.
    pub(crate) health: DatabaseHealth,
    pub(crate) registry: Arc<Registry>,
    upkeep: Mutex<Upkeep>,
}

/// What the last heartbeats have found.
#[derive(Debug, Default)]
struct Upkeep {
    /// The version up to which withdrawals were applied, and when.
    withdrawals: Option<(i64, Duration)>,
    /// At the last comparison: slots of this node in the database without a connection, and
    /// connections without a slot in the database.
    strays: HashSet<i64>,
    without_slot: HashSet<i64>,
    slots_at: Option<Duration>,
}

/// Whether this node decides about a limit in memory, because the database has not answered or cannot write.
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

    /// The state that nodes share; `None` for a single process.
    pub(crate) fn shared(&self) -> Option<&Arc<Shared>> {
        self.shared.as_ref()
    }

    /// The shared state, unless the database is unreachable.
    pub(crate) fn shared_if_there(&self) -> Option<&Arc<Shared>> {
        self.shared().filter(|_| !self.health.is_away())
    }

    /// Marks the database as unreachable if that is the error.
    pub(crate) fn asked<T>(&self, answer: Result<T, StoreError>) -> Result<T, AccessError> {
        answer.map_err(|error| {
            self.note_away(&error);
            AccessError::from(error)
        })
    }

    pub(crate) fn note_away(&self, error: &StoreError) {
        if error.is_away() && self.shared.is_some() {
            self.health.lose();
        }
    }

    /// Notes a query that the database has not answered, and that was decided here instead.
    pub(crate) fn note_unanswered(&self, error: &StoreError) {
        if error.is_away() || matches!(error, StoreError::Unknown { .. }) {
            self.health.lose();
        }
    }

    /// Whether this node serves from memory.
    pub(crate) fn goes_on_alone(&self) -> Result<bool, AccessError> {
        match (self.health.is_away(), self.health.is_lost()) {
            (_, true) => Err(AccessError::Lost),
            (is_away, false) => Ok(is_away),
        }
    }

    /// Counts a request of a key, or returns how long it has to wait. While the database is
    /// unreachable, each node has its share.
    pub(crate) fn keep_pace<K: Eq + std::hash::Hash + fmt::Display>(
        &self,
        pace: &Pace<K>,
        key: K,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let Some(shared) = self.shared_if_there() else {
            let RateLimit { requests, within } = pace.limit;
            let requests = if self.health.is_away() { self.health.share(requests) } else { requests };
            return pace.here.pass(key, RateLimit { requests, within }, 1, uptime);
        };
        let text = key.to_string();
        let RateLimit { requests, within } = pace.limit;
        let limit = PaceLimit { kind: pace.kind, key: &text, requests, within };
        match briefly(|| shared.take_pace(&limit)) {
            Ok(taken) => taken,
            // A rate limit only bounds work. The request itself will report a failure of the
            // database.
            Err(error) => {
                self.note_unanswered(&error);
                pace.here.pass(key, pace.limit, 1, uptime)
            }
        }
    }

    /// The version up to which withdrawals were applied, unless later ones may have been removed.
    pub(crate) fn withdrawals_known(&self, uptime: Duration) -> Option<i64> {
        let known = self.lock_upkeep().withdrawals;
        known.filter(|(_, at)| uptime.saturating_sub(*at) < WITHDRAWALS_KNOWN).map(|(version, _)| version)
    }

    pub(crate) fn note_withdrawals(&self, version: i64, uptime: Duration) {
        self.lock_upkeep().withdrawals = Some((version, uptime));
    }

    /// Releases slots that exist in the database and not at this node, and writes those that the
    /// database lacks, each if it was so twice in a row: a slot that is just being taken is in both
    /// a moment later. They arise when a response of the database is lost, and while it is
    /// unreachable.
    pub(crate) fn compare_slots(&self, shared: &Arc<Shared>, uptime: Duration) -> Result<(), AccessError> {
        let mut upkeep = self.lock_upkeep();
        if upkeep.slots_at.is_some_and(|at| uptime.saturating_sub(at) < SLOTS_EVERY) {
            return Ok(());
        }
        upkeep.slots_at = Some(uptime);
        drop(upkeep);
        let mut slots = self.registry.slots();
        let rows: HashSet<i64> = self.asked(shared.own_slots())?.into_iter().collect();
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
            self.asked(shared.renew_slots(&slots))?;
        }
        Ok(())
    }

    /// Connections to be closed at this node. The slot of one that is already closed is released:
    /// its release was still pending.
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
        // A panicking thread leaves no partial update.
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
