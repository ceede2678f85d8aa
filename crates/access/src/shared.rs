//! Nodes that share a database: their heartbeats, connections and shared state.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use store::{AccountId, ListedSlot, MissedTrades, NodeRow, STREAM, Shared, SlotEnding, SlotRow};

use crate::health::{DatabaseState, briefly};
use crate::{Access, AccessError, ConnectionId, Lineage, Pace};

/// Maximum number of withdrawals read per heartbeat. If there are more, the cached state of all
/// accounts is dropped.
const WITHDRAWALS_MAX: u32 = 10_000;
/// Maximum number of connections and streams returned by [`Access::connections`].
const CONNECTIONS_LISTED_MAX: u32 = 100_000;

/// An open connection of this node or another node.
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

/// A connection or a stream of any node, with its subscriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedConnection {
    pub connection: SharedConnection,
    /// Whether this is a stream of the pages, which is not a connection.
    pub is_stream: bool,
    /// Number of subscriptions that count toward the account's limit.
    pub subscriptions: u32,
    /// The text of [`Access::set_pending`].
    pub pending: String,
}

impl From<ListedSlot> for ListedConnection {
    fn from(ListedSlot { row, subscriptions, pending }: ListedSlot) -> ListedConnection {
        let is_stream = row.slot.transport == STREAM;
        ListedConnection { connection: row.into(), is_stream, subscriptions, pending }
    }
}

impl Access {
    /// Returns whether the database is a server, which other nodes may share.
    pub fn is_shared(&self) -> bool {
        self.cluster.shared().is_some()
    }

    /// Returns the state of the database as seen by this node.
    pub fn reached(&self, uptime: Duration) -> DatabaseState {
        self.cluster.health.state(uptime)
    }

    /// Returns the number of nodes at the last heartbeat, which is 1 for a single process.
    pub fn nodes_online(&self) -> u32 {
        self.cluster.health.nodes()
    }

    /// Returns the time by the database's clock, or `None` if the database is a file or no
    /// heartbeat has succeeded yet.
    pub fn database_clock(&self, uptime: Duration) -> Option<market::Timestamp> {
        self.cluster.health.clock(uptime).map(|at_us| market::Timestamp(at_us.div_euclid(1_000_000)))
    }

    /// Returns the nodes that share the database, or an empty list for a single process.
    pub fn nodes(&self) -> Result<Vec<NodeRow>, AccessError> {
        self.cluster.shared().map_or(Ok(Vec::new()), |shared| Ok(shared.nodes()?))
    }

    /// Counts a request for `key`, or returns the time to wait. While the database is unreachable
    /// or fails to count, each node enforces its share of the limit.
    pub fn keep_pace<K: Eq + std::hash::Hash + fmt::Display>(
        &self,
        pace: &Pace<K>,
        key: K,
        uptime: Duration,
    ) -> Result<(), Duration> {
        self.cluster.keep_pace(pace, key, uptime)
    }

    /// Returns the connections and streams of an account, or of all accounts if `None`, on every
    /// node. Returns `None` for a single process, because its server has the list.
    pub fn connections(&self, of: Option<AccountId>) -> Result<Option<Vec<ListedConnection>>, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(None) };
        let rows = self.cluster.check_query(shared.slots(of, CONNECTIONS_LISTED_MAX))?;
        Ok(Some(rows.into_iter().map(ListedConnection::from).collect()))
    }

    /// Describes to other nodes what a connection or a stream requested and does not get.
    pub fn set_pending(&self, id: ConnectionId, text: &str) -> Result<(), AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(()) };
        self.cluster.check_query(shared.set_pending(id.slot(), text))
    }

    /// Records trades that a closed connection did not receive, so that the client can get them at
    /// any node. Does not block. A single process has no other node.
    pub fn note_missed(&self, id: ConnectionId, account: AccountId, lineage: Lineage, missed: &MissedTrades) {
        if let Some(shared) = self.cluster.shared() {
            shared.note_missed(id.slot(), account, lineage.0, missed);
        }
    }

    /// Returns a connection of any node, or `None` if the connection does not exist or this is a
    /// single process.
    pub fn connection(&self, id: ConnectionId) -> Result<Option<SharedConnection>, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(None) };
        Ok(self.cluster.check_query(shared.slot(id.slot()))?.map(SharedConnection::from))
    }

    /// Requests the node that holds a connection to close it, which takes about a second. Returns
    /// whether the connection exists.
    pub fn end_connection(&self, id: ConnectionId, why: SlotEnding) -> Result<bool, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(false) };
        self.cluster.check_query(shared.end_slot(id.slot(), why))
    }

    /// Stores a value under a client's lineage, for the node to which the client connects next. Has
    /// no effect for a single process or while the database is unreachable.
    pub fn remember_client(&self, lineage: Lineage, word: &str) -> Result<(), AccessError> {
        let Some(shared) = self.cluster.shared_if_reachable() else { return Ok(()) };
        self.cluster.check_query(briefly(|| shared.remember_client(&lineage.0, word)))
    }

    pub fn recall_client(&self, lineage: Lineage) -> Result<Option<String>, AccessError> {
        let Some(shared) = self.cluster.shared_if_reachable() else { return Ok(None) };
        self.cluster.check_query(briefly(|| shared.recall_client(&lineage.0)))
    }

    /// Reports this node as alive and reads changes made by other nodes. Returns the connections
    /// that this node must close. Must be called about once a second, because while the database is
    /// unreachable only this call detects its recovery. `silent` lists connections that have
    /// stopped responding (`true`) or respond again (`false`).
    pub fn heartbeat(
        &self,
        name: &str,
        silent: &[(ConnectionId, bool)],
        uptime: Duration,
    ) -> Result<Vec<(ConnectionId, SlotEnding)>, AccessError> {
        let Some(shared) = self.cluster.shared() else { return Ok(Vec::new()) };
        self.cluster.health.pass_time(uptime);
        let heartbeat = shared.heartbeat(name).and_then(|heartbeat| {
            if self.cluster.health.is_unreachable() {
                // This query also tests the pool's connections, because a broken connection would
                // make the next request mark the database as unreachable again.
                shared.nodes()?;
            }
            if heartbeat.has_joined || self.cluster.health.is_unreachable() {
                shared.renew_slots(&self.cluster.registry.slots())?;
                self.cluster.registry.rewrite_all_subscriptions();
            }
            let silent: Vec<_> = silent.iter().map(|(id, is_silent)| (id.slot(), *is_silent)).collect();
            shared.set_silent(&silent)?;
            Ok(heartbeat)
        });
        self.cluster.health.note_losses(shared.connection_losses(), uptime);
        let heartbeat = heartbeat.inspect_err(|error| {
            self.cluster.note_unreachable(error);
            self.cluster.health.pass_time(uptime);
        })?;
        self.cluster.health.find(heartbeat.nodes, heartbeat.now_us, uptime);
        self.forget_withdrawn(shared, uptime)?;
        self.cluster.compare_slots(shared, uptime)?;
        self.cluster.write_subscriptions(shared)?;
        Ok(self.cluster.to_close(shared, heartbeat.ended))
    }

    /// Drops the cached state of accounts with withdrawals since the last heartbeat. The cache
    /// serves requests while the database is unreachable, so it must not contain withdrawn
    /// credentials.
    fn forget_withdrawn(&self, shared: &Shared, uptime: Duration) -> Result<(), AccessError> {
        let version = match self.cluster.withdrawals_known(uptime) {
            Some(version) => {
                let rows = self.cluster.check_query(shared.withdrawals(version, WITHDRAWALS_MAX))?;
                let last = rows.last().map_or(version, |(version, _)| *version);
                let accounts: HashSet<AccountId> = rows.iter().map(|(_, account)| *account).collect();
                let is_all = rows.len() >= WITHDRAWALS_MAX as usize;
                if !accounts.is_empty() {
                    self.forget_accounts((!is_all).then_some(&accounts), last);
                }
                last
            }
            // Withdrawals since the last heartbeat are unknown, so all cached state is dropped.
            None => {
                let version = self.current_version()?;
                self.forget_accounts(None, version);
                version
            }
        };
        self.cluster.note_withdrawals(version, uptime);
        Ok(())
    }

    /// Removes this node from the list of nodes. Called on shutdown.
    pub fn leave_nodes(&self) -> Result<(), AccessError> {
        self.cluster.shared().map_or(Ok(()), |shared| Ok(shared.leave_nodes()?))
    }

    /// Deletes expired shared state in batches. Must be called by only one node at a time. `from`
    /// is the result of the previous call, or `None` to start. Returns the position for the next
    /// call, or `None` at the end.
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
