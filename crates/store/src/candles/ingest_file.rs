//! The log of ingested batches on SQLite: `ingest.db`, next to the candle database. SQLite permits
//! only one write transaction per file, so batches in the candle database would wait for merges.
//!
//! A counter of the candle database is the key of its log, which contains the same key. Without
//! that counter, the log is in the tables of the candle database: before the first batch, in a
//! backup, and after a move. [`open_or_create`] moves it to a new file, and [`fold`] moves it back.
//! A file with another key belongs to a candle database that a restore has replaced. Such a file is
//! ignored, and removed when a new one is created.
//!
//! The last merged batch is recorded with the candles. A batch is removed from the log only some
//! minutes after it was merged, so no crash loses or repeats a row.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use market::Timestamp;

use crate::engine::{Db, INGEST_FILE, Role, Sql, StoreError, Value, migrate, migrations};

/// Suffixes of the files that SQLite creates for an open database.
const COMPANIONS: [&str; 4] = ["-wal", "-shm", "-journal", ""];

// These statements run only on SQLite.
const KEY: Sql = Sql::new("find the ingest log", "select next from counter where name = 'ingest log'");
const NEW_KEY: Sql = Sql::new("create the ingest log", "select abs(random() >> 1)");
const SET: Sql = Sql::new(
    "write a counter of the ingest log",
    "insert into counter (name, next) values ($1, $2) on conflict (name) do update set next = excluded.next",
);
const NO_KEY: Sql = Sql::new("fold the ingest log", "delete from counter where name = 'ingest log'");
const AFTER: Sql = Sql::new("count ingested batches", "select count(*) from ingest_batch where id > $1");
const COUNTER: Sql = Sql::new("read a counter of the ingest log", "select next from counter where name = $1");

/// The tables, with their numbers of columns.
const TABLES: [(&str, usize); 4] =
    [("ingest_batch", 3), ("ingest_source", 2), ("ingest_answer", 3), ("ingest_trade", 5)];

/// Returns the key of the log of a candle database, or `None` if the log is in its own tables.
pub(crate) fn key(candles: &Db) -> Result<Option<i64>, StoreError> {
    if candles.is_remote() { Ok(None) } else { candles.first(KEY, [], |row| row.get(0)) }
}

/// Opens the log of a candle database. Returns `None` if the log is in its own tables.
pub(crate) fn open(candles: &Db, role: Role) -> Result<Option<Db>, StoreError> {
    let (Some(key), Some(path)) = (key(candles)?, path_of(candles)) else { return Ok(None) };
    if std::fs::metadata(&path).map_or(0, |file| file.len()) == 0 {
        return Ok(None);
    }
    let log = Db::open(&path, role)?;
    let is_current = migrate::schema(&log, migrations::INGEST)? == migrations::known(migrations::INGEST);
    let is_its_log = is_current && self::key(&log)? == Some(key);
    Ok(is_its_log.then_some(log))
}

/// Opens the log of a candle database for appending, and creates it if necessary. Returns `None` on
/// PostgreSQL, which needs no separate database.
pub(super) fn open_or_create(candles: &Db) -> Result<Option<Db>, StoreError> {
    let Some(path) = path_of(candles) else { return Ok(None) };
    if let Some(log) = open(candles, Role::Writer)? {
        return Ok(Some(log));
    }
    // The write lock also excludes other processes that create the file.
    candles.begin_write()?;
    let created = create(candles, &path).and_then(|log| candles.commit().map(|()| log));
    created.map(Some).inspect_err(|_| drop(candles.rollback()))
}

fn create(candles: &Db, path: &Path) -> Result<Db, StoreError> {
    if let Some(log) = open(candles, Role::Writer)? {
        return Ok(log);
    }
    remove(path)?;
    let log = Db::open(path, Role::Writer)?;
    // The time of creation is recorded with the store, not with its log.
    migrate::migrate(&log, migrations::INGEST, Timestamp(0))?;
    let is_lost = key(candles)?.is_some();
    let key: i64 = candles.one(NEW_KEY, [], |row| row.get(0))?;
    log.begin_write()?;
    if !is_lost {
        copy(candles, &log, 0)?;
    }
    // If the previous log was lost, the ids of merged batches must not be reused.
    let newest = counter(candles, "ingest")?.max(counter(candles, "applied")?);
    for (name, next) in [("ingest", newest), ("push", counter(candles, "push")?), ("ingest log", key)] {
        log.run(SET, (name, next))?;
    }
    log.commit()?;
    sync_folder_of(path)?;
    // The rows were copied to the new log. If the log is lost, its replacement must not contain
    // them.
    for (table, _) in TABLES {
        candles.run_text("empty the ingest log", &format!("delete from {table}"), &[])?;
    }
    if is_lost {
        // Batches in the lost log cannot be merged, so they are recorded as merged.
        candles.run(SET, ("applied", newest))?;
    }
    candles.run(SET, ("ingest log", key))?;
    Ok(log)
}

/// Moves the log into the tables of a candle database that is in a write transaction: of a copy, or
/// of the store if no batch can be appended in the meantime. Merged batches are left out. The file
/// can be removed after the commit.
pub(crate) fn fold(log: &Db, candles: &Db) -> Result<(), StoreError> {
    copy(log, candles, counter(candles, "applied")?)?;
    for name in ["ingest", "push"] {
        candles.run(SET, (name, counter(log, name)?))?;
    }
    candles.run(NO_KEY, []).map(drop)
}

/// Returns whether a log has all batches that a candle database lacks. Returns `false` if batches
/// were merged and removed after the candle database was read.
pub(crate) fn continues(log: &Db, candles: &Db) -> Result<bool, StoreError> {
    let (applied, newest) = (counter(candles, "applied")?, counter(log, "ingest")?);
    let found: i64 = log.one(AFTER, [applied], |row| row.get(0))?;
    Ok(found >= newest.saturating_sub(applied))
}

/// Removes the log of a candle database.
pub(crate) fn remove_log(folder: &Path) -> Result<(), StoreError> {
    remove(&folder.join(INGEST_FILE))
}

fn path_of(candles: &Db) -> Option<PathBuf> {
    candles.url().path().map(|path| path.with_file_name(INGEST_FILE))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    for ending in COMPANIONS {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        match std::fs::remove_file(&name) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", Path::new(&name), source));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes a new file durable. Only on Unix can a directory be opened as a file.
fn sync_folder_of(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path.parent().filter(|_| cfg!(unix)) else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|source| StoreError::io("flush to disk", folder, source))
}

/// Returns a counter of a candle database or of a log.
pub(crate) fn counter(db: &Db, name: &str) -> Result<i64, StoreError> {
    db.one(COUNTER, [name], |row| row.get(0))
}

/// Replaces the rows of a log with the rows of another log, except the batches up to `applied`.
fn copy(from: &Db, to: &Db, applied: i64) -> Result<(), StoreError> {
    let what = "copy the ingest log";
    for (table, columns) in TABLES {
        to.run_text(what, &format!("delete from {table}"), &[])?;
        let places: Vec<String> = (1..=columns).map(|place| format!("${place}")).collect();
        let insert = format!("insert into {table} values ({})", places.join(", "));
        let (read, values) = match table {
            "ingest_batch" => (format!("select * from {table} where id > $1"), vec![Value::Int(applied)]),
            _ => (format!("select * from {table}"), Vec::new()),
        };
        let mut failure = None;
        from.each_text(what, &read, &values, |row| {
            let values = (0..columns).map(|column| row.value(column)).collect::<Result<Vec<_>, _>>()?;
            failure = to.run_text(what, &insert, &values).err();
            Ok(if failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        failure.map_or(Ok(()), Err)?;
    }
    Ok(())
}
