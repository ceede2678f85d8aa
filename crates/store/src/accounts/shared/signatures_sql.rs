//! Statements of signatures that were used. PostgreSQL's alone.

use crate::engine::Sql;

/// A signature that nobody has used, or that was to be forgotten by now.
pub(super) const USE: Sql = Sql::new(
    "note a signature",
    "insert into signature (fingerprint, app_key, first_at, until_at) values ($1, $2, $3, $4) \
     on conflict (fingerprint) do update set app_key = excluded.app_key, first_at = excluded.first_at, \
     until_at = excluded.until_at where signature.until_at <= excluded.first_at",
);

pub(super) const FIRST: Sql =
    Sql::new("look for a signature", "select first_at from signature where fingerprint = $1");

pub(super) const COUNT: Sql = Sql::new(
    "count signatures",
    "select count(*) from (select 1 from signature where app_key = $1 and until_at > $2 limit $3) as counted",
);

pub(super) const SWEEP: Sql = Sql::new("forget old signatures", "delete from signature where until_at <= $1");
