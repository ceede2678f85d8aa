//! SQL statements of one-time passwords. PostgreSQL only.

use super::now_us;
use crate::engine::Sql;

pub(super) const ADD: Sql = Sql::new(
    "keep a one-time password",
    concat!(
        "insert into one_time_password (hash, account_id, caller, issued_us) values ($1, $2, $3, ",
        now_us!(),
        ")"
    ),
);

/// Removes all of an account's passwords but the newest.
pub(super) const TRIM: Sql = Sql::new(
    "forget one-time passwords",
    "delete from one_time_password where hash in (select hash from one_time_password where account_id = $1 \
     order by issued_us desc offset $2)",
);

pub(super) const FIND: Sql = Sql::new(
    "look for a one-time password",
    concat!("select account_id, caller, ", now_us!(), " - issued_us from one_time_password where hash = $1"),
);

pub(super) const USE: Sql =
    Sql::new("use a one-time password", "delete from one_time_password where hash = $1");

pub(super) const SWEEP: Sql =
    Sql::new("forget one-time passwords", "delete from one_time_password where issued_us < $1");
