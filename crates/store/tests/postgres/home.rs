//! Where a test has its store: schemas of its own on the server of this binary. The suite of SQLite has a file of this name with the
//! same in it.

use std::time::Duration;

use store::Place;

use crate::harness;

/// Whether rows are sealed and counted, so that a check finds what was changed behind the store's back. PostgreSQL has checksums of pages.
pub(crate) const SEALED: bool = false;
/// For how long a process that was killed may still hold what it held: until its lease ends.
pub(crate) const HELD_ON: Duration = Duration::from_secs(30);

/// A place for the store of one test, which goes away with it.
#[derive(Debug)]
pub(crate) struct Home(harness::Place);

impl Home {
    pub(crate) fn new() -> Home {
        Home(harness::server().place())
    }

    /// In a database of its own, made with these words behind `create database`.
    pub(crate) fn in_database(terms: &str) -> Home {
        Home(harness::server().database(terms))
    }

    pub(crate) fn on_server(&self) -> &harness::Place {
        &self.0
    }

    /// The place as another process is told.
    pub(crate) fn text(&self) -> String {
        self.0.url()
    }

    /// Runs statements behind the store's back, in `candles` or in `accounts`; nothing is checked.
    pub(crate) fn damage(&self, part: &str, statements: &str) {
        self.0.sql(part, &format!("set session_replication_role to replica; {statements}"));
    }

    /// The number that a statement gives.
    pub(crate) fn number(&self, part: &str, statement: &str) -> i64 {
        self.0.sql(part, statement).parse().unwrap()
    }

    /// Makes a table of another program where the store would be.
    pub(crate) fn put_another_program(&self, part: &str) {
        let schema = self.0.schema(part);
        self.0.database_sql(&format!("create schema {schema}")).unwrap();
        self.damage(part, "create table theirs (x bigint)");
    }

    /// Notes a step that a program of a later release has made, beside which this one may not go on.
    pub(crate) fn put_later_step(&self, part: &str) {
        self.put_step(part, 900, 900);
    }

    /// Notes a step of a later release, and the oldest schema that a program may know to go on beside it.
    pub(crate) fn put_step(&self, part: &str, version: i64, oldest: i64) {
        let values = format!("({version}, 'later', '\\x00', 0, {oldest})");
        self.damage(
            part,
            &format!("insert into migration (version, name, digest, applied_at, oldest) values {values}"),
        );
    }

    /// Puts one part of a store where the other belongs.
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
