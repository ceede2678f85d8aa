//! SQL statements of paces. PostgreSQL only.

use super::{bytes_of, now_us};
use crate::engine::Sql;

/// Decides and counts one request for one key, as `rates_sql::TAKE` does for an account.
pub(super) const TAKE: Sql = Sql::new(
    "count a request",
    concat!(
        "update pace set times = greatest(",
        bytes_of!(now_us!()),
        ", substring(times from 1 for 8)) || substring(times from 1 for $5), until_us = ",
        now_us!(),
        " + $4 where kind = $1 and key = $2 and substring(times from $3 for 8) <= ",
        bytes_of!(concat!("greatest(0, ", now_us!(), " - $4)"))
    ),
);

pub(super) const WINDOW: Sql = Sql::new(
    "look at a pace",
    concat!("select times, ", now_us!(), " from pace where kind = $1 and key = $2"),
);

pub(super) const BEGIN: Sql = Sql::new(
    "count a request",
    "insert into pace (kind, key, times, until_us) values ($1, $2, decode('', 'hex'), 0) on conflict (kind, key) do nothing",
);

pub(super) const LOCKED: Sql =
    Sql::new("look at a pace", "select times from pace where kind = $1 and key = $2 for update");

/// Read while the rows are locked, so the second of two requests has the later time.
pub(super) const NOW: Sql = Sql::new("read the clock of the database", concat!("select ", now_us!()));

pub(super) const SET: Sql =
    Sql::new("count a request", "update pace set times = $3, until_us = $4 where kind = $1 and key = $2");

pub(super) const SWEEP: Sql = Sql::new("forget old paces", "delete from pace where until_us < $1");
