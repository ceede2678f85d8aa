//! Statements of signatures that were used. PostgreSQL's alone.

use crate::engine::Sql;

/// A signature that nobody has used, or that was to be forgotten by now.
pub(super) const USE: Sql = Sql::new(
    "note a signature",
    "INSERT INTO signature (fingerprint, app_key, first_at, until_at) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (fingerprint) DO UPDATE SET app_key = excluded.app_key, first_at = excluded.first_at, \
     until_at = excluded.until_at WHERE signature.until_at <= excluded.first_at",
);

pub(super) const FIRST: Sql =
    Sql::new("look for a signature", "SELECT first_at FROM signature WHERE fingerprint = $1");

pub(super) const COUNT: Sql = Sql::new(
    "count signatures",
    "SELECT count(*) FROM (SELECT 1 FROM signature WHERE app_key = $1 AND until_at > $2 LIMIT $3) AS some",
);

pub(super) const SWEEP: Sql = Sql::new("forget old signatures", "DELETE FROM signature WHERE until_at <= $1");
