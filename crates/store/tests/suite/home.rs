//! The location of a test's store: a directory with SQLite files. The PostgreSQL suite has a file
//! of the same name and interface.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use store::StoreUrl;

/// Whether rows are sealed and counted, so that a check detects changes that bypassed the store.
pub(crate) const SEALED: bool = true;
/// Maximum time for which the locks of a killed process remain.
pub(crate) const HELD_ON: Duration = Duration::ZERO;

/// Digests of the last migrations before the baselines, of candles and accounts.
pub(crate) const LAST_STEPS: [&str; 2] = [
    "c0afb906c460b769ff61de735e676bc3e92694137ed7e38fa081319c44eea0fc",
    "312a529ee50f42fdcd1ebeb7b44df4975d359f2090ba8b712bd32c621f4bc498",
];

/// The location of one test's store, removed with it.
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

    /// Returns the number that a statement selects.
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

    /// Changes the digest of the baseline.
    pub(crate) fn set_digest(&self, part: &str, hex: &str) {
        self.damage(
            part,
            &format!(
                "update migration set digest = x'{hex}' where version = (select min(version) from migration)"
            ),
        );
    }

    /// Renames one part of a store to the other.
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
