//! Where a test has its store: a directory, with SQLite's files in it. The suite of PostgreSQL has a file of this name with the same in it.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use store::Place;

/// Whether rows are sealed and counted, so that a check finds what was changed behind the store's back.
pub(crate) const SEALED: bool = true;
/// For how long a process that was killed may still hold what it held.
pub(crate) const HELD_ON: Duration = Duration::ZERO;

/// A place for the store of one test, which goes away with it.
#[derive(Debug)]
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The place as another process is told.
    pub(crate) fn text(&self) -> String {
        Place::from(self).to_string()
    }

    /// Runs statements behind the store's back, in `candles` or in `accounts`; nothing is checked.
    pub(crate) fn damage(&self, part: &str, statements: &str) {
        let conn = self.connection(part);
        conn.execute_batch(&format!("pragma foreign_keys = off; {statements}")).unwrap();
    }

    /// The number that a statement gives.
    pub(crate) fn number(&self, part: &str, statement: &str) -> i64 {
        self.connection(part).query_row(statement, [], |row| row.get(0)).unwrap()
    }

    /// Makes a table of another program where the store would be.
    pub(crate) fn put_another_program(&self, part: &str) {
        self.damage(part, "create table theirs (x bigint)");
    }

    /// Notes a step that a program of a later release has made, beside which this one may not go on.
    pub(crate) fn put_later_step(&self, part: &str) {
        self.damage(
            part,
            "insert into migration (version, name, digest, applied_at) values (900, 'later', x'00', 0)",
        );
    }

    /// Puts one part of a store where the other belongs.
    pub(crate) fn rename(&self, part: &str, other: &str) {
        let [from, to] = [part, other].map(|part| self.path().join(format!("{part}.db")));
        std::fs::rename(from, to).unwrap();
    }

    fn connection(&self, part: &str) -> Connection {
        Connection::open(self.path().join(format!("{part}.db"))).unwrap()
    }
}

impl From<&Home> for Place {
    fn from(home: &Home) -> Place {
        home.path().into()
    }
}
