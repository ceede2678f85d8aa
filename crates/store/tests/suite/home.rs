//! The location of a test's store: a directory with SQLite files. The PostgreSQL suite has a file
//! with the same name and interface.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use store::StoreUrl;

/// Whether rows are sealed and counted, so that a check detects changes that bypassed the store.
pub(crate) const SEALED: bool = true;
/// Maximum time for which the locks of a killed process remain.
pub(crate) const HELD_ON: Duration = Duration::ZERO;

/// Digests of the last migrations before the baselines, for candles and accounts.
pub(crate) const LAST_STEPS: [&str; 2] = [
    "43986aa1215e7f88879799d92fca99a3cbd04c3e3e0789a0db41cba588f071dc",
    "f2da9008d040f78f2bdf738b70447e86f8ca84fe2a52306071a9739fcb242839",
];

/// The location of one test's store, which is removed with this value.
#[derive(Debug)]
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the URL of the store, to be passed to another process.
    pub(crate) fn text(&self) -> String {
        StoreUrl::from(self).to_string()
    }

    /// Runs statements in `candles` or `accounts`, bypassing the store and foreign keys.
    pub(crate) fn damage(&self, part: &str, statements: &str) {
        let conn = self.connection(part);
        conn.execute_batch(&format!("pragma foreign_keys = off; {statements}")).unwrap();
    }

    /// Returns the number that a statement selects in the database of a part.
    pub(crate) fn number(&self, part: &str, statement: &str) -> i64 {
        self.connection(part).query_row(statement, [], |row| row.get(0)).unwrap()
    }

    /// Creates another program's table in the store's database.
    pub(crate) fn put_another_program(&self, part: &str) {
        self.damage(part, "create table theirs (x bigint)");
    }

    /// Records a migration of a later release that this program is not compatible with.
    pub(crate) fn put_later_step(&self, part: &str) {
        self.damage(
            part,
            "insert into migration (version, name, digest, applied_at) values (900, 'later', x'00', 0)",
        );
    }

    /// Records the first migration of a store that was migrated step by step.
    pub(crate) fn put_first_step(&self, part: &str) {
        let values = format!("(1, '{part}', x'00', 0)");
        self.damage(
            part,
            &format!("insert into migration (version, name, digest, applied_at) values {values}"),
        );
    }

    /// Changes the digest of the only migration.
    pub(crate) fn set_digest(&self, part: &str, hex: &str) {
        self.damage(
            part,
            &format!(
                "update migration set digest = x'{hex}' where version = (select min(version) from migration)"
            ),
        );
    }

    /// Renames one part of a store, so that it takes the place of the other part.
    pub(crate) fn rename(&self, part: &str, other: &str) {
        let [from, to] = [part, other].map(|part| self.path().join(format!("{part}.db")));
        std::fs::rename(from, to).unwrap();
    }

    fn connection(&self, part: &str) -> Connection {
        Connection::open(self.path().join(format!("{part}.db"))).unwrap()
    }
}

impl From<&Home> for StoreUrl {
    fn from(home: &Home) -> StoreUrl {
        home.path().into()
    }
}
