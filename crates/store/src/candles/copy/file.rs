//! The file of the local copy: an ordinary `candles.db` with some of the symbols, of which not all bodies are there, and two tables more.

use std::path::{Path, PathBuf};

use market::{Symbol, Timestamp};

use super::fetch::{Fetched, FetchedRows, Origin};
use super::schema::steps;
use super::sql;
use super::table::{self, Cells, SERIES_ID, Table};
use crate::StoreError;
use crate::candles::sql::VERSION;
use crate::count::{natural, signed};
use crate::engine::{Db, Fault, Role, ToValue, Value};
use crate::engine::{migrate, migrations};

/// The files are numbered: one that is given up has readers until they notice.
const PREFIX: &str = "candles-";
const SUFFIX: &str = ".db";
/// What is counted for a row, with its seal and its share of indexes. The entries of 400 series with 20 blocks each take 65 bytes a row.
pub(super) const ROW_BYTES: u64 = 80;
/// What is counted for a symbol of which nothing is stored.
pub(super) const SYMBOL_BYTES: u64 = 256;

/// The local file with the one connection that writes to it.
#[derive(Debug)]
pub(super) struct LocalFile {
    db: Db,
    path: PathBuf,
}

/// What the file says of a symbol that is in it.
#[derive(Clone, Debug)]
pub(super) struct HeldRow {
    pub(super) symbol: Symbol,
    pub(super) is_current: bool,
    pub(super) size: Size,
}

/// What a symbol takes on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// About, for its rows.
    pub(super) rows: u64,
    /// For the bodies that are there.
    pub(super) bodies: u64,
}

impl Size {
    pub(super) fn all(self) -> u64 {
        self.rows.saturating_add(self.bodies)
    }
}

/// What a body is of: candles and trades have ids of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyOf {
    Candles,
    Trades,
}

impl LocalFile {
    /// The number of the newest file in a directory.
    pub(super) fn newest(dir: &Path) -> Result<Option<u64>, StoreError> {
        Ok(numbers(dir)?.into_iter().max())
    }

    pub(super) fn path_of(dir: &Path, number: u64) -> PathBuf {
        dir.join(format!("{PREFIX}{number}{SUFFIX}"))
    }

    /// A file that is there, if it is whole as far as one sees when opening it, and of this program.
    pub(super) fn open(dir: &Path, number: u64) -> Result<LocalFile, StoreError> {
        let path = LocalFile::path_of(dir, number);
        let db = Db::open(&path, Role::Copy)?;
        let steps = steps();
        match migrate::schema(&db, &steps)? {
            found if found == migrations::known(&steps) => Ok(LocalFile { db, path }),
            _ => Err(db.fail("open the local copy")(Fault::Missing)),
        }
    }

    /// A new, empty one. Of earlier files nothing is left, as far as they can be removed.
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

    /// Runs changes that become visible together, or not at all.
    pub(super) fn change<T>(&self, change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.db.begin_write()?;
        let done = change().and_then(|done| self.db.commit().map(|()| done));
        if done.is_err() {
            self.db.rollback().ok();
        }
        done
    }

    /// Notes that a symbol has changed in the database behind.
    pub(super) fn outdate(&self, symbol: &Symbol) -> Result<(), StoreError> {
        self.db.run(sql::OUTDATE, [symbol.as_str()]).map(drop)
    }

    /// The versions of the series and days that are kept of a symbol: what has the same version need not be fetched again.
    pub(super) fn known(&self, symbol: &Symbol) -> Result<FetchedRows, StoreError> {
        let key = [Value::Text(symbol.as_str())];
        Ok(FetchedRows {
            series: table::SERIES.rows(&self.db, &key)?,
            days: table::TRADE_DAYS.rows(&self.db, &key)?,
        })
    }

    /// Puts what was fetched of a symbol in the place of what was kept of it, whose bodies take so many bytes. Answers what it takes now.
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
        let kept = |series: &Cells| {
            fetched.rows.series.iter().any(|row| row.get(SERIES_ID) == series.get(SERIES_ID))
        };
        for series in known.series.iter().filter(|series| !kept(series)) {
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

    /// Entries in the place of those with a key. Answers the bytes of the bodies that went with them.
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

    /// Forgets all of a symbol.
    pub(super) fn forget(&self, symbol: &Symbol) -> Result<(), StoreError> {
        let known = self.known(symbol)?;
        self.put(&Fetched::nothing(symbol, &known), &known, 0)?;
        self.db.run(sql::FORGET, [symbol.as_str()]).map(drop)
    }

    /// Whose body this is, if an entry still has it.
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

    /// Keeps a body. Whether it was not there before.
    pub(super) fn keep(&self, of: BodyOf, id: i64, body: &[u8]) -> Result<bool, StoreError> {
        let sql = match of {
            BodyOf::Candles => sql::KEEP_BODY,
            BodyOf::Trades => sql::KEEP_TRADE_BODY,
        };
        Ok(self.db.run(sql, (id, body))? > 0)
    }

    /// Notes what the bodies of a symbol take.
    pub(super) fn put_size(&self, symbol: &Symbol, size: Size) -> Result<(), StoreError> {
        self.db.run(sql::PUT_SIZE, (signed(size.bodies), symbol.as_str())).map(drop)
    }

    /// Brings the log into the file when it has grown: readers in the middle of a question keep SQLite from doing so by itself. They are
    /// not waited for; there is another turn soon.
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

/// A file that cannot be removed takes space and does no other harm.
fn remove(dir: &Path, number: u64) {
    let path = LocalFile::path_of(dir, number);
    for ending in ["-wal", "-shm", "-journal", ""] {
        let mut name = path.clone().into_os_string();
        name.push(ending);
        std::fs::remove_file(name).ok();
    }
}
