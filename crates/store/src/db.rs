//! The connection: every statement passes here, is prepared once, and fails with a name and a path.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, Progress, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, Params, Row};

use crate::fault::Fault;
use crate::seal::{self, Listed, SealMode, SealedTable};
use crate::statements::Sql;
use crate::{BLOCK_BYTES_MAX, StoreError, sql};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    /// A reader that leaves no trace: not even the files beside a database that SQLite shares between processes.
    Onlooker,
    Writer,
    /// The writer of a file that no other process knows yet, and that is deleted if writing fails.
    Draft,
}

#[derive(Debug)]
pub(crate) struct Db {
    conn: Connection,
    path: PathBuf,
    mode: SealMode,
}

/// Writers of candles never collide (they hold the lock) and readers never wait for them; what remains is the moment in which
/// another process recovers or checkpoints the log. Writers of accounts take turns, each for one short transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// More than there are statements, so that none is ever prepared twice.
const STATEMENTS_MAX: usize = 192;
/// What SQLite may hold at most of a row: a damaged length must not become a huge allocation.
const LENGTH_MAX: i32 = BLOCK_BYTES_MAX as i32 + 65_536;
/// Pages of a copy between two looks at whether to go on: 8 MB.
const PAGES_A_STEP: i32 = 2_048;
/// How often a copy waits for the same lock, each time as long as a statement would.
const WAITS_MAX: u32 = 3;
/// SQLite's own catalogue: 0 in a file that has nothing in it.
pub(crate) const TABLES: Sql = Sql { what: "read the schema", text: "select count(*) from sqlite_schema" };

impl Db {
    pub(crate) fn open(path: &Path, role: Role) -> Result<Db, StoreError> {
        let what = "open the database";
        let access = match role {
            Role::Reader | Role::Onlooker => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Role::Writer | Role::Draft => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        let access = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if matches!(role, Role::Reader | Role::Onlooker) && is_emptied(path) {
            return Err(StoreError::Emptied { path: path.to_owned() });
        }
        if role == Role::Reader {
            roll_back(path);
        }
        let opened = match untouched(path).filter(|_| role == Role::Onlooker) {
            Some(address) => Connection::open_with_flags(address, access | OpenFlags::SQLITE_OPEN_URI),
            None => Connection::open_with_flags(path, access),
        };
        let conn = opened.map_err(|error| StoreError::of(what, path, error.into()))?;
        let mode = match role {
            Role::Reader | Role::Onlooker => SealMode::Reading,
            Role::Writer | Role::Draft => SealMode::Writing,
        };
        let db = Db { conn, path: path.to_owned(), mode };
        db.configure(role).map_err(|error| StoreError::of(what, path, error.into()))?;
        db.attach_seals()?;
        Ok(db)
    }

    /// Views and triggers of the sealed tables, as the schema has them now.
    pub(crate) fn attach_seals(&self) -> Result<(), StoreError> {
        let attached = seal::detach(&self.conn).and_then(|()| seal::attach(&self.conn, self.mode));
        attached.map_err(|error| self.fail("read the header of the database")(error.into()))
    }

    /// For a migration, which changes tables and rows as it likes: afterwards [`Db::seal_all`].
    pub(crate) fn detach_seals(&self) -> Result<(), StoreError> {
        seal::detach(&self.conn).map_err(|error| self.fail("migrate the database")(error.into()))
    }

    /// Seals every row of every sealed table.
    pub(crate) fn seal_all(&self) -> Result<(), StoreError> {
        let sealed = seal::seal_all(&self.conn).and_then(|()| seal::attach(&self.conn, self.mode));
        sealed.map_err(|error| self.fail("seal the rows")(error.into()))
    }

    pub(crate) fn sealed_tables(&self) -> Result<Vec<SealedTable>, StoreError> {
        seal::found(&self.conn).map_err(|error| self.fail("list the sealed tables")(error.into()))
    }

    /// Notes the sealed tables and their rows as they are, where every row is known to be whole.
    pub(crate) fn note_sealed_tables(&self) -> Result<(), StoreError> {
        seal::note_all(&self.conn).map_err(|error| self.fail("list the sealed tables")(error.into()))
    }

    /// What the database has noted of them, which is for comparing.
    pub(crate) fn listed_tables(&self) -> Result<Vec<Listed>, StoreError> {
        seal::list(&self.conn).map_err(|error| self.fail("list the sealed tables")(error.into()))
    }

    /// Whether several statements in a row see the same state.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.conn.is_autocommit()
    }

    /// As [`Db::all`], for a statement that is put together.
    pub(crate) fn all_of<T>(
        &self,
        what: &'static str,
        text: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let run = || -> rusqlite::Result<Vec<T>> { self.conn.prepare(text)?.query_map([], read)?.collect() };
        run().map_err(|error| self.fail(what)(error.into()))
    }

    fn configure(&self, role: Role) -> rusqlite::Result<()> {
        let conn = &self.conn;
        conn.busy_timeout(BUSY_TIMEOUT)?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, LENGTH_MAX)?;
        // Without this, SQLite looks at the value bound to `first_at < $4` while planning, and prepares the statement
        // anew whenever rusqlite clears its bindings: 30 us instead of 3 for a look into the directory.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // Temporary is only what `seal.rs` makes.
        conn.execute_batch(
            "pragma trusted_schema = off; pragma foreign_keys = on; pragma temp_store = memory;",
        )?;
        seal::define(conn)?;
        match role {
            // Pages are read, not mapped: a file that is cut short under a map ends the process with SIGBUS, where a read
            // ends in an error (docs/decisions/0005-read-not-mapped.md). The system holds the file in memory; this
            // cache holds little more than the inner pages of the trees.
            Role::Reader | Role::Onlooker => conn.execute_batch(
                "pragma mmap_size = 0; pragma cache_size = -2048; pragma cell_size_check = on;",
            ),
            // Pages of 4 KB: the file is 4 % larger than blocks of 10 to 30 KB in it, with 8 KB pages 7 %, with 16 KB
            // pages 16 %. FULL: a commit is on the disk before it is acknowledged; NORMAL loses acknowledged commits.
            Role::Writer => conn.execute_batch(
                "pragma page_size = 4096; pragma journal_mode = wal; pragma synchronous = full;
                 pragma cell_size_check = on; pragma cache_size = -16384;
                 pragma wal_autocheckpoint = 4000; pragma journal_size_limit = 67108864;",
            ),
            // The caller brings the finished draft to the disk as a whole.
            Role::Draft => conn.execute_batch("pragma journal_mode = off; pragma synchronous = off;"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a statement that gives no rows; answers how many rows it changed.
    pub(crate) fn run(&self, sql: Sql, params: impl Params) -> Result<usize, StoreError> {
        let changed = self.conn.prepare_cached(sql.text).and_then(|mut statement| statement.execute(params));
        changed.map_err(|error| self.fail(sql.what)(error.into()))
    }

    /// Hands row after row to `read`, until it breaks.
    pub(crate) fn each(
        &self,
        sql: Sql,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), StoreError> {
        let run = || -> Result<(), Fault> {
            let mut statement = self.conn.prepare_cached(sql.text)?;
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                if read(row)?.is_break() {
                    break;
                }
            }
            Ok(())
        };
        run().map_err(self.fail(sql.what))
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
        self.conn.execute_batch(text).map_err(|error| self.fail(what)(error.into()))
    }

    /// Puts the pages of another database in the place of all that is here, in one transaction: a reader sees the
    /// old content or the new, never a mixture. If the other database has a transaction open, the state of that transaction is
    /// copied, however long this takes. `watch` sees pages done and pages in all, and may break off, which leaves all as it was;
    /// the answer says whether the copy came to its end.
    pub(crate) fn fill_from(
        &mut self,
        what: &'static str,
        from: &Db,
        mut watch: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let path = self.path.clone();
        let fail = |error: rusqlite::Error| StoreError::of(what, &path, error.into());
        let backup = Backup::new(&from.conn, &mut self.conn).map_err(fail)?;
        let mut waits = 0;
        loop {
            let step = backup.step(PAGES_A_STEP).map_err(fail)?;
            let Progress { remaining, pagecount } = backup.progress();
            let [left, all] = [remaining, pagecount].map(|pages| u64::try_from(pages).unwrap_or_default());
            match step {
                StepResult::Done => return Ok(ControlFlow::Continue(())),
                // The connection has waited already, as long as it waits for anything.
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
        move |fault| StoreError::of(what, &self.path, fault)
    }
}

/// Seals every row of a database as it is. Only for tests, which put rows there that no working program would write: it would
/// make damage pass for whole, so no command does it.
pub fn seal_as_it_is(path: &Path) -> Result<(), StoreError> {
    let db = Db::open(path, Role::Writer)?;
    db.run(sql::BEGIN_WRITE, [])?;
    db.detach_seals()?;
    db.seal_all()?;
    db.run(sql::COMMIT, []).map(drop)
}

/// Whether a database file is empty. SQLite takes an empty file for a new database and removes the log (WAL) beside it, even on a read-only
/// connection: opening it would lose what the log still has.
pub(crate) fn is_emptied(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0)
}

/// Rolls back a hot journal: a change that was interrupted before the database had a log, which is while it is created. A
/// read-only connection cannot do that. If this process may not write either, the next statement fails and says so.
fn roll_back(path: &Path) {
    if !with_ending(path, "-journal").exists() {
        return;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(conn) = Connection::open_with_flags(path, flags) else { return };
    conn.busy_timeout(BUSY_TIMEOUT).ok();
    // SQLite does it with the first read, under its own locks, and only if no other process is writing.
    conn.query_row(TABLES.text, [], |_| Ok(())).ok();
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The URI that opens a database as immutable, which creates no files beside it. Only for a database that no process has open:
/// opening it in the usual way creates a log and an index first, so there is none where a log exists, where a change was
/// interrupted (its half would be taken for a whole database), or where the path cannot be written as a URI.
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
    use crate::{migrate, migrations};

    #[test]
    fn a_statement_with_a_time_range_is_prepared_only_once() {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(&dir.path().join("candles.db"), Role::Writer).unwrap();
        migrate::migrate(&db, migrations::ALL, market::Timestamp(0)).unwrap();
        for at in 0..3 {
            db.all(sql::BLOCKS, ("700.HK", "1m", "regular", at, at + 1), |_| Ok(())).unwrap();
        }
        let statement = db.conn.prepare_cached(sql::BLOCKS.text).unwrap();
        let status =
            [StatementStatus::Run, StatementStatus::RePrepare].map(|kind| statement.get_status(kind));
        assert_eq!(status, [3, 0]);
    }

    #[test]
    fn a_writer_promises_durability_and_a_reader_cannot_write() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("candles.db");
        let setting =
            |db: &Db, name: &str| db.conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        let writer = Db::open(&path, Role::Writer).unwrap();
        migrate::migrate(&writer, migrations::ALL, market::Timestamp(0)).unwrap();
        let mode: String = writer.conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
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
