//! The seam between what is stored and what stores it. Above it there is no word of an engine; SQLite is spoken to in `sqlite/`, PostgreSQL
//! in `postgres/`, and nowhere else.
//!
//! Start with [`Db`]: every statement of both databases passes there, is prepared once, and fails with a name and a place. Statements are
//! written in the dialect that both engines share; one that cannot be has a second text (`statements.rs`).

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

pub(crate) use fault::Fault;
pub(crate) use flaw::Flaw;
pub use flaw::{Depth, FINDINGS_MAX};
pub(crate) use params::{BLOB_BYTES_MAX, Params, ToValue, Value};
pub use place::Place;
pub use postgres::{Address, AddressError};
pub(crate) use role::{Owner, Role};
pub(crate) use row::Row;
pub(crate) use statements::Sql;
pub(crate) use waiting::{patience, sooner};
pub use waiting::{waiting_at_most, without_waiting};

use crate::StoreError;
use migrations::Dialect;

mod fault;
mod flaw;
pub(crate) mod home;
mod lease;
pub(crate) mod lock;
pub(crate) mod migrate;
pub(crate) mod migrations;
mod params;
mod place;
pub(crate) mod postgres;
mod role;
mod row;
pub(crate) mod sqlite;
pub(crate) mod statements;
#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]
pub(crate) mod statements_on_postgres;
pub(crate) mod trouble;
mod waiting;

/// A connection to one of the two databases of a store. For one thread at a time.
#[derive(Debug)]
pub(crate) struct Db {
    place: Place,
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Sqlite(sqlite::Database),
    Postgres(postgres::Connection),
}

impl Db {
    /// A database that is a file.
    pub(crate) fn open(path: &Path, role: Role) -> Result<Db, StoreError> {
        let place = Place::from(path);
        let engine = Engine::Sqlite(sqlite::Database::open(path, role)?);
        Ok(Db { place, engine })
    }

    /// A database on a server. Nothing is connected before the first statement.
    pub(crate) fn on_server(server: &Arc<postgres::Server>, role: Role) -> Db {
        let place = Place::from(server.address());
        Db { place, engine: Engine::Postgres(postgres::Connection::new(server.clone(), role)) }
    }

    /// Where it is, for people.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// SQLite's own side of it, where it has one.
    pub(crate) fn sqlite(&self) -> Option<&sqlite::Database> {
        match &self.engine {
            Engine::Sqlite(database) => Some(database),
            Engine::Postgres(_) => None,
        }
    }

    /// Whether statements go over a network.
    pub(crate) fn is_remote(&self) -> bool {
        self.sqlite().is_none()
    }

    /// Where its changes are told, if they can be.
    pub(crate) fn channel(&self) -> Option<&str> {
        match &self.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(connection) => Some(connection.server().schema()),
        }
    }

    /// Whether the database notes how many rows its tables have, so that one that is missing is missed.
    pub(crate) fn counts_rows(&self) -> bool {
        self.sqlite().is_some()
    }

    /// Whether one connection writes at a time, so that what a change reads stays true until it commits.
    pub(crate) fn has_one_writer(&self) -> bool {
        self.sqlite().is_some()
    }

    /// A mark that changes when another connection commits, where the engine has one that is cheaper than a question. It means something to
    /// this connection alone.
    pub(crate) fn change_mark(&self) -> Result<Option<i64>, StoreError> {
        let mark = match &self.engine {
            Engine::Sqlite(database) => database.data_version().map(Some),
            Engine::Postgres(_) => Ok(None),
        };
        mark.map_err(self.fail("look for changes"))
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match &self.engine {
            Engine::Sqlite(_) => Dialect::Sqlite,
            Engine::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Whose the database is.
    pub(crate) fn owner(&self) -> Result<Owner, StoreError> {
        let owner = match &self.engine {
            Engine::Sqlite(database) => database.owner(),
            Engine::Postgres(connection) => may_ask_server().and_then(|()| connection.owner()),
        };
        owner.map_err(self.fail("read the header of the database"))
    }

    /// Makes what has to be there before the transaction of a migration can begin.
    pub(crate) fn make_ledger(&self) -> Result<(), StoreError> {
        let made = match &self.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(connection) => connection.make_ledger(),
        };
        made.map_err(self.fail("create the tables"))
    }

    /// Makes it ours, gives it the ledger of migrations, and lets nobody else migrate before the transaction has ended.
    pub(crate) fn mark_as_ours(&self) -> Result<(), StoreError> {
        let marked = match &self.engine {
            Engine::Sqlite(database) => database.mark_as_ours(),
            Engine::Postgres(connection) => connection.lock_ledger(),
        };
        marked.map_err(self.fail("mark the database"))
    }

    /// Before tables and rows are changed as a migration likes. Refused where a row is not whole: it would be made to look so.
    pub(crate) fn before_migration(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(database) => {
                sqlite::seal_check::refuse_broken_seals(database)?;
                database.detach_seals()
            }
            Engine::Postgres(_) => Ok(()),
        }
    }

    pub(crate) fn after_migration(&self, done: bool) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(database) if done => database.seal_all(),
            Engine::Sqlite(database) => database.attach_seals(),
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Begins a transaction that changes nothing. Its state is that of its first question.
    pub(crate) fn begin_read(&self) -> Result<(), StoreError> {
        let begun = match &self.engine {
            Engine::Sqlite(database) => database.begin(false),
            Engine::Postgres(connection) => may_ask_server().and_then(|()| connection.begin(false)),
        };
        begun.map_err(self.fail("begin reading"))
    }

    pub(crate) fn begin_write(&self) -> Result<(), StoreError> {
        let begun = match &self.engine {
            Engine::Sqlite(database) => database.begin(true),
            Engine::Postgres(connection) => may_ask_server().and_then(|()| connection.begin(true)),
        };
        begun.map_err(self.fail("begin writing"))
    }

    /// On return the changes are on the disk.
    pub(crate) fn commit(&self) -> Result<(), StoreError> {
        let committed = match &self.engine {
            Engine::Sqlite(database) => database.commit(),
            Engine::Postgres(connection) => connection.commit(),
        };
        committed.map_err(self.fail("commit"))
    }

    pub(crate) fn rollback(&self) -> Result<(), StoreError> {
        let rolled_back = match &self.engine {
            Engine::Sqlite(database) => database.rollback(),
            Engine::Postgres(connection) => connection.rollback(),
        };
        rolled_back.map_err(self.fail("roll back"))
    }

    /// Whether several statements in a row see the same state.
    pub(crate) fn in_transaction(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(database) => database.in_transaction(),
            Engine::Postgres(connection) => connection.in_transaction(),
        }
    }

    /// Runs a statement that gives no rows; answers how many rows it changed.
    pub(crate) fn run(&self, sql: Sql, params: impl Params) -> Result<usize, StoreError> {
        let run = params.with(|values| match &self.engine {
            Engine::Sqlite(database) => database.run(sql.text, values),
            Engine::Postgres(connection) => {
                may_ask_server().and_then(|()| connection.run(sql.for_postgres(), values))
            }
        });
        run.map_err(self.fail(sql.what))
    }

    /// Runs a statement once for each row of values, in their order.
    pub(crate) fn run_all<'v>(
        &self,
        sql: Sql,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => rows.into_iter().try_for_each(|row| self.run(sql, row).map(drop)),
            Engine::Postgres(connection) => {
                let rows: Vec<&[Value<'_>]> = rows.into_iter().collect();
                if rows.is_empty() {
                    return Ok(());
                }
                connection.run_all(sql.for_postgres(), &rows).map(drop).map_err(self.fail(sql.what))
            }
        }
    }

    /// Asks a question once for each row of values, and hands what is found to `read` with the number of its row.
    pub(crate) fn each_of_all<'v>(
        &self,
        sql: Sql,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
        mut read: impl FnMut(usize, &Row<'_>) -> Result<(), Fault>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => rows.into_iter().enumerate().try_for_each(|(number, row)| {
                self.each(sql, row, |found| read(number, found).map(|()| ControlFlow::Continue(())))
            }),
            Engine::Postgres(connection) => {
                let rows: Vec<&[Value<'_>]> = rows.into_iter().collect();
                if rows.is_empty() {
                    return Ok(());
                }
                let mut read =
                    |number: usize, row: &Row<'_>| read(number, row).map(|()| ControlFlow::Continue(()));
                connection.each_of_all(sql.for_postgres(), &rows, &mut read).map_err(self.fail(sql.what))
            }
        }
    }

    /// As [`Db::run`], for a statement that was put together.
    pub(crate) fn run_text(
        &self,
        what: &'static str,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<usize, StoreError> {
        let run = match &self.engine {
            Engine::Sqlite(database) => database.run(text, values),
            Engine::Postgres(connection) => may_ask_server().and_then(|()| connection.run(text, values)),
        };
        run.map_err(self.fail(what))
    }

    /// As [`Db::each`], for a statement that was put together.
    pub(crate) fn each_text(
        &self,
        what: &'static str,
        text: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), StoreError> {
        let run = match &self.engine {
            Engine::Sqlite(database) => database.each(text, values, &mut read),
            Engine::Postgres(connection) => {
                may_ask_server().and_then(|()| connection.each(text, values, &mut read))
            }
        };
        run.map_err(self.fail(what))
    }

    /// Hands row after row to `read`, until it breaks.
    pub(crate) fn each(
        &self,
        sql: Sql,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), StoreError> {
        let run = params.with(|values| match &self.engine {
            Engine::Sqlite(database) => database.each(sql.text, values, &mut read),
            Engine::Postgres(connection) => {
                may_ask_server().and_then(|()| connection.each(sql.for_postgres(), values, &mut read))
            }
        });
        run.map_err(self.fail(sql.what))
    }

    pub(crate) fn all<T>(
        &self,
        sql: Sql,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.each(sql, params, |row| {
            all.push(read(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    pub(crate) fn first<T>(
        &self,
        sql: Sql,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, StoreError> {
        let mut first = None;
        self.each(sql, params, |row| {
            first = Some(read(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    /// The one row that a statement must give.
    pub(crate) fn one<T>(
        &self,
        sql: Sql,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.first(sql, params, read)?.ok_or_else(|| self.fail(sql.what)(Fault::Missing))
    }

    /// Several statements at once, for migrations.
    pub(crate) fn script(&self, what: &'static str, text: &str) -> Result<(), StoreError> {
        let run = match &self.engine {
            Engine::Sqlite(database) => database.script(text),
            Engine::Postgres(connection) => may_ask_server().and_then(|()| connection.script(text)),
        };
        run.map_err(self.fail(what))
    }

    /// Puts the pages of another file in the place of all that is in this one, as [`sqlite::Database::fill_from`] has it.
    pub(crate) fn fill_from(
        &mut self,
        what: &'static str,
        from: &Db,
        watch: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        match (&mut self.engine, &from.engine) {
            (Engine::Sqlite(to), Engine::Sqlite(from)) => to.fill_from(what, from, watch),
            _ => Err(StoreError::unfit("a copy of pages", "only files have pages that can be copied")),
        }
    }

    /// The tables whose rows are sealed; none where the engine has no seals of ours.
    pub(crate) fn sealed_tables(&self) -> Result<Vec<sqlite::SealedTable>, StoreError> {
        self.sqlite().map_or(Ok(Vec::new()), sqlite::Database::sealed_tables)
    }

    /// Notes the sealed tables and their rows as they are, where every row is known to be whole.
    pub(crate) fn note_sealed_tables(&self) -> Result<(), StoreError> {
        self.sqlite().map_or(Ok(()), sqlite::Database::note_sealed_tables)
    }

    /// What the engine itself finds wrong with what it stores, and rows that point at nothing.
    pub(crate) fn check(&self, depth: Depth) -> Result<Vec<Flaw>, StoreError> {
        let found = match &self.engine {
            Engine::Sqlite(database) => database.check(depth),
            // A server has checksums of its pages, and lets no row point at nothing.
            Engine::Postgres(_) => Ok(Vec::new()),
        };
        found.map_err(self.fail("check the pages"))
    }

    /// Rows that are not as they were written, and tables that lack some, where rows are sealed.
    pub(crate) fn check_seals(&self) -> Vec<Flaw> {
        self.sqlite().map(sqlite::seal_check::seals).unwrap_or_default()
    }

    /// Whether the named tables have as many rows as were written, where they are counted.
    pub(crate) fn check_counts(&self, tables: &[&str]) -> Vec<Flaw> {
        self.sqlite().map(|database| sqlite::seal_check::counts(database, tables)).unwrap_or_default()
    }

    /// Folds what was written last into the main file, where there is a log beside it. If something keeps it from that, the next one does it.
    pub(crate) fn fold_log(&self) {
        if let Some(database) = self.sqlite() {
            database.checkpoint().ok();
        }
    }

    /// The same without waiting for readers that keep it from that.
    pub(crate) fn fold_log_at_once(&self) {
        if let Some(database) = self.sqlite() {
            database.checkpoint_at_once().ok();
        }
    }

    pub(crate) fn fail(&self, what: &'static str) -> impl FnOnce(Fault) -> StoreError {
        move |fault| StoreError::of(what, &self.place, fault)
    }
}

/// Before anything is sent to a server: a thread that must not wait does not.
fn may_ask_server() -> Result<(), Fault> {
    if waiting::may_wait() {
        return Ok(());
    }
    let cause = "a server would have to be asked on a thread that must not wait".into();
    Err(Fault::Engine(trouble::Trouble { kind: trouble::Kind::Waits, cause }))
}
