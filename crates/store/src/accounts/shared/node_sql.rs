//! SQL statements of nodes. PostgreSQL only.

use super::now_us;
use crate::engine::Sql;

pub(super) const BEAT: Sql = Sql::new(
    "say that this node is there",
    concat!("update node set seen_us = ", now_us!(), " where id = $1"),
);

/// The column `incarnation` is not used any more.
pub(super) const JOIN: Sql = Sql::new(
    "add this node",
    concat!(
        "insert into node (id, name, started_us, seen_us, incarnation) values ($1, $2, ",
        now_us!(),
        ", ",
        now_us!(),
        ", '') on conflict (id) do nothing"
    ),
);

pub(super) const LEAVE: Sql = Sql::new("take this node away", "delete from node where id = $1");

pub(super) const LEAVE_SEATS: Sql = Sql::new("give connections up", "delete from seat where node = $1");

/// The number of live nodes, and the time.
pub(super) const COUNT: Sql = Sql::new(
    "count nodes",
    concat!("select count(*), ", now_us!(), " from node where seen_us > ", now_us!(), " - 15000000"),
);

pub(super) const LIST: Sql = Sql::new(
    "look for nodes",
    concat!(
        "select name, started_us / 1000000, (",
        now_us!(),
        " - seen_us) / 1000 from node order by started_us limit 1000"
    ),
);

pub(super) const SWEEP: Sql = Sql::new(
    "forget nodes that are gone",
    concat!("delete from node where seen_us < ", now_us!(), " - 600000000"),
);
