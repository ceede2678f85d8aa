//! The SQLite file of the local copy: a regular `candles.db` with a subset of the symbols and
//! bodies, and two additional tables. Also contains the lock of the cache directory.

use std::fs::{DirBuilder, File};
use std::path::{Path, PathBuf};

use market::{Symbol, Timestamp};

use super::fetch::{Fetched, FetchedRows, Origin};
use super::sql::{self, steps};
use super::table::{self, Cells, SERIES_ID, Table};
use crate::candles::sql::VERSION;
use crate::engine::sqlite::LockFile;
use crate::engine::{Db, Fault, Role, StoreError, ToValue, Value, migrate, migrations, natural, signed};

/// Prefix of the names of local files. Files are numbered, because readers may use a discarded file
/// for some time.
const PREFIX: &str = "candles-";
const SUFFIX: &str = ".db";
/// Name of the lock file in the cache directory, which only one process may use.
const LOCK_FILE: &str = "cache.lock";
/// Estimated size of a row including its seal and index entries, in bytes. The measured size was 65
/// bytes per row for 400 series with 20 blocks each.
pub(super) const ROW_BYTES: u64 = 80;
/// Estimated size of a symbol without rows, in bytes.
pub(super) const SYMBOL_BYTES: u64 = 256;

/// The local file and its only write connection.
#[derive(Debug)]
pub(super) struct LocalFile {
    db: Db,
    path: PathBuf,
}

/// A symbol's row in the local file.
#[derive(Clone, Debug)]
pub(super) struct HeldRow {
    pub(super) symbol: Symbol,
    pub(super) is_current: bool,
    pub(super) size: Size,
}

/// Disk usage of a symbol, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Approximate size of the rows.
    pub(super) rows: u64,
    /// Size of the bodies that are in the local file.
    pub(super) bodies: u64,
}

impl Size {
    pub(super) fn all(self) -> u64 {
        self.rows.saturating_add(self.bodies)
    }
}

/// The kind of a body. Candle and trade bodies have separate id spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyOf {
    Candles,
    Trades,
}

impl LocalFile {
    /// Returns the number of the newest file in a directory, or `None` if there is no file.
    pub(super) fn newest(dir: &Path) -> Result<Option<u64>, StoreError> {
        Ok(numbers(dir)?.into_iter().max())
    }

    pub(super) fn path_of(dir: &Path, number: u64) -> PathBuf {
        dir.join(format!("{PREFIX}{number}{SUFFIX}"))
    }

    /// Opens an existing file. Fails if the file is damaged or was not written by this program.
    pub(super) fn open(dir: &Path, number: u64) -> Result<LocalFile, StoreError> {
        let path = LocalFile::path_of(dir, number);
        let db = Db::open(&path, Role::Copy)?;
        let steps = steps();
        match migrate::schema(&db, &steps)? {
            found if found == migrations::known(&steps) => Ok(LocalFile { db, path }),
            _ => Err(db.fail("open the local copy")(Fault::Missing)),
        }
    }

    /// Creates an empty file and tries to remove earlier files.
    pub(super) fn create(dir: &Path, number: u64, origin: &Origin) -> Result<LocalFile, StoreError> {
        for other in numbers(dir)?.into_iter().filter(|other| *other <= number) {
            remove(dir, other);
        }
        let path = LocalFile::path_of(dir, number);
        let db = Db::open(&path, Role::Copy)?;
        migrate::migrate(&db, &steps(), Timestamp(0))?;
        let file = LocalFile { db, path };
        file.change(|| file.put_origin(origin))?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn origin(&self) -> Result<Origin, StoreError> {
        let version = self.db.one(VERSION, [], |row| row.get(0))?;
        self.db.one(sql::ORIGIN, [], |row| Ok(Origin { version, identity: row.get(0)?, stamp: row.get(1)? }))
    }

    pub(super) fn put_origin(&self, origin: &Origin) -> Result<(), StoreError> {
        self.db.run(sql::PUT_ORIGIN, (&origin.identity, &origin.stamp))?;
        self.db.run(sql::SET_VERSION, [origin.version]).map(drop)
    }

    pub(super) fn held(&self) -> Result<Vec<HeldRow>, StoreError> {
        self.db.all(sql::HELD, [], |row| {
            let (text, size) = (row.text(0)?, Size { rows: natural(row, 2)?, bodies: natural(row, 3)? });
            let symbol = text.parse().map_err(|_| Fault::value("symbol", text))?;
            Ok(HeldRow { symbol, is_current: row.get(1)?, size })
        })
    }

    /// Runs `change` in a write transaction.
    pub(super) fn change<T>(&self, change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.db.begin_write()?;
        let done = change().and_then(|done| self.db.commit().map(|()| done));
        if done.is_err() {
            self.db.rollback().ok();
        }
        done
    }

    /// Marks a symbol as outdated.
    pub(super) fn outdate(&self, symbol: &Symbol) -> Result<(), StoreError> {
        self.db.run(sql::OUTDATE, [symbol.as_str()]).map(drop)
    }

    /// Returns a symbol's stored series and day rows. Rows with the same version need not be
    /// fetched again.
    pub(super) fn known(&self, symbol: &Symbol) -> Result<FetchedRows, StoreError> {
        let key = [Value::Text(symbol.as_str())];
        Ok(FetchedRows {
            series: table::SERIES.rows(&self.db, &key)?,
            days: table::TRADE_DAYS.rows(&self.db, &key)?,
        })
    }

    /// Replaces a symbol's rows with the fetched rows. `bodies` is the current total size of the
    /// symbol's bodies, in bytes. Returns the symbol's new size.
    pub(super) fn put(
        &self,
        fetched: &Fetched,
        known: &FetchedRows,
        bodies: u64,
    ) -> Result<Size, StoreError> {
        let key = [Value::Text(fetched.symbol.as_str())];
        for (table, rows) in table::SMALL.iter().zip(&fetched.small) {
            table.replace(&self.db, table.rows(&self.db, &key)?, rows)?;
        }
        let mut freed = 0;
        let stored = |series: &Cells| {
            fetched.rows.series.iter().any(|row| row.get(SERIES_ID) == series.get(SERIES_ID))
        };
        for series in known.series.iter().filter(|series| !stored(series)) {
            let id = series.get(SERIES_ID).map_or(Value::Null, ToValue::to_value);
            freed += self.replace(table::BLOCKS, BodyOf::Candles, &[id], &[])?;
        }
        for (id, entries) in &fetched.directories {
            freed += self.replace(table::BLOCKS, BodyOf::Candles, &[Value::Int(*id)], entries)?;
        }
        table::SERIES.replace(&self.db, known.series.clone(), &fetched.rows.series)?;
        for (day, entries) in &fetched.trades {
            let key = [Value::Text(fetched.symbol.as_str()), Value::Text(day)];
            freed += self.replace(table::TRADE_BLOCKS_OF_DAY, BodyOf::Trades, &key, entries)?;
        }
        table::TRADE_DAYS.replace(&self.db, known.days.clone(), &fetched.rows.days)?;
        let size = Size { rows: fetched.row_bytes(), bodies: bodies.saturating_sub(freed) };
        let row = (fetched.symbol.as_str(), true, signed(size.rows), signed(size.bodies));
        self.db.run(sql::PUT_HELD, row)?;
        Ok(size)
    }

    /// Replaces the directory entries with a key. Returns the total size of the bodies that were
    /// removed with the old entries, in bytes.
    fn replace(&self, table: Table, of: BodyOf, key: &[Value<'_>], new: &[Cells]) -> Result<u64, StoreError> {
        let bodies = table.replace(&self.db, table.rows(&self.db, key)?, new)?;
        let drop = match of {
            BodyOf::Candles => sql::DROP_BODY,
            BodyOf::Trades => sql::DROP_TRADE_BODY,
        };
        let mut freed = 0;
        for body in bodies {
            let bytes: Option<i64> = self.db.first(drop, [body], |row| row.get(0))?;
            freed += bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
        }
        Ok(freed)
    }

    /// Removes a symbol and its bodies.
    pub(super) fn forget(&self, symbol: &Symbol) -> Result<(), StoreError> {
        let known = self.known(symbol)?;
        self.put(&Fetched::nothing(symbol, &known), &known, 0)?;
        self.db.run(sql::FORGET, [symbol.as_str()]).map(drop)
    }

    /// Returns the symbol that a body belongs to, or `None` if no entry refers to the body.
    pub(super) fn symbol_of(&self, of: BodyOf, id: i64) -> Result<Option<Symbol>, StoreError> {
        let sql = match of {
            BodyOf::Candles => sql::SYMBOL_OF_BLOCK,
            BodyOf::Trades => sql::SYMBOL_OF_TRADE_BLOCK,
        };
        self.db.first(sql, [id], |row| {
            let text = row.text(0)?;
            text.parse().map_err(|_| Fault::value("symbol", text))
        })
    }

    /// Stores a body. Returns whether the body was absent before.
    pub(super) fn store_bodies(&self, of: BodyOf, id: i64, body: &[u8]) -> Result<bool, StoreError> {
        let sql = match of {
            BodyOf::Candles => sql::KEEP_BODY,
            BodyOf::Trades => sql::KEEP_TRADE_BODY,
        };
        Ok(self.db.run(sql, (id, body))? > 0)
    }

    /// Records the total size of a symbol's bodies.
    pub(super) fn put_size(&self, symbol: &Symbol, size: Size) -> Result<(), StoreError> {
        self.db.run(sql::PUT_SIZE, (signed(size.bodies), symbol.as_str())).map(drop)
    }

    /// Checkpoints the WAL without waiting for readers. Errors are ignored.
    pub(super) fn fold_in_log(&self) {
        self.db.fold_log_at_once();
    }
}

fn numbers(dir: &Path) -> Result<Vec<u64>, StoreError> {
    let fail = |source| StoreError::io("list the local copy in", dir, source);
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
        let number: Option<u64> = number.and_then(|number| number.parse().ok());
        numbers.extend(number);
    }
    Ok(numbers)
}

/// Removes a file. Errors are ignored, because a remaining file only takes up disk space.
fn remove(dir: &Path, number: u64) {
    let path = LocalFile::path_of(dir, number);
    for ending in ["-wal", "-shm", "-journal", ""] {
        let mut name = path.clone().into_os_string();
        name.push(ending);
        std::fs::remove_file(name).ok();
    }
}

/// An exclusive lock of a directory across processes.
#[derive(Debug)]
pub(super) struct DirectoryLock(#[expect(dead_code, reason = "it is held")] LockFile);

impl DirectoryLock {
    pub(super) fn take(dir: &Path) -> Result<DirectoryLock, StoreError> {
        make_private(dir)?;
        let held = |pid| StoreError::CacheInUse { place: dir.into(), pid };
        LockFile::take(&dir.join(LOCK_FILE), File::try_lock, held).map(DirectoryLock)
    }
}

/// Creates a directory that only this user can read. Does not change an existing directory.
pub(super) fn make_private(dir: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|source| StoreError::io("create the directory", dir, source))
}
