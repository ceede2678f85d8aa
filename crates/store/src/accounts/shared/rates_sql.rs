//! SQL statements of the rate window. PostgreSQL only.

use super::{bytes_of, now_us};
use crate::engine::Sql;

/// Decides and counts one request. `$2` is the position of the request that must have left the
/// window, in bytes from 1, `$3` the window, and `$4` the number of bytes retained after the new
/// time.
///
/// Exact under any concurrency: a statement that waited for the row lock evaluates its condition,
/// including the clock, again on the updated row. Times only get newer, so a request refused by an
/// older row is also refused by the newer one. A clock that was set back does not go back here.
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

/// The same for a request of weight `$5`: its time is written `$5` times.
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

/// Creates the row of an account without requests.
pub(super) const BEGIN: Sql = Sql::new(
    "count a request",
    "insert into rate_window (account_id, times) values ($1, decode('', 'hex')) on conflict (account_id) do nothing",
);

/// A token bucket: `$2` is the cost of one call, `$3` the capacity, both as refill time.
///
/// No call leaves a bucket that is full later than `$3` from now. A later time was written by a
/// clock that has gone back since, as after promoting a standby: the bucket is treated as just used
/// up, and this call passes.
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

/// Time until the bucket is full: at most its refill time `$2`, whatever the clock was.
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

/// Removes the windows of idle accounts in a range.
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
