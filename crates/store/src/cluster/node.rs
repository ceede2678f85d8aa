//! The server processes (nodes) of one database. Each node sends a heartbeat every second. A node
//! without a heartbeat for 15 s is considered dead, and its connections are not counted. This
//! module also returns the accounts that lost rights, so that nodes can invalidate their caches.

use std::fmt;

use super::{NewSlot, Shared, SlotEnding, within};
use crate::engine::StoreError;
use crate::ids::AccountId;

/// Id of a server process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(pub [u8; 16]);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A node, as listed to operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    pub name: String,
    pub started_at: market::Timestamp,
    pub seen_ms_ago: i64,
}

/// Result of a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Number of live nodes, including this node.
    pub nodes: u32,
    /// Current time of the database, in microseconds.
    pub now_us: i64,
    /// Whether the database had no row of this node. The node's connections must then be registered
    /// again.
    pub has_joined: bool,
    /// Connections that other nodes have ended, for this node to close.
    pub ended: Vec<(i64, SlotEnding)>,
}

impl Shared {
    /// Returns the id of this node. Fails before [`Shared::join`].
    pub(super) fn node(&self) -> Result<NodeId, StoreError> {
        self.node
            .get()
            .copied()
            .ok_or_else(|| StoreError::unfit("a connection", "this process is not a node"))
    }

    /// Makes this process a node. The first heartbeat writes the node's row.
    pub fn join(&self, id: NodeId) {
        // A second call is ignored, because a process is only one node.
        self.node.set(id).ok();
    }

    /// Sends a heartbeat. Also writes pending frees of connection slots.
    pub fn heartbeat(&self, name: &str) -> Result<Heartbeat, StoreError> {
        let (db, node) = (self.quick(), self.node()?);
        let is_known = db.run(sql::HEARTBEAT, [node.0])? > 0;
        if !is_known {
            db.run(sql::JOIN, (node.0, name))?;
        }
        let (nodes, now_us): (i64, i64) = db.one(sql::COUNT, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.write_left()?;
        let ended = self.ended()?;
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX).max(1);
        Ok(Heartbeat { nodes, now_us, has_joined: !is_known, ended })
    }

    /// Registers connections of this node again, after the database has lost them.
    pub fn renew_slots(&self, slots: &[(i64, NewSlot)]) -> Result<(), StoreError> {
        self.sit_again(slots)
    }

    /// Removes this node and its connections on shutdown.
    pub fn leave_nodes(&self) -> Result<(), StoreError> {
        let node = self.node()?;
        // Clients take what they missed to another node.
        self.write_left()?;
        within(&self.durable(), |db| {
            db.run(sql::LEAVE_SEATS, [node.0])?;
            db.run(sql::LEAVE, [node.0]).map(drop)
        })
    }

    /// Returns all live nodes, and nodes that died less than ten minutes ago.
    pub fn nodes(&self) -> Result<Vec<NodeRow>, StoreError> {
        self.durable().all(sql::LIST, [], |row| {
            Ok(NodeRow {
                name: row.get(0)?,
                started_at: market::Timestamp(row.get(1)?),
                seen_ms_ago: row.get(2)?,
            })
        })
    }

    /// Returns the accounts that lost rights after version `after`, each with the version of the
    /// change, in ascending order. Returns at most `most` accounts. Changes older than two hours
    /// are not included. `accounts/changes.rs` records these changes.
    pub fn withdrawals(&self, after: i64, most: u32) -> Result<Vec<(i64, AccountId)>, StoreError> {
        self.quick()
            .all(sql::WITHDRAWALS_SINCE, (after, most), |row| Ok((row.get(0)?, AccountId(row.get(1)?))))
    }
}

pub(super) mod sql {
    use super::super::now_us;
    use crate::engine::Sql;

    pub(crate) const HEARTBEAT: Sql = Sql::new(
        "write the heartbeat of this node",
        concat!("update node set seen_us = ", now_us!(), " where id = $1"),
    );

    pub(crate) const JOIN: Sql = Sql::new(
        "add this node",
        concat!(
            "insert into node (id, name, started_us, seen_us, incarnation) values ($1, $2, ",
            now_us!(),
            ", ",
            now_us!(),
            ", '') on conflict (id) do nothing"
        ),
    );

    pub(crate) const LEAVE: Sql = Sql::new("remove this node", "delete from node where id = $1");

    pub(crate) const LEAVE_SEATS: Sql = Sql::new("release connections", "delete from seat where node = $1");

    /// Returns the number of live nodes, and the current time in microseconds.
    pub(crate) const COUNT: Sql = Sql::new(
        "count nodes",
        concat!("select count(*), ", now_us!(), " from node where seen_us > ", now_us!(), " - 15000000"),
    );

    pub(crate) const LIST: Sql = Sql::new(
        "find nodes",
        concat!(
            "select name, started_us / 1000000, (",
            now_us!(),
            " - seen_us) / 1000 from node order by started_us limit 1000"
        ),
    );

    pub(crate) const SWEEP: Sql = Sql::new(
        "delete stale nodes",
        concat!("delete from node where seen_us < ", now_us!(), " - 600000000"),
    );

    pub(crate) const WITHDRAWALS_SINCE: Sql = Sql::new(
        "find withdrawals",
        "select version, account_id from withdrawal where version > $1 order by version, account_id limit $2",
    );

    pub(crate) const SWEEP_WITHDRAWALS: Sql =
        Sql::new("delete old withdrawals", "delete from withdrawal where at_us < $1");
}
