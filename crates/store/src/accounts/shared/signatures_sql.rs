//! SQL statements of used signatures. PostgreSQL only. Times are seconds of the database's clock,
//! so node clocks need not agree.

use super::now_us;
use crate::engine::Sql;

macro_rules! now_s {
    () => {
        concat!("(", now_us!(), " / 1000000)")
    };
}

/// Inserts a signature that is unused or whose entry has expired. `$3` is the retention.
pub(super) const USE: Sql = Sql::new(
    "note a signature",
    concat!(
        "insert into signature (fingerprint, app_key, first_at, until_at) values ($1, $2, ",
        now_s!(),
        ", ",
        now_s!(),
        " + $3) on conflict (fingerprint) do update set app_key = excluded.app_key, first_at = excluded.first_at, ",
        "until_at = excluded.until_at where signature.until_at <= excluded.first_at"
    ),
);

/// Seconds since its first use.
pub(super) const AGE: Sql = Sql::new(
    "look for a signature",
    concat!("select ", now_s!(), " - first_at from signature where fingerprint = $1"),
);

pub(super) const COUNT: Sql = Sql::new(
    "count signatures",
    concat!(
        "select count(*) from (select 1 from signature where app_key = $1 and until_at > ",
        now_s!(),
        " limit $2) as counted"
    ),
);

pub(super) const SWEEP: Sql =
    Sql::new("forget old signatures", concat!("delete from signature where until_at <= ", now_s!()));
