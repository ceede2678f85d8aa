//! Statements of the guards of sign-ins. PostgreSQL's alone.

use super::now_us;
use crate::engine::Sql;

pub(super) const LOCK: Sql = Sql::new(
    "lock the guards of sign-ins",
    "SELECT number FROM guard WHERE kind = 'lock' AND key IN ($1, $2) ORDER BY key FOR UPDATE",
);

pub(super) const NOW: Sql = Sql::new("read the clock of the database", concat!("SELECT ", now_us!()));

pub(super) const FIND: Sql = Sql::new(
    "look at the guards of sign-ins",
    "SELECT kind, key, number, at_us FROM guard WHERE (kind, key) IN (($1, $2), ($3, $4), ($5, $6), ($7, $8), \
     ($9, $10), ($11, $12), ($13, $14))",
);

pub(super) const SET: Sql = Sql::new(
    "write the guards of sign-ins",
    "INSERT INTO guard (kind, key, number, at_us, until_us) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, key) \
     DO UPDATE SET number = excluded.number, at_us = excluded.at_us, until_us = excluded.until_us",
);

pub(super) const REMOVE: Sql =
    Sql::new("write the guards of sign-ins", "DELETE FROM guard WHERE kind = $1 AND key = $2");

pub(super) const SWEEP: Sql = Sql::new("forget old guards", "DELETE FROM guard WHERE until_us < $1");
