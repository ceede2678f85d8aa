//! Statements of one-time passwords. PostgreSQL's alone.

use super::now_us;
use crate::engine::Sql;

pub(super) const ADD: Sql = Sql::new(
    "keep a one-time password",
    concat!(
        "INSERT INTO one_time_password (hash, account_id, caller, issued_us) VALUES ($1, $2, $3, ",
        now_us!(),
        ")"
    ),
);

/// All of an account but its newest.
pub(super) const TRIM: Sql = Sql::new(
    "forget one-time passwords",
    "DELETE FROM one_time_password WHERE hash IN (SELECT hash FROM one_time_password WHERE account_id = $1 \
     ORDER BY issued_us DESC OFFSET $2)",
);

pub(super) const FIND: Sql = Sql::new(
    "look for a one-time password",
    concat!("SELECT account_id, caller, ", now_us!(), " - issued_us FROM one_time_password WHERE hash = $1"),
);

pub(super) const USE: Sql =
    Sql::new("use a one-time password", "DELETE FROM one_time_password WHERE hash = $1");

pub(super) const SWEEP: Sql =
    Sql::new("forget one-time passwords", "DELETE FROM one_time_password WHERE issued_us < $1");
