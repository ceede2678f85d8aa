//! SQL statements of the sign-in guards. PostgreSQL only.

use super::now_us;
use crate::engine::Sql;

pub(super) const LOCK: Sql = Sql::new(
    "lock the guards of sign-ins",
    "select number from guard where kind = 'lock' and key in ($1, $2) order by key for update",
);

pub(super) const NOW: Sql = Sql::new("read the clock of the database", concat!("select ", now_us!()));

pub(super) const FIND: Sql = Sql::new(
    "look at the guards of sign-ins",
    "select kind, key, number, at_us, until_us from guard where (kind, key) in (($1, $2), ($3, $4), ($5, $6), ($7, $8), \
     ($9, $10), ($11, $12), ($13, $14))",
);

pub(super) const SET: Sql = Sql::new(
    "write the guards of sign-ins",
    "insert into guard (kind, key, number, at_us, until_us) values ($1, $2, $3, $4, $5) on conflict (kind, key) \
     do update set number = excluded.number, at_us = excluded.at_us, until_us = excluded.until_us",
);

pub(super) const REMOVE: Sql =
    Sql::new("write the guards of sign-ins", "delete from guard where kind = $1 and key = $2");

pub(super) const SWEEP: Sql = Sql::new("forget old guards", "delete from guard where until_us < $1");
