//! Reads from the shared database: the version, changed symbols, a symbol's rows, and block bodies
//! by id.

use std::collections::{BTreeMap, BTreeSet};

use market::Symbol;

use super::file::{BodyOf, ROW_BYTES, SYMBOL_BYTES};
use super::sql;
use super::table::{
    self, Cell, Cells, DAY, DAY_BLOCKS, DAY_VERSION, SERIES_BLOCKS, SERIES_ID, SERIES_VERSION,
};
use crate::engine::{Db, Fault, StoreError, Value};

/// Maximum number of changed days that are fetched by separate statements. If more days have
/// changed, all days of the symbol are fetched together.
const SINGLE_DAYS_MAX: usize = 4;
/// Maximum number of bodies per statement.
pub(crate) const BODIES_MAX: usize = 64;

/// A version of the shared database. After a failover or a restore, lost version numbers are
/// assigned again, and the stamp distinguishes the old and new use of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) identity: String,
    pub(super) version: i64,
    /// Stamp of the commit that made the version; `None` in a database that was filled by a bulk
    /// copy.
    pub(super) stamp: Option<String>,
}

/// Difference between two versions of the shared database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The symbols that have changed.
    Changed(Vec<Symbol>),
    /// The later version does not descend from the earlier version.
    Apart,
}

/// Series and day rows, which contain the version of their blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct FetchedRows {
    pub(super) series: Vec<Cells>,
    pub(super) days: Vec<Cells>,
}

/// All rows of a symbol, except block bodies.
#[derive(Clone, Debug)]
pub(super) struct Fetched {
    pub(super) symbol: Symbol,
    /// Rows of the tables in [`table::SMALL`], in that order.
    pub(super) small: [Vec<Cells>; 4],
    pub(super) rows: FetchedRows,
    /// Blocks of changed series, by series id.
    pub(super) directories: Vec<(i64, Vec<Cells>)>,
    /// Blocks of changed and removed days, by day.
    pub(super) trades: BTreeMap<Box<str>, Vec<Cells>>,
}

impl Origin {
    /// Reads the current version of the shared database.
    pub(super) fn read(far: &Db) -> Result<Origin, StoreError> {
        far.one(sql::STATE, [], |row| {
            Ok(Origin { version: row.get(0)?, stamp: row.get(1)?, identity: row.get(2)? })
        })
    }

    /// Returns the changes from this version to `now`. Must run in the transaction that read `now`.
    pub(super) fn step(&self, far: &Db, now: &Origin) -> Result<Step, StoreError> {
        if self.identity != now.identity || now.version < self.version {
            return Ok(Step::Apart);
        }
        let stamp: Option<Option<String>> = far.first(sql::STAMP, [self.version], |row| row.get(0))?;
        if stamp.flatten() != self.stamp {
            return Ok(Step::Apart);
        }
        let symbols = far.all(sql::TOUCHED, [self.version], |row| {
            let text = row.text(0)?;
            text.parse().map_err(|_| Fault::value("symbol", text))
        });
        Ok(Step::Changed(symbols?))
    }
}

impl Fetched {
    /// Reads a symbol's rows. Skips the blocks of series and days that are in `known` with the same
    /// version.
    pub(super) fn read(far: &Db, symbol: &Symbol, known: &FetchedRows) -> Result<Fetched, StoreError> {
        let key = [Value::Text(symbol.as_str())];
        let mut small: [Vec<Cells>; 4] = Default::default();
        for (table, rows) in table::SMALL.iter().zip(&mut small) {
            *rows = table.rows(far, &key)?;
        }
        let series = table::SERIES.rows(far, &key)?;
        let mut directories = Vec::new();
        for row in &series {
            let Some(id) = row.get(SERIES_ID).and_then(Cell::int) else { continue };
            if !is_known(&known.series, row, SERIES_ID, SERIES_VERSION) {
                directories.push((id, table::BLOCKS.rows(far, &[Value::Int(id)])?));
            }
        }
        let days = table::TRADE_DAYS.rows(far, &key)?;
        let trades = changed_days(far, symbol, &days, known)?;
        let rows = FetchedRows { series, days };
        Ok(Fetched { symbol: symbol.clone(), small, rows, directories, trades })
    }

    /// Returns a symbol without rows, which removes the symbol from the copy.
    pub(super) fn nothing(symbol: &Symbol, known: &FetchedRows) -> Fetched {
        let trades =
            known.days.iter().filter_map(|day| Some((day.get(DAY)?.text()?.into(), Vec::new()))).collect();
        let rows = FetchedRows::default();
        Fetched { symbol: symbol.clone(), small: Default::default(), rows, directories: Vec::new(), trades }
    }

    /// Returns the approximate size of the rows on disk, in bytes.
    pub(super) fn row_bytes(&self) -> u64 {
        let small: usize = self.small.iter().map(Vec::len).sum();
        let blocks = |rows: &[Cells], column: usize| -> u64 {
            let counts = rows.iter().filter_map(|row| row.get(column)?.int());
            counts.filter_map(|count| u64::try_from(count).ok()).map(|count| count.saturating_add(1)).sum()
        };
        let rows =
            small as u64 + blocks(&self.rows.series, SERIES_BLOCKS) + blocks(&self.rows.days, DAY_BLOCKS);
        rows.saturating_mul(ROW_BYTES).saturating_add(SYMBOL_BYTES)
    }
}

/// Returns whether `known` has a row with the same id and version.
fn is_known(known: &[Cells], row: &Cells, id: usize, version: usize) -> bool {
    let same = |other: &&Cells| other.get(id) == row.get(id);
    known.iter().find(same).is_some_and(|other| other.get(version) == row.get(version))
}

fn changed_days(
    far: &Db,
    symbol: &Symbol,
    days: &[Cells],
    known: &FetchedRows,
) -> Result<BTreeMap<Box<str>, Vec<Cells>>, StoreError> {
    let date = |day: &Cells| -> Option<Box<str>> { Some(day.get(DAY)?.text()?.into()) };
    // The map is keyed by date, because a symbol has thousands of days.
    let versions: BTreeMap<&Cell, &Cell> =
        known.days.iter().filter_map(|day| Some((day.get(DAY)?, day.get(DAY_VERSION)?))).collect();
    let is_known = |day: &&Cells| {
        let version = day.get(DAY).and_then(|date| versions.get(date));
        version.is_some() && version.copied() == day.get(DAY_VERSION)
    };
    let mut trades: BTreeMap<Box<str>, Vec<Cells>> =
        days.iter().filter(|day| !is_known(day)).filter_map(date).map(|day| (day, Vec::new())).collect();
    if trades.len() <= SINGLE_DAYS_MAX {
        for (day, rows) in &mut trades {
            let key = [Value::Text(symbol.as_str()), Value::Text(day)];
            *rows = table::TRADE_BLOCKS_OF_DAY.rows(far, &key)?;
        }
    } else {
        for row in table::TRADE_BLOCKS.rows(far, &[Value::Text(symbol.as_str())])? {
            if let Some(rows) = date(&row).and_then(|day| trades.get_mut(&day)) {
                rows.push(row);
            }
        }
    }
    // Blocks of days that no longer exist must be removed from the copy.
    let there: BTreeSet<Box<str>> = days.iter().filter_map(date).collect();
    let gone = known.days.iter().filter_map(date).filter(|day| !there.contains(day));
    trades.extend(gone.map(|day| (day, Vec::new())));
    Ok(trades)
}

/// A body with its block id.
pub(crate) type FoundBody = (i64, Box<[u8]>);

/// Selects the bodies to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Only bodies of current blocks.
    Stored,
    /// Also recently replaced bodies, which an outdated local copy may still refer to.
    Replaced,
}

/// Fetches at most [`BODIES_MAX`] bodies by id. Missing bodies are skipped.
pub(crate) fn bodies(
    far: &Db,
    (of, wanted): (BodyOf, Wanted),
    ids: &[i64],
) -> Result<Vec<FoundBody>, StoreError> {
    let [one, eight, all] = match (of, wanted) {
        (BodyOf::Candles, Wanted::Stored) => {
            [sql::STORED_BODIES_1, sql::STORED_BODIES_8, sql::STORED_BODIES_64]
        }
        (BodyOf::Candles, Wanted::Replaced) => [sql::BODIES_1, sql::BODIES_8, sql::BODIES_64],
        (BodyOf::Trades, Wanted::Stored) => {
            [sql::STORED_TRADE_BODIES_1, sql::STORED_TRADE_BODIES_8, sql::STORED_TRADE_BODIES_64]
        }
        (BodyOf::Trades, Wanted::Replaced) => {
            [sql::TRADE_BODIES_1, sql::TRADE_BODIES_8, sql::TRADE_BODIES_64]
        }
    };
    let Some(last) = ids.last() else { return Ok(Vec::new()) };
    let (count, sql) = match ids.len() {
        1 => (1, one),
        2..=8 => (8, eight),
        _ => (BODIES_MAX, all),
    };
    let ids = ids.iter().chain(std::iter::repeat(last)).take(count);
    let values: Vec<Value<'_>> = ids.map(|id| Value::Int(*id)).collect();
    far.all(sql, values.as_slice(), |row| Ok((row.get(0)?, row.bytes(1)?.into())))
}
