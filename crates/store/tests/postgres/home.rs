//! The location of a test's store: separate schemas on this binary's server. The SQLite suite has a
//! file with the same name and interface.

use std::time::Duration;

use store::StoreUrl;

use crate::harness;

/// Whether rows are sealed and counted, so that a check detects changes that bypassed the store.
/// PostgreSQL has page checksums instead.
pub(crate) const SEALED: bool = false;
/// Maximum time for which the locks of a killed process remain, because its lease must expire
/// first.
pub(crate) const HELD_ON: Duration = Duration::from_secs(30);

/// Digests of the last migrations before the baselines, for candles and accounts.
pub(crate) const LAST_STEPS: [&str; 2] = [
    "07c6e4b2d6209b150f1f1460afe4182c43a70f7921f3c9a849a1594214cd48d2",
    "f2da9008d040f78f2bdf738b70447e86f8ca84fe2a52306071a9739fcb242839",
];

/// The location of one test's store, which is removed with this value.
#[derive(Debug)]
pub(crate) struct Home(harness::Place);

impl Home {
    pub(crate) fn new() -> Home {
        Home(harness::server().place())
    }

    /// Creates a separate database. `terms` are options of `create database`.
    pub(crate) fn in_database(terms: &str) -> Home {
        Home(harness::server().database(terms))
    }

    pub(crate) fn on_server(&self) -> &harness::Place {
        &self.0
    }

    /// Returns the URL of the store, to be passed to another process.
    pub(crate) fn text(&self) -> String {
        self.0.url()
    }

    /// Runs statements in `candles` or `accounts`, bypassing the store and all constraints.
    pub(crate) fn damage(&self, part: &str, statements: &str) {
        self.0.sql(part, &format!("set session_replication_role to replica; {statements}"));
    }

    /// Returns the number that a statement selects in the schema of a part.
    pub(crate) fn number(&self, part: &str, statement: &str) -> i64 {
        self.0.sql(part, statement).parse().unwrap()
    }

    /// Creates another program's table in the store's schema.
    pub(crate) fn put_another_program(&self, part: &str) {
        let schema = self.0.schema(part);
        self.0.database_sql(&format!("create schema {schema}")).unwrap();
        self.damage(part, "create table theirs (x bigint)");
    }

    /// Records a migration of a later release that this program is not compatible with.
    pub(crate) fn put_later_step(&self, part: &str) {
        self.put_step(part, 900, 900);
    }

    /// Records a migration of a later release. `oldest` is the lowest schema version for which a
    /// compatible program may have been built.
    pub(crate) fn put_step(&self, part: &str, version: i64, oldest: i64) {
        let values = format!("({version}, 'later', '\\x00', 0, {oldest})");
        self.damage(
            part,
            &format!("insert into migration (version, name, digest, applied_at, oldest) values {values}"),
        );
    }

    /// Records the first migration of a store that was migrated step by step.
    pub(crate) fn put_first_step(&self, part: &str) {
        let values = format!("(1, '{part}', '\\x00', 0, 1)");
        self.damage(
            part,
            &format!("insert into migration (version, name, digest, applied_at, oldest) values {values}"),
        );
    }

    /// Changes the digest of the only migration.
    pub(crate) fn set_digest(&self, part: &str, hex: &str) {
        let baseline = "(select min(version) from migration where version > 0)";
        self.damage(part, &format!("update migration set digest = '\\x{hex}' where version = {baseline}"));
    }

    /// Renames one part of a store, so that it takes the place of the other part.
    pub(crate) fn rename(&self, part: &str, other: &str) {
        let [from, to] = [part, other].map(|part| self.0.schema(part));
        self.0
            .database_sql(&format!("drop schema if exists {to} cascade; alter schema {from} rename to {to}"))
            .unwrap();
    }
}

impl From<&Home> for StoreUrl {
    fn from(home: &Home) -> StoreUrl {
        home.text().parse().unwrap()
    }
}
