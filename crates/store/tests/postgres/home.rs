//! The location of a test's store: its own schemas on the server of this binary. The SQLite suite
//! has a file of this name with the same interface.

use std::time::Duration;

use store::Place;

use crate::harness;

/// Whether rows are sealed and counted, so that a check detects changes that bypassed the store.
/// PostgreSQL has page checksums instead.
pub(crate) const SEALED: bool = false;
/// How long the locks of a killed process may remain: until its lease expires.
pub(crate) const HELD_ON: Duration = Duration::from_secs(30);

/// The digests of the last migrations that the baselines replaced, of candles and accounts.
pub(crate) const LAST_STEPS: [&str; 2] = [
    "6db345e657632fb5c0c071302b05479cb0163076d4c36e5f8ff38cb5d5eabe6e",
    "6e2330d3b47d5eb3753fe1ec0947270ef7de40e1fa86645db6c34dbbbb686d86",
];

/// The location of one test's store, removed with it.
#[derive(Debug)]
pub(crate) struct Home(harness::Place);

impl Home {
    pub(crate) fn new() -> Home {
        Home(harness::server().place())
    }

    /// In a separate database, created with these options of `create database`.
    pub(crate) fn in_database(terms: &str) -> Home {
        Home(harness::server().database(terms))
    }

    pub(crate) fn on_server(&self) -> &harness::Place {
        &self.0
    }

    /// The place as passed to another process.
    pub(crate) fn text(&self) -> String {
        self.0.url()
    }

    /// Runs statements in `candles` or `accounts`, bypassing the store; nothing is checked.
    pub(crate) fn damage(&self, part: &str, statements: &str) {
        self.0.sql(part, &format!("set session_replication_role to replica; {statements}"));
    }

    /// The number that a statement returns.
    pub(crate) fn number(&self, part: &str, statement: &str) -> i64 {
        self.0.sql(part, statement).parse().unwrap()
    }

    /// Creates a table of another program in the place of the store.
    pub(crate) fn put_another_program(&self, part: &str) {
        let schema = self.0.schema(part);
        self.0.database_sql(&format!("create schema {schema}")).unwrap();
        self.damage(part, "create table theirs (x bigint)");
    }

    /// Records a migration of a later release that this program must not run with.
    pub(crate) fn put_later_step(&self, part: &str) {
        self.put_step(part, 900, 900);
    }

    /// Records a migration of a later release, and the oldest schema that a program may know to run
    /// with it.
    pub(crate) fn put_step(&self, part: &str, version: i64, oldest: i64) {
        let values = format!("({version}, 'later', '\\x00', 0, {oldest})");
        self.damage(
            part,
            &format!("insert into migration (version, name, digest, applied_at, oldest) values {values}"),
        );
    }

    /// Changes the digest of the only migration.
    pub(crate) fn set_digest(&self, part: &str, hex: &str) {
        self.damage(part, &format!("update migration set digest = '\\x{hex}' where version > 0"));
    }

    /// Moves one part of a store to the place of the other.
    pub(crate) fn rename(&self, part: &str, other: &str) {
        let [from, to] = [part, other].map(|part| self.0.schema(part));
        self.0
            .database_sql(&format!("drop schema if exists {to} cascade; alter schema {from} rename to {to}"))
            .unwrap();
    }
}

impl From<&Home> for Place {
    fn from(home: &Home) -> Place {
        home.text().parse().unwrap()
    }
}
