//! The nodes of a database and their connections: what a node reports and reads with its heartbeat.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use store::{AccountId, NodeRow, Shared, SlotEnding, SlotRow};

use crate::health::{DatabaseState, briefly};
use crate::{Access, AccessError, ConnectionId, Lineage, Pace};

/// If there are more withdrawals, the whole cache is dropped and read again on demand.
const WITHDRAWALS_MAX: u32 = 10_000;
/// The most connections that are listed.
const CONNECTIONS_LISTED_MAX: u32 = 100_000;

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

impl Access {
    /// Whether other nodes may share the database.
    pub fn is_shared(&self) -> bool {
        self.cluster.shared().is_some()
    }

    /// The state of the database, as this node sees it.
    pub fn reached(&self, uptime: Duration) -> DatabaseState {
        self.cluster.health.state(uptime)
    }

    /// The number of nodes at the last heartbeat; 1 for a single process.
    pub fn nodes_online(&self) -> u32 {
        self.cluster.health.nodes()
    }

    /// The database's clock, if it is a server and its time is known.
    pub fn database_clock(&self, uptime: Duration) -> Option<market::Timestamp> {
        self.cluster.health.clock(uptime).map(|at_us| market::Timestamp(at_us.div_euclid(1_000_000)))
    }

    /// The nodes of the database; none for a single process.
    pub fn nodes(&self) -> Result<Vec<NodeRow>, AccessError> {
        self.cluster.shared().map_or(Ok(Vec::new()), |shared| Ok(shared.nodes()?))
    }

    /// Counts a request of a key, or returns how long it has to wait. While the database is
    /// unreachable, each node has its share.
    pub fn keep_pace<K: Eq + std::hash::Hash + fmt::Display>(
        &self,
        pace: &Pace<K>,
        key: K,
        uptime: Duration,
    ) -> Result<(), Duration> {
        self.cluster.keep_pace(pace, key, uptime)
    }

    /// Connections of an account, or of all, at every node; `None` for a single process, which has
    /// its own list.
    pub fn connections(&self, of: Option<AccountId>) -> Result<Option<Vec<SharedConnection>>, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(None) };
        let rows = self.cluster.asked(shared.slots(of, CONNECTIONS_LISTED_MAX))?;
        Ok(Some(rows.into_iter().map(SharedConnection::from).collect()))
    }

    /// A connection at any node.
    pub fn connection(&self, id: ConnectionId) -> Result<Option<SharedConnection>, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(None) };
        Ok(self.cluster.asked(shared.slot(id.slot()))?.map(SharedConnection::from))
    }

    /// Has a connection closed by the node that has it, within about a second.
    pub fn end_connection(&self, id: ConnectionId, why: SlotEnding) -> Result<bool, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(false) };
        self.cluster.asked(shared.end_slot(id.slot(), why))
    }

    /// Stores something about a client by its lineage, for whichever node it connects to next.
    pub fn remember_client(&self, lineage: Lineage, word: &str) -> Result<(), AccessError> {
        let Some(shared) = self.cluster.shared_if_there() else { return Ok(()) };
        self.cluster.asked(briefly(|| shared.remember_client(&lineage.0, word)))
    }

    pub fn recall_client(&self, lineage: Lineage) -> Result<Option<String>, AccessError> {
        let Some(shared) = self.cluster.shared_if_there() else { return Ok(None) };
        self.cluster.asked(briefly(|| shared.recall_client(&lineage.0)))
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
        let Some(shared) = self.cluster.shared() else { return Ok(Vec::new()) };
        self.cluster.health.pass_time(uptime);
        let heartbeat = shared.heartbeat(name).and_then(|heartbeat| {
            if self.cluster.health.is_away() {
                // Also over the connections of requests: one that failed a moment ago would make
                // the next request mark the database as unreachable.
                shared.nodes()?;
            }
            if heartbeat.has_joined || self.cluster.health.is_away() {
                shared.renew_slots(&self.cluster.registry.slots())?;
            }
            let silent: Vec<_> = silent.iter().map(|(id, is_silent)| (id.slot(), *is_silent)).collect();
            shared.set_silent(&silent)?;
            Ok(heartbeat)
        });
        self.cluster.health.note_losses(shared.connection_losses(), uptime);
        let heartbeat = heartbeat.inspect_err(|error| {
            self.cluster.note_away(error);
            self.cluster.health.pass_time(uptime);
        })?;
        self.cluster.health.find(heartbeat.nodes, heartbeat.now_us, uptime);
        self.forget_withdrawn(shared, uptime)?;
        self.cluster.compare_slots(shared, uptime)?;
        Ok(self.cluster.to_close(shared, heartbeat.ended))
    }

    /// Drops cached state of accounts after withdrawals. The cache serves requests while the
    /// database is unreachable, and must not contain withdrawn credentials then.
    fn forget_withdrawn(&self, shared: &Shared, uptime: Duration) -> Result<(), AccessError> {
        let version = match self.cluster.withdrawals_known(uptime) {
            Some(version) => {
                let rows = self.cluster.asked(shared.withdrawals(version, WITHDRAWALS_MAX))?;
                let last = rows.last().map_or(version, |(version, _)| *version);
                let accounts: HashSet<AccountId> = rows.iter().map(|(_, account)| *account).collect();
                let is_all = rows.len() >= WITHDRAWALS_MAX as usize;
                if !accounts.is_empty() {
                    self.forget_accounts((!is_all).then_some(&accounts), last);
                }
                last
            }
            // Earlier withdrawals are unknown.
            None => {
                let version = self.current_version()?;
                self.forget_accounts(None, version);
                version
            }
        };
        self.cluster.note_withdrawals(version, uptime);
        Ok(())
    }

    /// Removes this node from the list: it stops.
    pub fn leave_nodes(&self) -> Result<(), AccessError> {
        self.cluster.shared().map_or(Ok(()), |shared| Ok(shared.leave_nodes()?))
    }

    /// Removes expired shared state. One node at a time does it. `from` is where a former call has
    /// stopped; returns where the next one continues, `None` at the end.
    pub fn sweep_shared(
        &self,
        from: Option<i64>,
        now: market::Timestamp,
    ) -> Result<Option<i64>, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(None) };
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
