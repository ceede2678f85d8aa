//! Statements of connections. PostgreSQL's alone.

use super::now_us;
use crate::engine::Sql;

/// One sign-in of an account at a time. It keeps nobody from adding rows that refer to the account.
pub(super) const LOCK_ACCOUNT: Sql =
    Sql::new("lock an account", "SELECT id FROM account WHERE id = $1 FOR NO KEY UPDATE");

macro_rules! live {
    () => {
        concat!(
            "FROM seat JOIN node ON node.id = seat.node WHERE seat.ending IS NULL AND node.seen_us > ",
            now_us!(),
            " - 15000000"
        )
    };
}

/// Connections that count: of nodes that are there.
pub(super) const OF_ACCOUNT: Sql = Sql::new(
    "look for connections",
    concat!(
        "SELECT seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, seat.is_silent ",
        live!(),
        " AND seat.account_id = $1 ORDER BY seat.id"
    ),
);

pub(super) const OF_ALL: Sql = Sql::new(
    "look for connections",
    concat!(
        "SELECT seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, seat.is_silent ",
        live!(),
        " ORDER BY seat.id LIMIT $1"
    ),
);

pub(super) const ONE: Sql = Sql::new(
    "look for a connection",
    concat!(
        "SELECT seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, seat.is_silent ",
        live!(),
        " AND seat.id = $1"
    ),
);

pub(super) const COUNT: Sql = Sql::new(
    "count connections",
    concat!("SELECT count(*) ", live!(), " AND seat.account_id = $1"),
);

pub(super) const ADD: Sql = Sql::new(
    "keep a connection",
    "INSERT INTO seat (id, account_id, node, lineage, door, address, since) \
     VALUES (nextval('seat_id'), $1, $2, $3, $4, $5, $6) RETURNING id",
);

/// One that has a number already.
pub(super) const ADD_AGAIN: Sql = Sql::new(
    "keep a connection",
    "INSERT INTO seat (id, account_id, node, lineage, door, address, since) VALUES ($1, $2, $3, $4, $5, $6, $7) \
     ON CONFLICT (id) DO NOTHING",
);

pub(super) const REMOVE: Sql = Sql::new("give a connection up", "DELETE FROM seat WHERE id = $1");

/// Its node closes it and removes the row.
pub(super) const END: Sql =
    Sql::new("end a connection", "UPDATE seat SET ending = $2 WHERE id = $1 AND ending IS NULL");

pub(super) const TAKE_ENDED: Sql = Sql::new(
    "look for connections that ended",
    "DELETE FROM seat WHERE node = $1 AND ending IS NOT NULL RETURNING id, ending",
);

/// Connections of nodes that are gone for good.
pub(super) const SWEEP: Sql = Sql::new(
    "forget connections of nodes that are gone",
    "DELETE FROM seat WHERE NOT EXISTS (SELECT 1 FROM node WHERE node.id = seat.node)",
);

pub(super) const SET_SILENT: Sql =
    Sql::new("note which connections answer", "UPDATE seat SET is_silent = $2 WHERE id = $1");
