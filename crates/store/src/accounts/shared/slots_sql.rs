//! SQL statements of connections. PostgreSQL only.

use super::now_us;
use crate::engine::Sql;

/// Serializes sign-ins of an account. Rows that refer to the account can still be added.
pub(super) const LOCK_ACCOUNT: Sql =
    Sql::new("lock an account", "select id from account where id = $1 for no key update");

macro_rules! live {
    () => {
        concat!(
            "from seat join node on node.id = seat.node where seat.ending is null and node.seen_us > ",
            now_us!(),
            " - 15000000"
        )
    };
}

/// Connections of live nodes.
pub(super) const OF_ACCOUNT: Sql = Sql::new(
    "look for connections",
    concat!(
        "select seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, seat.is_silent ",
        live!(),
        " and seat.account_id = $1 order by seat.id"
    ),
);

pub(super) const OF_ALL: Sql = Sql::new(
    "look for connections",
    concat!(
        "select seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, seat.is_silent ",
        live!(),
        " order by seat.id limit $1"
    ),
);

pub(super) const ONE: Sql = Sql::new(
    "look for a connection",
    concat!(
        "select seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, seat.is_silent ",
        live!(),
        " and seat.id = $1"
    ),
);

pub(super) const COUNT: Sql =
    Sql::new("count connections", concat!("select count(*) ", live!(), " and seat.account_id = $1"));

pub(super) const ADD: Sql = Sql::new(
    "keep a connection",
    "insert into seat (id, account_id, node, lineage, door, address, since) \
     values (nextval('seat_id'), $1, $2, $3, $4, $5, $6) returning id",
);

/// Inserts a connection that already has an id.
pub(super) const ADD_AGAIN: Sql = Sql::new(
    "keep a connection",
    "insert into seat (id, account_id, node, lineage, door, address, since) values ($1, $2, $3, $4, $5, $6, $7) \
     on conflict (id) do nothing",
);

pub(super) const REMOVE: Sql = Sql::new("give a connection up", "delete from seat where id = $1");

/// Its node closes it and removes the row.
pub(super) const END: Sql =
    Sql::new("end a connection", "update seat set ending = $2 where id = $1 and ending is null");

/// Listed until the node has closed it and removed the row.
pub(super) const ENDED: Sql = Sql::new(
    "look for connections that ended",
    "select id, ending from seat where node = $1 and ending is not null order by id",
);

pub(super) const OF_NODE: Sql =
    Sql::new("look for connections", "select id from seat where node = $1 order by id");

/// Removes connections of removed nodes.
pub(super) const SWEEP: Sql = Sql::new(
    "forget connections of nodes that are gone",
    "delete from seat where not exists (select 1 from node where node.id = seat.node)",
);

pub(super) const SET_SILENT: Sql =
    Sql::new("note which connections answer", "update seat set is_silent = $2 where id = $1");
