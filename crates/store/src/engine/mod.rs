//! Database abstraction over SQLite (`sqlite/`) and PostgreSQL (`postgres/`). Code outside this
//! module does not depend on the engine.
//!
//! Start with [`Db`], which runs all statements of both databases. Statements are prepared once,
//! and errors name the statement and the database. Statements use the SQL dialect that both engines
//! share. A statement that cannot be written in this dialect has a second text (`statements.rs`).

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

pub use error::{Depth, FINDINGS_MAX, StoreError};
pub(crate) use error::{Fault, Flaw};
pub(crate) use params::{BLOB_BYTES_MAX, Params, ToValue, Value};
pub use postgres::{Address, AddressError};
pub(crate) use row::{Row, natural, signed, small};
pub(crate) use statements::Sql;
pub use store_url::StoreUrl;
pub(crate) use store_url::{ACCOUNTS_FILE, CANDLES_FILE, INGEST_FILE, KEY_FILE, Owner, Role};
pub(crate) use waiting::{patience, sooner};
pub use waiting::{waiting_at_most, without_waiting};

use migrations::Dialect;

pub(crate) mod error;
pub(crate) mod home;
pub(crate) mod lock;
pub(crate) mod migrate;
pub(crate) mod migrations;
mod params;
pub(crate) mod postgres;
mod row;
pub(crate) mod sqlite;
pub(crate) mod statements;
#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]
pub(crate) mod statements_on_postgres;
mod store_url;
mod waiting;

/// A connection to one of a store's two databases. Can be used by one thread at a time.
#[derive(Debug)]
pub(crate) struct Db {
    place: StoreUrl,
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Sqlite(sqlite::Database),
    Postgres(postgres::Connection),
}

impl Db {
    /// Opens a database file.
    pub(crate) fn open(path: &Path, role: Role) -> Result<Db, StoreError> {
        let place = StoreUrl::from(path);
        let engine = Engine::Sqlite(sqlite::Database::open(path, role)?);
        Ok(Db { place, engine })
    }

    /// Creates a handle for a PostgreSQL database. The first statement connects to the server.
    pub(crate) fn on_server(server: &Arc<postgres::Server>, role: Role) -> Db {
        let place = StoreUrl::from(server.address());
        Db { place, engine: Engine::Postgres(postgres::Connection::new(server.clone(), role)) }
    }

    /// Returns the location of the database, for use in error messages.
    pub(crate) fn url(&self) -> &StoreUrl {
        &self.place
    }

    /// Returns the SQLite database, or `None` on PostgreSQL.
    pub(crate) fn sqlite(&self) -> Option<&sqlite::Database> {
        match &self.engine {
            Engine::Sqlite(database) => Some(database),
            Engine::Postgres(_) => None,
        }
    }

    /// Returns whether statements go over a network.
    pub(crate) fn is_remote(&self) -> bool {
        self.sqlite().is_none()
    }

    /// Returns the notification channel for changes, or `None` on SQLite.
    pub(crate) fn channel(&self) -> Option<&str> {
        match &self.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(connection) => Some(connection.server().schema()),
        }
    }

    /// Returns whether the database records the row counts of its tables, so that missing rows are
    /// detected.
    pub(crate) fn counts_rows(&self) -> bool {
        self.sqlite().is_some()
    }

    /// Returns whether only one connection writes at a time, so that the state that a change has
    /// read cannot change before it commits.
    pub(crate) fn has_one_writer(&self) -> bool {
        self.sqlite().is_some()
    }

    /// Returns a value that changes when another connection commits, or `None` if the engine has no
    /// such value that is cheaper than a query. Values are comparable only on this connection.
    pub(crate) fn change_mark(&self) -> Result<Option<i64>, StoreError> {
        let mark = match &self.engine {
            Engine::Sqlite(database) => database.data_version().map(Some),
            Engine::Postgres(_) => Ok(None),
        };
        mark.map_err(self.fail("check for changes"))
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match &self.engine {
            Engine::Sqlite(_) => Dialect::Sqlite,
            Engine::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Returns which program the database belongs to.
    pub(crate) fn owner(&self) -> Result<Owner, StoreError> {
        let owner = match &self.engine {
            Engine::Sqlite(database) => database.owner(),
            Engine::Postgres(connection) => may_ask_server().and_then(|()| connection.owner()),
        };
        owner.map_err(self.fail("read the header of the database"))
    }

    /// Creates the schema and the migration ledger, which must exist before the transaction of a
    /// migration begins. Does nothing on SQLite.
    pub(crate) fn make_ledger(&self) -> Result<(), StoreError> {
        let made = match &self.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(connection) => connection.make_ledger(),
        };
        made.map_err(self.fail("create the tables"))
    }

    /// Marks the database as belonging to this program, creates the migration ledger, and blocks
    /// other migrations until the transaction ends.
    pub(crate) fn mark_as_ours(&self) -> Result<(), StoreError> {
        let marked = match &self.engine {
            Engine::Sqlite(database) => database.mark_as_ours(),
            Engine::Postgres(connection) => connection.lock_ledger(),
        };
        marked.map_err(self.fail("mark the database"))
    }

    /// Prepares the database for a migration, which changes tables and rows. Fails if a row has a
    /// wrong seal, because the migration would seal the damaged row again.
    pub(crate) fn before_migration(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(database) => {
                sqlite::seal::refuse_broken_seals(database)?;
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

    /// Begins a read-only transaction. Its first query fixes the snapshot.
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

    /// Commits the transaction. The changes are durable on return.
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

    /// Returns whether consecutive statements see the same state.
    pub(crate) fn in_transaction(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(database) => database.in_transaction(),
            Engine::Postgres(connection) => connection.in_transaction(),
        }
    }

    /// Runs a statement without result rows. Returns the number of changed rows.
    pub(crate) fn run(&self, sql: Sql, params: impl Params) -> Result<usize, StoreError> {
        let run = params.with(|values| match &self.engine {
            Engine::Sqlite(database) => database.run(sql.text, values),
            Engine::Postgres(connection) => {
                may_ask_server().and_then(|()| connection.run(sql.for_postgres(), values))
            }
        });
        run.map_err(self.fail(sql.what))
    }

    /// Runs a statement once for each row of values, in order.
    pub(crate) fn run_all<'v>(
        &self,
        sql: Sql,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(database) => database.run_all(sql.text, rows).map_err(self.fail(sql.what)),
            Engine::Postgres(connection) => {
                let rows: Vec<&[Value<'_>]> = rows.into_iter().collect();
                if rows.is_empty() {
                    return Ok(());
                }
                connection.run_all(sql.for_postgres(), &rows).map(drop).map_err(self.fail(sql.what))
            }
        }
    }

    /// Runs a query once for each row of values. Passes each result row to `read`, with the index
    /// of its values.
    pub(crate) fn each_of_all<'v>(
        &self,
        sql: Sql,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
        mut read: impl FnMut(usize, &Row<'_>) -> Result<(), Fault>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(database) => {
                database.each_of_all(sql.text, rows, read).map_err(self.fail(sql.what))
            }
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

    /// Runs a statement for many rows of values, which its PostgreSQL text takes as arrays, one for
    /// each column. Passes each result row to `read`, with the index of its values, which is the
    /// first column of the result. The statement must not affect a row twice. Needs a transaction.
    pub(crate) fn each_together<'v>(
        &self,
        sql: Sql,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
        mut read: impl FnMut(usize, &Row<'_>) -> Result<(), Fault>,
    ) -> Result<(), StoreError> {
        let Engine::Postgres(connection) = &self.engine else {
            return self.each_of_all(sql, rows, read);
        };
        let rows: Vec<&[Value<'_>]> = rows.into_iter().collect();
        let mut read = |number: usize, row: &Row<'_>| read(number, row).map(|()| ControlFlow::Continue(()));
        connection.each_together(sql.for_postgres(), &rows, &mut read).map_err(self.fail(sql.what))
    }

    /// Like [`Db::each_together`], for a statement without result rows.
    pub(crate) fn run_together<'v>(
        &self,
        sql: Sql,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => self.run_all(sql, rows),
            Engine::Postgres(_) => self.each_together(sql, rows, |_, _| Ok(())),
        }
    }

    /// Like [`Db::run`], for generated SQL.
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

    /// Like [`Db::each`], for generated SQL.
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

    /// Runs a query and passes each row to `read` until `read` returns `Break`.
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

    /// Returns the first row of a statement. Fails if there are no rows.
    pub(crate) fn one<T>(
        &self,
        sql: Sql,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.first(sql, params, read)?.ok_or_else(|| self.fail(sql.what)(Fault::Missing))
    }

    /// Runs several statements in one text. Used by migrations.
    pub(crate) fn script(&self, what: &'static str, text: &str) -> Result<(), StoreError> {
        let run = match &self.engine {
            Engine::Sqlite(database) => database.script(text),
            Engine::Postgres(connection) => may_ask_server().and_then(|()| connection.script(text)),
        };
        run.map_err(self.fail(what))
    }

    /// Replaces all contents with the pages of another file; see [`sqlite::Database::fill_from`].
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

    /// Returns the tables whose rows are sealed; empty on PostgreSQL.
    pub(crate) fn sealed_tables(&self) -> Result<Vec<sqlite::SealedTable>, StoreError> {
        self.sqlite().map_or(Ok(Vec::new()), sqlite::Database::sealed_tables)
    }

    /// Runs SQLite's consistency check, and checks for dangling references.
    pub(crate) fn check(&self, depth: Depth) -> Result<Vec<Flaw>, StoreError> {
        let found = match &self.engine {
            Engine::Sqlite(database) => database.check(depth),
            // PostgreSQL has page checksums and enforces foreign keys.
            Engine::Postgres(_) => Ok(Vec::new()),
        };
        found.map_err(self.fail("check the pages"))
    }

    /// Returns rows with wrong seals and tables with missing rows. Empty on PostgreSQL, where rows
    /// are not sealed.
    pub(crate) fn check_seals(&self) -> Vec<Flaw> {
        self.sqlite().map(sqlite::seal::seals).unwrap_or_default()
    }

    /// Returns the tables in `tables` whose row count differs from the recorded count. Empty on
    /// PostgreSQL, where rows are not counted.
    pub(crate) fn check_counts(&self, tables: &[&str]) -> Vec<Flaw> {
        self.sqlite().map(|database| sqlite::seal::counts(database, tables)).unwrap_or_default()
    }

    /// Checkpoints the WAL on SQLite. If readers prevent a complete checkpoint, a later call
    /// completes it.
    pub(crate) fn fold_log(&self) {
        if let Some(database) = self.sqlite() {
            database.checkpoint().ok();
        }
    }

    /// Like `fold_log`, but does not wait for readers.
    pub(crate) fn fold_log_at_once(&self) {
        if let Some(database) = self.sqlite() {
            database.checkpoint_at_once().ok();
        }
    }

    pub(crate) fn fail(&self, what: &'static str) -> impl FnOnce(Fault) -> StoreError {
        move |fault| StoreError::of(what, &self.place, fault)
    }
}

/// Returns an error on threads that must not block. Called before anything is sent to a server.
fn may_ask_server() -> Result<(), Fault> {
    if waiting::may_wait() {
        return Ok(());
    }
    let cause = "the server cannot be queried on a thread that must not block".into();
    Err(Fault::Engine(error::Trouble { kind: error::Kind::Waits, cause }))
}
