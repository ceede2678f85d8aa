//! Decisions that the database takes for all nodes, and those that this node takes alone: in a
//! single process, and while the database is unreachable.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use store::{AccountId, NodeRow, PaceLimit, RateAsk, Shared, SlotEnding, SlotRow, StoreError};

use crate::health::{DatabaseHealth, DatabaseState, briefly};
use crate::{Access, AccessError, ConnectionId, Lineage, Pace, RateLimit};

/// The most connections that are listed.
const SEATS_MAX: u32 = 100_000;

/// A connection, at this node or another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedConnection {
    pub id: ConnectionId,
    pub account: AccountId,
    pub transport: String,
    pub address: String,
    pub since: market::Timestamp,
    pub is_here: bool,
}

impl From<SlotRow> for SharedConnection {
    fn from(SlotRow { id, slot, is_here, .. }: SlotRow) -> SharedConnection {
        SharedConnection {
            id: ConnectionId::of_slot(id),
            account: slot.account,
            transport: slot.transport,
            address: slot.address,
            since: slot.since,
            is_here,
        }
    }
}

/// Whether this node decides about a limit in memory, because the database has not answered or cannot write.
fn is_decided_here(error: &StoreError) -> bool {
    error.is_unanswered() || error.is_full()
}

impl Access {
    /// Whether other nodes may share the database.
    pub fn is_shared(&self) -> bool {
        self.accounts.shared().is_some()
    }

    /// The state of the database, as this node sees it.
    pub fn reached(&self, uptime: Duration) -> DatabaseState {
        self.health.state(uptime)
    }

    /// The number of nodes at the last heartbeat; 1 for a single process.
    pub fn nodes_online(&self) -> u32 {
        self.health.nodes()
    }

    /// The database's clock, if it is a server and its time is known.
    pub fn database_clock(&self, uptime: Duration) -> Option<market::Timestamp> {
        self.health.clock(uptime).map(|at_us| market::Timestamp(at_us.div_euclid(1_000_000)))
    }

    /// The nodes of the database; none for a single process.
    pub fn nodes(&self) -> Result<Vec<NodeRow>, AccessError> {
        self.accounts.shared().map_or(Ok(Vec::new()), |shared| Ok(shared.nodes()?))
    }

    /// The shared state, unless the database is unreachable.
    pub(crate) fn shared_if_there(&self) -> Option<&Arc<Shared>> {
        self.accounts.shared().filter(|_| !self.health.is_away())
    }

    /// Marks the database as unreachable if that is the error.
    pub(crate) fn asked<T>(&self, answer: Result<T, StoreError>) -> Result<T, AccessError> {
        answer.map_err(|error| {
            self.note_away(&error);
            AccessError::from(error)
        })
    }

    pub(crate) fn note_away(&self, error: &StoreError) {
        if error.is_away() && self.is_shared() {
            self.health.lose();
        }
    }

    /// Notes a query that the database has not answered, and that was decided here instead.
    fn note_unanswered(&self, error: &StoreError) {
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

    /// Counts a history request, or returns how long it has to wait.
    pub(crate) fn pass_rate(
        &self,
        id: AccountId,
        limit: RateLimit,
        calls: u32,
        uptime: Duration,
    ) -> Result<Result<(), Duration>, AccessError> {
        let Some(shared) = self.accounts.shared() else {
            return Ok(self.rates.pass(id, limit, calls, uptime));
        };
        let local = || self.health.local_limit(limit, uptime);
        if self.goes_on_alone()? {
            return Ok(self.rates.pass(id, local(), calls, uptime));
        }
        let ask = RateAsk { requests: limit.requests, within: limit.within, calls };
        if let Some(wait) = self.shared_rates.refused(id, &ask, uptime) {
            return Ok(Err(wait));
        }
        // Every admission is counted here, too, for when the database becomes unreachable.
        self.health.note_losses(shared.connection_losses(), uptime);
        let before = local();
        if let Err(wait) = self.rates.pass(id, before, calls, uptime) {
            return Ok(Err(wait));
        }
        let passed = match briefly(|| shared.take_rate(id, &ask)) {
            Ok(decision) => Ok(self.shared_rates.decided(id, &ask, decision, uptime)),
            // Whether the database has counted it is unknown; this node decides instead.
            Err(error) if is_decided_here(&error) => {
                self.note_unanswered(&error);
                self.health.note_lacking(uptime);
                Ok(Ok(()))
            }
            Err(error) => Err(error.into()),
        };
        // The query may have found out that connections were broken.
        self.health.note_losses(shared.connection_losses(), uptime);
        let after = local();
        match passed {
            Ok(Ok(())) if after == before => Ok(Ok(())),
            Ok(Ok(())) => {
                self.rates.take_back([id], calls);
                Ok(self.rates.pass(id, after, calls, uptime))
            }
            refused => {
                self.rates.take_back([id], calls);
                refused
            }
        }
    }

    /// What the rate of an account leaves it: how many requests, and how long until there are more.
    pub(crate) fn rate_left(
        &self,
        id: AccountId,
        limit: RateLimit,
        uptime: Duration,
    ) -> Result<(u32, Duration), AccessError> {
        let Some(shared) = self.accounts.shared() else {
            return Ok(self.rates.remaining(&id, limit, uptime));
        };
        let local = self.rates.remaining(&id, self.health.local_limit(limit, uptime), uptime);
        if self.goes_on_alone()? {
            return Ok(local);
        }
        let RateLimit { requests, within } = limit;
        let ask = RateAsk { requests, within, calls: 1 };
        let of_all = match self.shared_rates.remaining(id, &ask, uptime) {
            Some(known) => known,
            None => match self.asked(briefly(|| shared.rate_times(id))) {
                Ok(times) => (requests.saturating_sub(times.count(within)), times.until_more(within)),
                Err(error) if error.is_unanswered() => local,
                Err(error) => return Err(error),
            },
        };
        Ok(if local.0 < of_all.0 { local } else { of_all })
    }

    /// Takes a call of the general rule, or says how long it waits.
    pub(crate) fn pass_call(
        &self,
        id: AccountId,
        per_second: u32,
        uptime: Duration,
    ) -> Result<Result<(), Duration>, AccessError> {
        const SECOND: Duration = Duration::from_secs(1);
        let Some(shared) = self.accounts.shared() else { return Ok(self.calls.pass(id, per_second, uptime)) };
        let Some(each) = SECOND.checked_div(per_second) else { return Ok(Ok(())) };
        if !self.goes_on_alone()? {
            match briefly(|| shared.take_call(id, each, SECOND.max(each))) {
                Err(error) if is_decided_here(&error) => self.note_unanswered(&error),
                taken => return Ok(taken?),
            }
        }
        Ok(self.calls.pass(id, self.health.share(per_second), uptime))
    }

    /// Counts a request of a key, or returns how long it has to wait. While the database is
    /// unreachable, each node has its share.
    pub fn keep_pace<K: Eq + std::hash::Hash + fmt::Display>(
        &self,
        pace: &Pace<K>,
        key: K,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let Some(shared) = self.shared_if_there() else {
            let limit =
                RateLimit { requests: self.health.share_of_shared(pace.limit.requests), ..pace.limit };
            return pace.here.pass(key, limit, 1, uptime);
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

    /// Connections of an account, or of all, at every node; `None` for a single process, which has
    /// its own list.
    pub fn connections(&self, of: Option<AccountId>) -> Result<Option<Vec<SharedConnection>>, AccessError> {
        let Some(shared) = self.accounts.shared() else { return Ok(None) };
        let rows = self.asked(shared.slots(of, SEATS_MAX))?;
        Ok(Some(rows.into_iter().map(SharedConnection::from).collect()))
    }

    /// A connection at any node.
    pub fn connection(&self, id: ConnectionId) -> Result<Option<SharedConnection>, AccessError> {
        let Some(shared) = self.accounts.shared() else { return Ok(None) };
        Ok(self.asked(shared.slot(id.slot()))?.map(SharedConnection::from))
    }

    /// Has a connection closed by the node that has it, within about a second.
    pub fn end_connection(&self, id: ConnectionId, why: SlotEnding) -> Result<bool, AccessError> {
        let Some(shared) = self.accounts.shared() else { return Ok(false) };
        self.asked(shared.end_slot(id.slot(), why))
    }

    /// Stores something about a client by its lineage, for whichever node it connects to next.
    pub fn remember_client(&self, lineage: Lineage, word: &str) -> Result<(), AccessError> {
        let Some(shared) = self.shared_if_there() else { return Ok(()) };
        self.asked(briefly(|| shared.remember_client(&lineage.0, word)))
    }

    pub fn recall_client(&self, lineage: Lineage) -> Result<Option<String>, AccessError> {
        let Some(shared) = self.shared_if_there() else { return Ok(None) };
        self.asked(briefly(|| shared.recall_client(&lineage.0)))
    }

    /// Reports this node as alive, and reads what others have changed: which of its connections are
    /// to be closed, and how many nodes there are. To be called about every second; while the
    /// database is unreachable, only this checks whether it is back. `silent` are connections that
    /// have stopped responding, or respond again.
    pub fn heartbeat(
        &self,
        name: &str,
        silent: &[(ConnectionId, bool)],
        uptime: Duration,
    ) -> Result<Vec<(ConnectionId, SlotEnding)>, AccessError> {
        let Some(shared) = self.accounts.shared() else { return Ok(Vec::new()) };
        self.health.pass_time(uptime);
        let heartbeat = shared.heartbeat(name).and_then(|heartbeat| {
            if self.health.is_away() {
                // Also over the connections of requests: one that failed a moment ago would make
                // the next request mark the database as unreachable.
                shared.nodes()?;
            }
            if heartbeat.has_joined || self.health.is_away() {
                shared.renew_slots(&self.registry.slots())?;
            }
            let silent: Vec<_> = silent.iter().map(|(id, is_silent)| (id.slot(), *is_silent)).collect();
            shared.set_silent(&silent)?;
            Ok(heartbeat)
        });
        self.health.note_losses(shared.connection_losses(), uptime);
        let heartbeat = heartbeat.inspect_err(|error| {
            self.note_away(error);
            self.health.pass_time(uptime);
        })?;
        self.health.find(heartbeat.nodes, heartbeat.now_us, uptime);
        self.forget_withdrawn(shared, uptime)?;
        self.compare_slots(shared, uptime)?;
        Ok(self.to_close(shared, heartbeat.ended))
    }

    /// Removes this node from the list: it stops.
    pub fn leave_nodes(&self) -> Result<(), AccessError> {
        self.accounts.shared().map_or(Ok(()), |shared| Ok(shared.leave_nodes()?))
    }

    /// Removes expired shared state. One node at a time does it. `from` is where a former call has
    /// stopped; returns where the next one continues, `None` at the end.
    pub fn sweep_shared(
        &self,
        from: Option<i64>,
        now: market::Timestamp,
    ) -> Result<Option<i64>, AccessError> {
        let Some(shared) = self.accounts.shared() else { return Ok(None) };
        let from = match from {
            Some(from) => from,
            None => {
                shared.sweep(now)?;
                0
            }
        };
        Ok(shared.sweep_windows(from)?)
    }
}

impl DatabaseHealth {
    /// The share while the database is unreachable; the whole limit otherwise.
    fn share_of_shared(&self, limit: u32) -> u32 {
        if self.is_away() { self.share(limit) } else { limit }
    }
}
