//! Schema of the local copy's file.

use crate::engine::migrations::{self, Migration};

/// Additional tables of the local file: the origin of the copy, and its symbols. A symbol that
/// changes in the shared database is marked as not current, but its rows stay until they are
/// fetched again, because most of its blocks are unchanged.
const OWN: Migration = Migration {
    version: 1_000_000,
    name: "copy",
    sqlite: "create table origin (place bigint not null primary key, identity text not null, stamp text, \
             seal bigint not null default 0);
         create table held (symbol text not null primary key, is_current bigint not null, row_bytes bigint not null, \
             body_bytes bigint not null, seal bigint not null default 0) without rowid;",
    // A copy is always SQLite. The PostgreSQL text is for a test that checks the statements on both
    // engines.
    postgres: "create table origin (place bigint not null primary key, identity text not null, stamp text);
         create table held (symbol text not null primary key, is_current bigint not null, row_bytes bigint not null, \
             body_bytes bigint not null);",
    oldest: 1_000_000,
    replaces: &[],
};

/// Tables that the shared database has for its nodes (`migrations/postgres`), for tests without a
/// PostgreSQL server.
#[cfg(test)]
pub(crate) const SHARED: &str =
    "create table touched (symbol text not null primary key, version bigint not null);
    create table lineage (version bigint not null primary key, stamp text not null);
    create table retired_body (kind bigint not null, id bigint not null, at_us bigint not null, primary key (kind, id));
    create table identity (id text not null primary key);
    insert into identity (id) values (lower(hex(randomblob(16))));";

/// Returns the migrations of the local file: those of the candles, and `OWN`.
pub(super) fn steps() -> Vec<Migration> {
    migrations::ALL.iter().copied().chain([OWN]).collect()
}

/// Returns all tables that the copy's statements use.
#[cfg(test)]
pub(crate) fn schema() -> Vec<Migration> {
    let shared = Migration { version: OWN.version + 1, name: "shared", sqlite: SHARED, postgres: "", ..OWN };
    steps().into_iter().chain([shared]).collect()
}
