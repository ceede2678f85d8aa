//! SQLite engine: one file per database, with row seals, page copies, and a write-ahead log (WAL).

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, Progress, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OpenFlags};

use super::Fault;
use super::error::{Depth, Flaw};
use super::params::{BLOB_BYTES_MAX, Value};
use super::store_url::{Owner, Role, StoreUrl};
use crate::engine::error::StoreError;
use seal::SealMode;

pub(crate) use lock::{JobFile, Lock, LockFile, RESTORE_FILE, ServerLock, refuse_half_restored};
pub(crate) use rusqlite::{Error, Row};
pub(crate) use seal::{Listed, SealedTable};

mod lock;
pub(crate) mod seal;
mod trouble;

#[derive(Debug)]
pub(crate) struct Database {
    conn: Connection,
    path: PathBuf,
    mode: SealMode,
    seals: Cell<Seals>,
}

/// Whether a connection has the temporary views and triggers of sealed tables. Creating them takes
/// most of the time of opening a connection, and many connections read only a version or a few
/// rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seals {
    /// Has only the views that statements have used so far. The remaining views and the triggers
    /// are created before the first transaction or change.
    AtFirstUse,
    Attached,
    /// The views and triggers were removed for a migration.
    Detached,
}

/// Maximum time that a statement waits for a lock. Candle writers never conflict, because they hold
/// the merge lock, and readers never wait for writers. A statement waits only for another process
/// that recovers or checkpoints the WAL. Account writers alternate, each with one short
/// transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Capacity of the statement cache. Larger than the number of statements, so that no statement is
/// prepared twice.
const STATEMENTS_MAX: usize = 192;
/// Maximum size of a row, in bytes. Prevents a huge allocation because of a corrupt length.
const LENGTH_MAX: i32 = BLOB_BYTES_MAX as i32 + 65_536;
/// Number of pages that are copied between two progress reports (8 MB).
const PAGES_A_STEP: i32 = 2_048;
/// Maximum number of waits for the same lock during a copy, each as long as the busy timeout.
const WAITS_MAX: u32 = 3;
/// Application id in the file header (`CHND`), so that a database of another program is never
/// modified.
const APPLICATION_ID: i64 = 0x4348_4e44;
const LEDGER: &str = "create table if not exists migration (
    version bigint not null primary key, name text not null, digest blob not null, applied_at bigint not null)";
const REFERENCES: &str = "select \"table\", parent, count(*) from pragma_foreign_key_check group by 1, 2";
/// The attempted action that is named in the error for a file that is not a database.
const HEADER: &str = "read the header of the database";
/// Counts the entries of SQLite's schema table. The count is 0 in an empty file.
pub(crate) const TABLES: &str = "select count(*) from sqlite_schema";

impl Database {
    pub(crate) fn open(path: &Path, role: Role) -> Result<Database, StoreError> {
        let what = "open the database";
        let access = match role {
            Role::Reader | Role::Onlooker => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Role::Writer | Role::Draft | Role::Copy => {
                OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
            }
        };
        let access = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if matches!(role, Role::Reader | Role::Onlooker) && is_emptied(path) {
            return Err(StoreError::Emptied { place: path.into() });
        }
        if role == Role::Reader {
            roll_back(path);
        }
        let opened = match untouched(path).filter(|_| role == Role::Onlooker) {
            Some(address) => Connection::open_with_flags(address, access | OpenFlags::SQLITE_OPEN_URI),
            None => Connection::open_with_flags(path, access),
        };
        let conn = opened.map_err(|error| StoreError::of(what, &StoreUrl::from(path), error.into()))?;
        let mode = match role {
            Role::Reader | Role::Onlooker => SealMode::Reading,
            Role::Writer | Role::Draft | Role::Copy => SealMode::Writing,
        };
        let db = Database { conn, path: path.to_owned(), mode, seals: Cell::new(Seals::AtFirstUse) };
        db.configure(role).map_err(|error| StoreError::of(what, &StoreUrl::from(path), error.into()))?;
        // Fails if the file is not a database, or if its schema is damaged.
        let schema = db.conn.query_row(TABLES, [], |_| Ok(()));
        schema.map_err(|error| db.fail(HEADER)(error.into()))?;
        if role == Role::Draft {
            // Another database is copied into this file. Seals that are attached later would be
            // derived from the schema of that database.
            db.attach_seals()?;
        }
        Ok(db)
    }

    /// Creates the views and triggers of the sealed tables for the current schema.
    pub(crate) fn attach_seals(&self) -> Result<(), StoreError> {
        self.attach_now().map_err(|error| self.fail(HEADER)(error.into()))
    }

    fn attach_now(&self) -> rusqlite::Result<()> {
        seal::detach(&self.conn)?;
        seal::attach(&self.conn, self.mode)?;
        self.seals.set(Seals::Attached);
        Ok(())
    }

    /// Creates the views and triggers if necessary. Must run before any change, and before a
    /// transaction, whose rollback would remove them.
    fn attach_at_first_use(&self) -> rusqlite::Result<()> {
        if self.seals.get() == Seals::AtFirstUse { self.attach_now() } else { Ok(()) }
    }

    /// Prepares a statement that may return rows, and creates the views that it uses.
    fn prepare(&self, text: &str) -> rusqlite::Result<CachedStatement<'_>> {
        let statement = match self.conn.prepare_cached(text) {
            Err(_) if self.seals.get() == Seals::AtFirstUse => {
                seal::attach_views_named_in(&self.conn, text)?;
                self.conn.prepare_cached(text)?
            }
            prepared => prepared?,
        };
        if !statement.readonly() {
            // The triggers change the schema, so SQLite prepares the statement again when it runs.
            self.attach_at_first_use()?;
        }
        Ok(statement)
    }

    /// Removes views and triggers for a migration, which changes tables and rows without
    /// restrictions. The caller must call [`Database::seal_all`] afterwards.
    pub(crate) fn detach_seals(&self) -> Result<(), StoreError> {
        seal::detach(&self.conn).map_err(|error| self.fail("migrate the database")(error.into()))?;
        self.seals.set(Seals::Detached);
        Ok(())
    }

    /// Seals every row of every sealed table.
    pub(crate) fn seal_all(&self) -> Result<(), StoreError> {
        let sealed = seal::seal_all(&self.conn).and_then(|()| seal::attach(&self.conn, self.mode));
        sealed.map_err(|error| self.fail("seal the rows")(error.into()))?;
        self.seals.set(Seals::Attached);
        Ok(())
    }

    pub(crate) fn sealed_tables(&self) -> Result<Vec<SealedTable>, StoreError> {
        seal::found(&self.conn).map_err(|error| self.fail("list the sealed tables")(error.into()))
    }

    /// Returns the tables recorded in `sealed_table`, for comparison with the schema.
    pub(crate) fn listed_tables(&self) -> Result<Vec<Listed>, StoreError> {
        seal::list(&self.conn).map_err(|error| self.fail("list the sealed tables")(error.into()))
    }

    pub(super) fn in_transaction(&self) -> bool {
        !self.conn.is_autocommit()
    }

    /// Returns all rows of a generated statement, which is not cached.
    pub(crate) fn all_of<T>(
        &self,
        what: &'static str,
        text: &str,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut run = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.prepare(text)?;
            let rows = statement.query_map([], &mut read)?.collect();
            statement.discard();
            rows
        };
        run().map_err(|error| self.fail(what)(error.into()))
    }

    fn configure(&self, role: Role) -> rusqlite::Result<()> {
        let conn = &self.conn;
        conn.busy_timeout(BUSY_TIMEOUT)?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, LENGTH_MAX)?;
        // With QPSG disabled, SQLite plans `first_at < $4` with the bound value, and prepares the
        // statement again whenever rusqlite clears its bindings: a directory lookup then takes 30
        // us instead of 3 us.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // Only `seal.rs` creates temporary objects.
        conn.execute_batch(
            "pragma trusted_schema = off; pragma foreign_keys = on; pragma temp_store = memory;",
        )?;
        seal::define(conn)?;
        match role {
            // Pages are read, not memory-mapped: access to a truncated mapped file kills the
            // process with SIGBUS, whereas a read returns an error
            // (docs/decisions/0005-read-not-mapped.md). The OS caches the file; this cache holds
            // little more than the inner B-tree pages.
            Role::Reader | Role::Onlooker => conn.execute_batch(
                "pragma mmap_size = 0; pragma cache_size = -2048; pragma cell_size_check = on;",
            ),
            // 4 KB pages: with blocks of 10 to 30 KB the file is 4 % larger than its contents,
            // compared to 7 % with 8 KB and 16 % with 16 KB pages. FULL makes a commit durable
            // before it is acknowledged; NORMAL may lose acknowledged commits.
            Role::Writer => conn.execute_batch(
                "pragma page_size = 4096; pragma journal_mode = wal; pragma synchronous = full;
                 pragma cell_size_check = on; pragma cache_size = -16384;
                 pragma wal_autocheckpoint = 4000; pragma journal_size_limit = 67108864;",
            ),
            // With NORMAL, the file may lose the last commits after a power loss, which is
            // acceptable for a local copy.
            Role::Copy => conn.execute_batch(
                "pragma page_size = 4096; pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = off;
                 pragma cell_size_check = on; pragma cache_size = -4096;
                 pragma wal_autocheckpoint = 2000; pragma journal_size_limit = 8388608;",
            ),
            // The caller syncs the finished file as a whole.
            Role::Draft => conn.execute_batch("pragma journal_mode = off; pragma synchronous = off;"),
        }
    }

    /// Returns a number that changes when other connections commit. Values are comparable only on
    /// the same connection.
    pub(super) fn data_version(&self) -> Result<i64, Fault> {
        Ok(self.conn.prepare_cached("pragma data_version")?.query_row([], |row| row.get(0))?)
    }

    pub(super) fn owner(&self) -> Result<Owner, Fault> {
        let id: i64 = self.conn.query_row("pragma application_id", [], |row| row.get(0))?;
        if id == APPLICATION_ID {
            return Ok(Owner::Ours);
        }
        let tables: i64 = self.conn.query_row(TABLES, [], |row| row.get(0))?;
        Ok(if id == 0 && tables == 0 { Owner::Unclaimed } else { Owner::AnotherProgram })
    }

    pub(super) fn mark_as_ours(&self) -> Result<(), Fault> {
        self.script(&format!("pragma application_id = {APPLICATION_ID}; {LEDGER}"))
    }

    pub(super) fn check(&self, depth: Depth) -> Result<Vec<Flaw>, Fault> {
        let pages =
            if depth == Depth::Quick { "pragma quick_check(100)" } else { "pragma integrity_check(100)" };
        let mut found = Vec::new();
        self.each(pages, &[], |row| {
            found.extend(Some(row.get::<String>(0)?).filter(|word| word != "ok").map(Flaw::Engine));
            Ok(ControlFlow::Continue(()))
        })?;
        self.each(REFERENCES, &[], |row| {
            let (table, parent) = (row.get(0)?, row.get(1)?);
            found.push(Flaw::Dangling {
                table,
                parent,
                count: u64::try_from(row.get::<i64>(2)?).unwrap_or_default(),
            });
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Checkpoints as much of the WAL as readers allow, and truncates it if the checkpoint is
    /// complete.
    pub(crate) fn checkpoint(&self) -> Result<(), Fault> {
        self.each("pragma wal_checkpoint(truncate)", &[], |_| Ok(ControlFlow::Continue(())))
    }

    /// Checkpoints the WAL without waiting for readers.
    pub(crate) fn checkpoint_at_once(&self) -> Result<(), Fault> {
        self.conn.busy_timeout(Duration::ZERO)?;
        let folded = self.checkpoint();
        self.conn.busy_timeout(BUSY_TIMEOUT)?;
        folded
    }

    pub(super) fn begin(&self, write: bool) -> Result<(), Fault> {
        self.run(if write { "begin immediate" } else { "begin" }, &[]).map(drop)
    }

    pub(super) fn commit(&self) -> Result<(), Fault> {
        self.run("commit", &[]).map(drop)
    }

    pub(super) fn rollback(&self) -> Result<(), Fault> {
        self.run("rollback", &[]).map(drop)
    }

    pub(super) fn run(&self, text: &str, values: &[Value<'_>]) -> Result<usize, Fault> {
        self.attach_at_first_use()?;
        let mut statement = self.conn.prepare_cached(text)?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    pub(super) fn each(
        &self,
        text: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&super::Row<'_>) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault> {
        let mut statement = self.prepare(text)?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if read(&super::Row::Sqlite(row))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Runs a statement once for each row of values, and prepares it only once.
    pub(super) fn run_all<'v>(
        &self,
        text: &str,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
    ) -> Result<(), Fault> {
        self.attach_at_first_use()?;
        let mut statement = self.conn.prepare_cached(text)?;
        for values in rows {
            bind(&mut statement, values)?;
            statement.raw_execute()?;
        }
        Ok(())
    }

    /// Runs a query once for each row of values. Passes each result row to `read`, with the index
    /// of its values.
    pub(super) fn each_of_all<'v>(
        &self,
        text: &str,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
        mut read: impl FnMut(usize, &super::Row<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut statement = self.prepare(text)?;
        for (number, values) in rows.into_iter().enumerate() {
            bind(&mut statement, values)?;
            let mut found = statement.raw_query();
            while let Some(row) = found.next()? {
                read(number, &super::Row::Sqlite(row))?;
            }
        }
        Ok(())
    }

    pub(super) fn script(&self, text: &str) -> Result<(), Fault> {
        self.attach_at_first_use()?;
        Ok(self.conn.execute_batch(text)?)
    }

    /// Replaces all contents with the pages of another database, in one transaction: readers see
    /// either the old or the new contents. If the other database has an open transaction, the
    /// snapshot of that transaction is copied, regardless of how long the copy takes. `watch`
    /// receives the number of copied pages and the total, and may stop the copy, which leaves the
    /// contents unchanged. Returns `Break` if the copy was stopped.
    pub(crate) fn fill_from(
        &mut self,
        what: &'static str,
        from: &Database,
        mut watch: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let path = self.path.clone();
        let fail = |error: rusqlite::Error| StoreError::of(what, &StoreUrl::from(&path), error.into());
        let backup = Backup::new(&from.conn, &mut self.conn).map_err(fail)?;
        let mut waits = 0;
        loop {
            let step = backup.step(PAGES_A_STEP).map_err(fail)?;
            let Progress { remaining, pagecount } = backup.progress();
            let [left, all] = [remaining, pagecount].map(|pages| u64::try_from(pages).unwrap_or_default());
            match step {
                StepResult::Done => return Ok(ControlFlow::Continue(())),
                // The connection has already waited for its busy timeout.
                StepResult::Busy | StepResult::Locked if waits >= WAITS_MAX => {
                    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
                    return Err(fail(rusqlite::Error::SqliteFailure(code, None)));
                }
                StepResult::Busy | StepResult::Locked => waits += 1,
                _ => waits = 0,
            }
            if watch(all.saturating_sub(left), all).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    pub(crate) fn fail(&self, what: &'static str) -> impl FnOnce(Fault) -> StoreError {
        move |fault| StoreError::of(what, &StoreUrl::from(&self.path), fault)
    }
}

/// Returns a column of a row, borrowed from the row.
pub(super) fn column<'a>(row: &'a Row<'a>, column: usize) -> Result<Value<'a>, Fault> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => Ok(Value::Int(number)),
        // No column of the schemas contains floating-point numbers.
        ValueRef::Real(number) => Err(Fault::value("value", &number.to_string())),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Value::Text(text)),
            Err(_) => Err(Fault::value("text", &String::from_utf8_lossy(text))),
        },
        ValueRef::Blob(bytes) => Ok(Value::Blob(bytes)),
    }
}

fn bind(statement: &mut CachedStatement<'_>, values: &[Value<'_>]) -> rusqlite::Result<()> {
    let wanted = statement.parameter_count();
    if wanted != values.len() {
        return Err(Error::InvalidParameterCount(values.len(), wanted));
    }
    for (place, value) in (1..).zip(values) {
        statement.raw_bind_parameter(place, value)?;
    }
    Ok(())
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        let value = match *self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        };
        Ok(rusqlite::types::ToSqlOutput::Borrowed(value))
    }
}

/// Seals every row of a database with its current contents. Only for tests that write invalid rows.
/// No command does this, because it would hide damage.
pub fn seal_as_it_is(path: &Path) -> Result<(), StoreError> {
    let db = Database::open(path, Role::Writer)?;
    let sealed = db.begin(true).map_err(db.fail("begin writing")).and_then(|()| db.detach_seals());
    sealed.and_then(|()| db.seal_all())?;
    db.commit().map_err(db.fail("commit"))
}

/// Returns whether a database file is empty. SQLite treats an empty file as a new database and
/// deletes its WAL, even on a read-only connection, so opening it would lose the contents of the
/// WAL.
pub(crate) fn is_emptied(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0)
}

/// Rolls back a hot journal, which remains if the creation of the database was interrupted before
/// the database was in WAL mode. A read-only connection cannot roll back. If this process has no
/// write permission, the next statement reports the error.
fn roll_back(path: &Path) {
    if !with_ending(path, "-journal").exists() {
        return;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(conn) = Connection::open_with_flags(path, flags) else { return };
    conn.busy_timeout(BUSY_TIMEOUT).ok();
    // SQLite rolls back on the first read, under its own locks, and only if no other process is
    // writing.
    conn.query_row(TABLES, [], |_| Ok(())).ok();
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Returns the URI that opens a database as immutable, without creating files next to it. This is
/// safe only if no process has the database open, because such a process would have created a WAL.
/// Returns `None` if there is a WAL, if there is a hot journal (partial changes would be read), or
/// if the path cannot be a URI.
fn untouched(path: &Path) -> Option<String> {
    if ["-wal", "-journal"].iter().any(|ending| with_ending(path, ending).exists()) {
        return None;
    }
    let absolute = std::path::absolute(path).ok()?;
    let mut address = "file:".to_owned();
    for byte in absolute.to_str()?.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' => address.push(char::from(byte)),
            plain if plain.is_ascii_alphanumeric() => address.push(char::from(plain)),
            other => address.push_str(&format!("%{other:02x}")),
        }
    }
    address.push_str("?immutable=1");
    Some(address)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::candles::sql;
    use crate::engine::{Db, Sql, migrate, migrations};

    #[test]
    fn a_range_query_is_prepared_once() {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(&dir.path().join("candles.db"), Role::Writer).unwrap();
        migrate::migrate(&db, migrations::ALL, market::Timestamp(0)).unwrap();
        for at in 0..3 {
            db.all(sql::BLOCKS, ("700.HK", "1m", "regular", at, at + 1), |_| Ok(())).unwrap();
        }
        let statement = db.sqlite().unwrap().conn.prepare_cached(sql::BLOCKS.text).unwrap();
        let status =
            [StatementStatus::Run, StatementStatus::RePrepare].map(|kind| statement.get_status(kind));
        assert_eq!(status, [3, 0]);
    }

    /// Returns the number of temporary views and triggers of a connection.
    fn attached(db: &Db) -> i64 {
        db.sqlite()
            .unwrap()
            .conn
            .query_row("select count(*) from sqlite_temp_schema", [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn the_first_change_of_a_connection_is_sealed() {
        const ADD: Sql =
            Sql::new("count", "insert into counter (name, next) values ('new', 1) returning next");
        const RAISE: Sql = Sql::new("count", "update counter set next = next + 1");
        let ways: [fn(&Db); 4] = [
            |db| assert!(db.run(RAISE, []).unwrap() > 0),
            |db| drop(db.all(ADD, [], |_| Ok(())).unwrap()),
            |db| drop(db.sqlite().unwrap().all_of(ADD.what, ADD.text, |_| Ok(())).unwrap()),
            |db| db.script(RAISE.what, RAISE.text).unwrap(),
        ];
        for way in ways {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("candles.db");
            migrate::migrate(&Db::open(&path, Role::Writer).unwrap(), migrations::ALL, market::Timestamp(0))
                .unwrap();
            let db = Db::open(&path, Role::Writer).unwrap();
            migrate::schema(&db, migrations::ALL).unwrap();
            assert_eq!(attached(&db), 0);
            way(&db);
            assert!(attached(&db) > 0);
            assert_eq!(seal::seals(db.sqlite().unwrap()), []);
        }
    }

    #[test]
    fn views_are_created_on_first_use() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("candles.db");
        migrate::migrate(&Db::open(&path, Role::Writer).unwrap(), migrations::ALL, market::Timestamp(0))
            .unwrap();
        let db = Db::open(&path, Role::Reader).unwrap();
        db.one(sql::VERSION, [], |_| Ok(())).unwrap();
        assert_eq!(attached(&db), 0);
        for _ in 0..2 {
            assert_eq!(db.first(sql::SECURITY, ["700.HK"], |_| Ok(())).unwrap(), None);
            assert_eq!(attached(&db), 1);
        }
        let all = i64::try_from(db.sqlite().unwrap().sealed_tables().unwrap().len()).unwrap();
        db.begin_read().unwrap();
        assert_eq!(attached(&db), all);
        db.rollback().unwrap();
        assert_eq!(attached(&db), all);
        assert_eq!(db.first(sql::SECURITY, ["700.HK"], |_| Ok(())).unwrap(), None);
    }

    #[test]
    fn a_writer_is_durable_and_a_reader_cannot_write() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("candles.db");
        let setting = |db: &Db, name: &str| {
            db.sqlite().unwrap().conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap()
        };
        let writer = Db::open(&path, Role::Writer).unwrap();
        migrate::migrate(&writer, migrations::ALL, market::Timestamp(0)).unwrap();
        let mode: String =
            writer.sqlite().unwrap().conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        assert_eq!(setting(&writer, "synchronous"), 2);
        assert_eq!(setting(&writer, "foreign_keys"), 1);
        assert_eq!(setting(&writer, "trusted_schema"), 0);
        assert_eq!(setting(&writer, "cell_size_check"), 1);
        assert_eq!(setting(&writer, "page_size"), 4096);
        let reader = Db::open(&path, Role::Reader).unwrap();
        assert_eq!(setting(&reader, "mmap_size"), 0);
        assert_eq!(setting(&reader, "cell_size_check"), 1);
        let refused = reader.run(sql::ENSURE_SECURITY, ("700.HK", 3)).unwrap_err();
        assert!(matches!(refused, StoreError::Denied { .. }), "{refused:?}");
    }
}
