//! Statements of paces. PostgreSQL's alone.

use super::{bytes_of, now_us};
use crate::engine::Sql;

/// Decides and counts one request for one key, as `rates_sql::TAKE` does for an account.
pub(super) const TAKE: Sql = Sql::new(
    "count a request",
    concat!(
        "UPDATE pace SET times = greatest(",
        bytes_of!(now_us!()),
        ", substring(times FROM 1 FOR 8)) || substring(times FROM 1 FOR $5), until_us = ",
        now_us!(),
        " + $4 WHERE kind = $1 AND key = $2 AND substring(times FROM $3 FOR 8) <= ",
        bytes_of!(concat!("greatest(0, ", now_us!(), " - $4)"))
    ),
);

pub(super) const WINDOW: Sql = Sql::new(
    "look at a pace",
    concat!("SELECT times, ", now_us!(), " FROM pace WHERE kind = $1 AND key = $2"),
);

pub(super) const BEGIN: Sql = Sql::new(
    "count a request",
    "INSERT INTO pace (kind, key, times, until_us) VALUES ($1, $2, decode('', 'hex'), 0) ON CONFLICT (kind, key) DO NOTHING",
);

pub(super) const LOCKED: Sql = Sql::new(
    "look at a pace",
    "SELECT times FROM pace WHERE kind = $1 AND key = $2 FOR UPDATE",
);

/// Read with the rows locked: who comes second has the later time.
pub(super) const NOW: Sql = Sql::new("read the clock of the database", concat!("SELECT ", now_us!()));

pub(super) const SET: Sql = Sql::new(
    "count a request",
    "UPDATE pace SET times = $3, until_us = $4 WHERE kind = $1 AND key = $2",
);

pub(super) const SWEEP: Sql = Sql::new("forget old paces", "DELETE FROM pace WHERE until_us < $1");
