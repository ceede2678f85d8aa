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
        "update rate_window set times = greatest(",
        bytes_of!(now_us!()),
        ", substring(times from 1 for 8)) || substring(times from 1 for $4) ",
        "where account_id = $1 and substring(times from $2 for 8) <= ",
        bytes_of!(concat!("greatest(0, ", now_us!(), " - $3)")),
        " returning times"
    ),
);

/// The same for a request that is worth several: `$5` times the same time.
pub(super) const TAKE_SEVERAL: Sql = Sql::new(
    "count a request",
    concat!(
        "update rate_window set times = decode(repeat(encode(greatest(",
        bytes_of!(now_us!()),
        ", substring(times from 1 for 8)), 'hex'), $5), 'hex') || substring(times from 1 for $4) ",
        "where account_id = $1 and substring(times from $2 for 8) <= ",
        bytes_of!(concat!("greatest(0, ", now_us!(), " - $3)")),
        " returning times"
    ),
);

pub(super) const WINDOW: Sql = Sql::new(
    "look at the requests of an account",
    concat!("select times, ", now_us!(), " from rate_window where account_id = $1"),
);

/// An account that has asked for nothing yet.
pub(super) const BEGIN: Sql = Sql::new(
    "count a request",
    "insert into rate_window (account_id, times) values ($1, decode('', 'hex')) on conflict (account_id) do nothing",
);

pub(super) const LOCKED: Sql = Sql::new(
    "look at the requests of an account",
    "select times from rate_window where account_id = $1 for update",
);

pub(super) const SET: Sql =
    Sql::new("bring requests back", "update rate_window set times = $2 where account_id = $1");

/// A token bucket: `$2` is what one call takes, `$3` what the bucket holds, in the time that it refills in.
///
/// No call leaves a bucket that is full later than `$3` from now. One that is was written by a clock that has gone back since, as that of a
/// standby that was promoted may: it is taken for one that is just used up, and this call passes.
pub(super) const CALL: Sql = Sql::new(
    "count a call",
    concat!(
        "update call_bucket set full_us = least(greatest(full_us, ",
        now_us!(),
        ") + $2, ",
        now_us!(),
        " + $3) where account_id = $1 and (greatest(full_us, ",
        now_us!(),
        ") + $2 <= ",
        now_us!(),
        " + $3 or full_us > ",
        now_us!(),
        " + $3)"
    ),
);

/// In how long it is full: never longer than it takes to fill, `$2`, whatever the clock was.
pub(super) const BUCKET: Sql = Sql::new(
    "look at the calls of an account",
    concat!("select least(full_us - ", now_us!(), ", $2) from call_bucket where account_id = $1"),
);

pub(super) const BEGIN_CALLS: Sql = Sql::new(
    "count a call",
    concat!(
        "insert into call_bucket (account_id, full_us) values ($1, ",
        now_us!(),
        " + $2) on conflict (account_id) do nothing"
    ),
);

/// Accounts that have asked for nothing for long, some of them at a time.
pub(super) const SWEEP_WINDOWS: Sql = Sql::new(
    "forget old requests",
    "delete from rate_window where account_id >= $1 and account_id < $2 and substring(times from 1 for 8) < $3",
);

pub(super) const SWEEP_BUCKETS: Sql = Sql::new(
    "forget old calls",
    "delete from call_bucket where account_id >= $1 and account_id < $2 and full_us < $3",
);

pub(super) const LAST_ACCOUNT: Sql =
    Sql::new("look for the last account", "select coalesce(max(account_id), 0) from rate_window");
