//! Statements of nodes. PostgreSQL's alone.

use super::now_us;
use crate::engine::Sql;

pub(super) const BEAT: Sql = Sql::new(
    "say that this node is there",
    concat!("UPDATE node SET seen_us = ", now_us!(), ", incarnation = $2 WHERE id = $1"),
);

pub(super) const JOIN: Sql = Sql::new(
    "add this node",
    concat!(
        "INSERT INTO node (id, name, started_us, seen_us, incarnation) VALUES ($1, $2, ",
        now_us!(),
        ", ",
        now_us!(),
        ", $3) ON CONFLICT (id) DO NOTHING"
    ),
);

pub(super) const LEAVE: Sql = Sql::new("take this node away", "DELETE FROM node WHERE id = $1");

pub(super) const LEAVE_SEATS: Sql = Sql::new("give connections up", "DELETE FROM seat WHERE node = $1");

/// Nodes that are there, and of those the ones that have not brought back what they admitted.
pub(super) const COUNT: Sql = Sql::new(
    "count nodes",
    concat!(
        "SELECT count(*), coalesce(sum(CASE WHEN incarnation <> $1 THEN 1 ELSE 0 END), 0)::bigint FROM node ",
        "WHERE seen_us > ",
        now_us!(),
        " - 15000000"
    ),
);

pub(super) const LIST: Sql = Sql::new(
    "look for nodes",
    concat!(
        "SELECT name, started_us / 1000000, (",
        now_us!(),
        " - seen_us) / 1000 FROM node ORDER BY started_us LIMIT 1000"
    ),
);

/// The server of the database: another start of it, or another timeline after a promotion, is another one.
pub(super) const INCARNATION: Sql = Sql::new(
    "look which server the database has",
    "SELECT CAST(CAST(date_part('epoch', pg_postmaster_start_time()) * 1000000 AS bigint) AS text) || '/' || \
     substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8)",
);

pub(super) const SWEEP: Sql = Sql::new(
    "forget nodes that are gone",
    concat!("DELETE FROM node WHERE seen_us < ", now_us!(), " - 600000000"),
);
