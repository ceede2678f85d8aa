//! Statements of the rate window. PostgreSQL's alone.

use super::{bytes_of, now_us};
use crate::engine::Sql;

/// Decides and counts one request. `$2` is where the request stands that must have left the window, counted in bytes from 1, `$3` the
/// window, and `$4` the bytes that are kept behind the new one.
///
/// Exact however many ask at once: who waits for the row sees the times of those before, since PostgreSQL looks at the condition again on
/// the row as it has become, and the clock is read again with it. Times only get newer, so who is refused by an older row would be by the newer one. A clock
/// that was set back does not go back here.
pub(super) const TAKE: Sql = Sql::new(
    "count a request",
    concat!(
        "UPDATE rate_window SET times = greatest(",
        bytes_of!(now_us!()),
        ", substring(times FROM 1 FOR 8)) || substring(times FROM 1 FOR $4) ",
        "WHERE account_id = $1 AND substring(times FROM $2 FOR 8) <= ",
        bytes_of!(concat!("greatest(0, ", now_us!(), " - $3)")),
        " RETURNING times"
    ),
);

/// The same for a request that is worth several: `$5` times the same time.
pub(super) const TAKE_SEVERAL: Sql = Sql::new(
    "count a request",
    concat!(
        "UPDATE rate_window SET times = decode(repeat(encode(greatest(",
        bytes_of!(now_us!()),
        ", substring(times FROM 1 FOR 8)), 'hex'), $5), 'hex') || substring(times FROM 1 FOR $4) ",
        "WHERE account_id = $1 AND substring(times FROM $2 FOR 8) <= ",
        bytes_of!(concat!("greatest(0, ", now_us!(), " - $3)")),
        " RETURNING times"
    ),
);

pub(super) const WINDOW: Sql = Sql::new(
    "look at the requests of an account",
    concat!("SELECT times, ", now_us!(), " FROM rate_window WHERE account_id = $1"),
);

/// An account that has asked for nothing yet.
pub(super) const BEGIN: Sql = Sql::new(
    "count a request",
    "INSERT INTO rate_window (account_id, times) VALUES ($1, decode('', 'hex')) ON CONFLICT (account_id) DO NOTHING",
);

pub(super) const LOCKED: Sql = Sql::new(
    "look at the requests of an account",
    "SELECT times FROM rate_window WHERE account_id = $1 FOR UPDATE",
);

pub(super) const SET: Sql =
    Sql::new("bring requests back", "UPDATE rate_window SET times = $2 WHERE account_id = $1");

/// A token bucket: `$2` is what one call takes, `$3` what the bucket holds, in the time that it refills in.
pub(super) const CALL: Sql = Sql::new(
    "count a call",
    concat!(
        "UPDATE call_bucket SET full_us = greatest(full_us, ",
        now_us!(),
        ") + $2 WHERE account_id = $1 AND greatest(full_us, ",
        now_us!(),
        ") + $2 <= ",
        now_us!(),
        " + $3"
    ),
);

pub(super) const BUCKET: Sql = Sql::new(
    "look at the calls of an account",
    concat!("SELECT full_us - ", now_us!(), " FROM call_bucket WHERE account_id = $1"),
);

pub(super) const BEGIN_CALLS: Sql = Sql::new(
    "count a call",
    concat!(
        "INSERT INTO call_bucket (account_id, full_us) VALUES ($1, ",
        now_us!(),
        " + $2) ON CONFLICT (account_id) DO NOTHING"
    ),
);

/// Accounts that have asked for nothing for long, some of them at a time.
pub(super) const SWEEP_WINDOWS: Sql = Sql::new(
    "forget old requests",
    "DELETE FROM rate_window WHERE account_id >= $1 AND account_id < $2 AND substring(times FROM 1 FOR 8) < $3",
);

pub(super) const SWEEP_BUCKETS: Sql = Sql::new(
    "forget old calls",
    "DELETE FROM call_bucket WHERE account_id >= $1 AND account_id < $2 AND full_us < $3",
);

pub(super) const LAST_ACCOUNT: Sql =
    Sql::new("look for the last account", "SELECT coalesce(max(account_id), 0) FROM rate_window");
