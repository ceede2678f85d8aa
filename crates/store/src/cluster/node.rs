//! The servers on one database. Each sends a heartbeat every second; a node silent for 15 s does
//! not count, nor do its connections.

use std::fmt;

use super::{NewSlot, Shared, SlotEnding, within};
use crate::StoreError;

/// Identifies a server process.
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

/// A server as listed to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    pub name: String,
    pub started_at: market::Timestamp,
    pub seen_ms_ago: i64,
}

/// The incarnation of a database that does not expose one.
const ONE_SERVER: &str = "one";

/// The result of a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Live nodes, including this one.
    pub nodes: u32,
    /// Nodes that have not yet restored their last admissions: see `rates.rs`.
    pub unsettled: u32,
    /// The database's time.
    pub now_us: i64,
    /// The node was unknown to the database: its connections must be registered again.
    pub has_joined: bool,
    /// Connections that others have ended, for this node to close.
    pub ended: Vec<(i64, SlotEnding)>,
}

impl Shared {
    /// The id of this node, which must have joined.
    pub(super) fn node(&self) -> Result<NodeId, StoreError> {
        self.node.get().copied().ok_or_else(|| StoreError::unfit("a connection", "this process is no node"))
    }

    /// Makes this process a node. The first heartbeat writes its row.
    pub fn join(&self, id: NodeId) {
        // A second id would be another node; the first one stays.
        self.node.set(id).ok();
    }

    /// Sends a heartbeat, with the incarnation of the database to which this node has restored its
    /// admissions.
    pub fn heartbeat(&self, name: &str, incarnation: &str) -> Result<Heartbeat, StoreError> {
        let (db, node) = (self.quick(), self.node()?);
        let is_known = db.run(sql::BEAT, (node.0, incarnation))? > 0;
        if !is_known {
            db.run(sql::JOIN, (node.0, name, incarnation))?;
        }
        let (nodes, unsettled, now_us): (i64, i64, i64) =
            db.one(sql::COUNT, [incarnation], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let small = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
        self.write_left()?;
        let ended = self.ended()?;
        let (nodes, unsettled) = (small(nodes).max(1), small(unsettled));
        Ok(Heartbeat { nodes, unsettled, now_us, has_joined: !is_known, ended })
    }

    /// Identifies the running server of the database: another one may lack the last asynchronous
    /// commits. A database that does not expose this is assumed to lose nothing.
    pub fn incarnation(&self) -> Result<String, StoreError> {
        match self.quick().one(sql::INCARNATION, [], |row| row.get(0)) {
            Err(StoreError::Engine { .. } | StoreError::NoRights { .. }) => Ok(ONE_SERVER.to_owned()),
            told => told,
        }
    }

    /// Registers connections of this node again.
    pub fn renew_slots(&self, slots: &[(i64, NewSlot)]) -> Result<(), StoreError> {
        self.sit_again(slots)
    }

    /// Removes this node and its connections on shutdown.
    pub fn leave_nodes(&self) -> Result<(), StoreError> {
        let node = self.node()?;
        within(&self.durable(), |db| {
            db.run(sql::LEAVE_SEATS, [node.0])?;
            db.run(sql::LEAVE, [node.0]).map(drop)
        })
    }

    /// All nodes, including those gone for less than ten minutes.
    pub fn nodes(&self) -> Result<Vec<NodeRow>, StoreError> {
        self.durable().all(sql::LIST, [], |row| {
            Ok(NodeRow {
                name: row.get(0)?,
                started_at: market::Timestamp(row.get(1)?),
                seen_ms_ago: row.get(2)?,
            })
        })
    }
}

pub(super) mod sql {
    use super::super::now_us;
    use crate::engine::Sql;

    pub(crate) const BEAT: Sql = Sql::new(
        "say that this node is there",
        concat!("update node set seen_us = ", now_us!(), ", incarnation = $2 where id = $1"),
    );

    pub(crate) const JOIN: Sql = Sql::new(
        "add this node",
        concat!(
            "insert into node (id, name, started_us, seen_us, incarnation) values ($1, $2, ",
            now_us!(),
            ", ",
            now_us!(),
            ", $3) on conflict (id) do nothing"
        ),
    );

    pub(crate) const LEAVE: Sql = Sql::new("take this node away", "delete from node where id = $1");

    pub(crate) const LEAVE_SEATS: Sql = Sql::new("give connections up", "delete from seat where node = $1");

    /// The number of live nodes, the number of those that have not restored their admissions, and the
    /// time.
    pub(crate) const COUNT: Sql = Sql::new(
        "count nodes",
        concat!(
            "select count(*), coalesce(sum(case when incarnation <> $1 then 1 else 0 end), 0)::bigint, ",
            now_us!(),
            " from node where seen_us > ",
            now_us!(),
            " - 15000000"
        ),
    );

    pub(crate) const LIST: Sql = Sql::new(
        "look for nodes",
        concat!(
            "select name, started_us / 1000000, (",
            now_us!(),
            " - seen_us) / 1000 from node order by started_us limit 1000"
        ),
    );

    /// Identifies the database server: a restart, or a new timeline after a promotion, changes it.
    pub(crate) const INCARNATION: Sql = Sql::new(
        "look which server the database has",
        "select cast(cast(date_part('epoch', pg_postmaster_start_time()) * 1000000 as bigint) as text) || '/' || \
         substring(pg_walfile_name(pg_current_wal_lsn()) from 1 for 8)",
    );

    pub(crate) const SWEEP: Sql = Sql::new(
        "forget nodes that are gone",
        concat!("delete from node where seen_us < ", now_us!(), " - 600000000"),
    );
}
