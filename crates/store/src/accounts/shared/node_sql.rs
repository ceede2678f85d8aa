//! SQL statements of nodes. PostgreSQL only.

use super::now_us;
use crate::engine::Sql;

pub(super) const BEAT: Sql = Sql::new(
    "say that this node is there",
    concat!("update node set seen_us = ", now_us!(), ", incarnation = $2 where id = $1"),
);

pub(super) const JOIN: Sql = Sql::new(
    "add this node",
    concat!(
        "insert into node (id, name, started_us, seen_us, incarnation) values ($1, $2, ",
        now_us!(),
        ", ",
        now_us!(),
        ", $3) on conflict (id) do nothing"
    ),
);

pub(super) const LEAVE: Sql = Sql::new("take this node away", "delete from node where id = $1");

pub(super) const LEAVE_SEATS: Sql = Sql::new("give connections up", "delete from seat where node = $1");

/// The number of live nodes, the number of those that have not restored their admissions, and the
/// time.
pub(super) const COUNT: Sql = Sql::new(
    "count nodes",
    concat!(
        "select count(*), coalesce(sum(case when incarnation <> $1 then 1 else 0 end), 0)::bigint, ",
        now_us!(),
        " from node where seen_us > ",
        now_us!(),
        " - 15000000"
    ),
);

pub(super) const LIST: Sql = Sql::new(
    "look for nodes",
    concat!(
        "select name, started_us / 1000000, (",
        now_us!(),
        " - seen_us) / 1000 from node order by started_us limit 1000"
    ),
);

/// Identifies the database server: a restart, or a new timeline after a promotion, changes it.
pub(super) const INCARNATION: Sql = Sql::new(
    "look which server the database has",
    "select cast(cast(date_part('epoch', pg_postmaster_start_time()) * 1000000 as bigint) as text) || '/' || \
     substring(pg_walfile_name(pg_current_wal_lsn()) from 1 for 8)",
);

pub(super) const SWEEP: Sql = Sql::new(
    "forget nodes that are gone",
    concat!("delete from node where seen_us < ", now_us!(), " - 600000000"),
);
