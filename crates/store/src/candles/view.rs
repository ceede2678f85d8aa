use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use market::{Symbol, Timestamp};

use crate::candles::ahead::Ahead;
use crate::candles::block::{Back, BlockEntry, Forward, LinkedEntry};
use crate::candles::copy::{BodyOf, LocalCopy};
use crate::candles::nearby::{Nearby, Side};
use crate::candles::security::Security;
use crate::candles::series::{Series, SeriesInfo};
use crate::candles::{ingest_file, sql};
use crate::engine::{Db, Fault, Role, Row, Sql, StoreError, natural, small};

/// Maximum number of attempts if the local copy changes during a query.
pub(super) const TRIES: usize = 3;

/// All queries of the store. A [`Snapshot`](crate::Snapshot) is a view of a fixed state; a
/// [`Batch`](crate::Batch) is a view that sees its own changes.
///
/// On a node with a local copy, queries for one symbol use the copy if it has the symbol, and lists
/// over all symbols use the shared database. The copy is at most two seconds behind the shared
/// database.
#[derive(Debug)]
pub struct View {
    db: Db,
    /// A node's local copy; `None` if the process is not a node.
    near: Option<Nearby>,
    /// The log of ingested batches with its key, if it is a separate file and was read.
    ingest_log: RefCell<Option<(i64, Db)>>,
    /// Prefetched bodies; `None` if the only database is a local file.
    pub(super) ahead: Option<Ahead>,
    blocks_read: Arc<AtomicU64>,
    securities_complete: Complete,
    pub(crate) margins_complete: Complete,
}

/// A table for single-row lookups, with the version at which it was verified to be complete.
#[derive(Debug)]
pub(crate) struct Complete {
    table: &'static str,
    count: Sql,
    at: Cell<Option<i64>>,
}

impl Complete {
    fn unknown(table: &'static str, count: Sql) -> Complete {
        Complete { table, count, at: Cell::new(None) }
    }
}

/// Totals over all series of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub series: u64,
    /// Number of stored candles, including candles that were rolled up from shorter periods.
    pub candles: u64,
    pub blocks: u64,
    /// Total size of the blocks, in bytes.
    pub bytes: u64,
}

impl View {
    pub(crate) fn new(db: Db, blocks_read: Arc<AtomicU64>) -> View {
        let ahead = db.is_remote().then(Ahead::default);
        View {
            db,
            near: None,
            ingest_log: RefCell::default(),
            ahead,
            blocks_read,
            securities_complete: Complete::unknown("security", sql::COUNT_SECURITIES),
            margins_complete: Complete::unknown("margin", sql::COUNT_MARGINS),
        }
    }

    /// Adds a node's local copy to the view.
    pub(crate) fn with_copy(self, copy: Arc<LocalCopy>) -> View {
        View { near: Some(Nearby::new(copy)), ahead: Some(Ahead::default()), ..self }
    }

    /// Returns the database that the current query uses.
    pub(crate) fn db(&self) -> &Db {
        self.near.as_ref().and_then(Nearby::active_db).unwrap_or(&self.db)
    }

    /// Returns the shared database, or the only database if there is no local copy.
    pub(super) fn far(&self) -> &Db {
        &self.db
    }

    /// Runs a query on the database with the log of ingested batches. The log is reopened if
    /// another file has replaced it.
    pub(super) fn ask_ingest_log<T>(
        &self,
        ask: impl FnOnce(&Db) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let key = ingest_file::key(self.far())?;
        let log = match (key, self.ingest_log.take()) {
            (Some(key), Some((opened, log))) if opened == key => Some((key, log)),
            (Some(key), _) => ingest_file::open(self.far(), Role::Reader)?.map(|log| (key, log)),
            (None, _) => None,
        };
        let answer = ask(log.as_ref().map_or(self.far(), |(_, log)| log));
        self.ingest_log.replace(log);
        answer
    }

    pub(super) fn count_block(&self) {
        self.blocks_read.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn near(&self) -> Option<&Nearby> {
        self.near.as_ref()
    }

    pub(crate) fn near_mut(&mut self) -> Option<&mut Nearby> {
        self.near.as_mut()
    }

    /// Runs a query for one symbol, on the local copy if it has the symbol. Repeats the query if
    /// the copy changed while the query ran.
    pub(crate) fn about<T>(
        &self,
        symbol: &Symbol,
        ask: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(near) = self.near.as_ref().filter(|near| near.active_side().is_none()) else { return ask() };
        if let Some(snapshot) = near.snapshot() {
            let side = near.side_in_snapshot(symbol, snapshot)?;
            return near.ask(side, ask).inspect_err(|error| near.note(error));
        }
        for _ in 0..TRIES {
            let Some(mark) = near.mark(symbol) else { break };
            match near.ask(Side::Near, &ask) {
                Err(error) if near.is_to_blame(&error) => break,
                answer if near.is_still(symbol, mark) => {
                    near.copy().count_hit();
                    return answer;
                }
                _ => {}
            }
        }
        self.ask_far(near, symbol, ask)
    }

    /// Runs a query for a symbol on the shared database, and queues the symbol to be fetched for
    /// later queries.
    fn ask_far<T>(
        &self,
        near: &Nearby,
        symbol: &Symbol,
        ask: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        near.copy().count_miss();
        near.ask(Side::Far, || {
            let answer = ask()?;
            // The recorded version may be newer than the version that was read, which is harmless.
            near.copy().saw(symbol, self.version()?);
            Ok(answer)
        })
    }

    /// Returns a number that increases with each commit that changes candles, securities, corporate
    /// actions or margin factors. On a node this is the version of the local copy, or of the open
    /// snapshot.
    pub fn version(&self) -> Result<i64, StoreError> {
        let read = |db: &Db| db.one(sql::VERSION, [], |row| row.get(0));
        let Some(near) = self.near.as_ref().filter(|near| near.active_side().is_none()) else {
            return read(self.db());
        };
        match near.snapshot() {
            Some(side) => near.ask(side, || read(self.db())),
            None => Ok(near.copy().version()),
        }
    }

    /// Reports corrupt bytes in a block. On a node, the symbol is then fetched again into the local
    /// copy.
    pub fn doubt(&self, symbol: &Symbol) {
        if let Some(near) = &self.near {
            near.copy().doubt(symbol);
        }
    }

    pub fn security(&self, symbol: &Symbol) -> Result<Option<Security>, StoreError> {
        self.about(symbol, || self.known(|db| db.first(sql::SECURITY, [symbol.as_str()], Security::read)))
    }

    /// Returns the price decimals of a security, or `None` if the security does not exist. A candle
    /// response needs no other field.
    pub fn decimals(&self, symbol: &Symbol) -> Result<Option<u32>, StoreError> {
        let find = |db: &Db| db.first(sql::DECIMALS, [symbol.as_str()], |row| small(row, 0));
        self.about(symbol, || self.known(find))
    }

    /// Returns all securities, ordered by symbol.
    pub fn securities(&self) -> Result<Vec<Security>, StoreError> {
        self.steady(|| {
            let all = self.db().all(sql::SECURITIES, [], Security::read)?;
            let ascends =
                all.iter().zip(all.iter().skip(1)).all(|(a, b)| a.symbol.as_str() < b.symbol.as_str());
            self.complete(sql::SECURITIES, "security", all.len(), ascends)?;
            Ok(all)
        })
    }

    pub fn series(&self, series: &Series) -> Result<Option<SeriesInfo>, StoreError> {
        self.steadily_about(&series.symbol, || {
            match self.db().first(sql::SERIES, key(series), SeriesInfo::read)? {
                Some(found) => Ok(Some(found)),
                None => self.no_such_series(series).map(|()| None),
            }
        })
    }

    /// Returns the series of one symbol, in the order of [`Series`].
    pub fn series_of(&self, symbol: &Symbol) -> Result<Vec<SeriesInfo>, StoreError> {
        self.steadily_about(symbol, || {
            let mut all = self.db().all(sql::SERIES_OF, [symbol.as_str()], SeriesInfo::read)?;
            all.sort_by(|a, b| a.series.cmp(&b.series));
            all.dedup_by(|a, b| a.series == b.series);
            let counted = self.counts(symbol)?.map_or(0, |(series, _)| series);
            self.agree(sql::SERIES_OF, all.len() as u64 == counted)?;
            Ok(all)
        })
    }

    pub fn all_series(&self) -> Result<Vec<SeriesInfo>, StoreError> {
        self.steady(|| {
            let mut all = self.db().all(sql::ALL_SERIES, [], SeriesInfo::read)?;
            all.sort_by(|a, b| a.series.cmp(&b.series));
            let ascends = all.iter().zip(all.iter().skip(1)).all(|(a, b)| a.series < b.series);
            self.complete(sql::ALL_SERIES, "series", all.len(), ascends)?;
            Ok(all)
        })
    }

    /// Returns the number of series and corporate actions of a security, or `None` if the security
    /// does not exist.
    pub(crate) fn counts(&self, symbol: &Symbol) -> Result<Option<(u64, u64)>, StoreError> {
        self.known(|db| {
            db.first(sql::SECURITY_COUNTS, [symbol.as_str()], |row| Ok((natural(row, 0)?, natural(row, 1)?)))
        })
    }

    /// Runs a query for one symbol with several statements that must see the same state.
    pub(crate) fn steadily_about<T>(
        &self,
        symbol: &Symbol,
        ask: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.about(symbol, || self.steady(&ask))
    }

    /// Runs several statements that must see the same state.
    pub(crate) fn steady<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.db().in_transaction() {
            return work();
        }
        self.db().begin_read()?;
        let done = work();
        self.db().commit().ok();
        done
    }

    /// Returns a damage error unless `same`, which is the result of comparing redundant data.
    pub(crate) fn agree(&self, sql: Sql, same: bool) -> Result<(), StoreError> {
        if same { Ok(()) } else { Err(self.db().fail(sql.what)(Fault::Missing)) }
    }

    pub(crate) fn complete(
        &self,
        sql: Sql,
        table: &str,
        found: usize,
        ascends: bool,
    ) -> Result<(), StoreError> {
        if !self.db().counts_rows() {
            return Ok(());
        }
        let written = self.db().one(sql::ROWS_WRITTEN, [table], |row| natural(row, 0))?;
        self.agree(sql, ascends && written == found as u64)
    }

    /// Looks up a security with `find`.
    pub(crate) fn known<T>(
        &self,
        find: impl Fn(&Db) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.found_in(&self.securities_complete, find)
    }

    /// Looks up a row with `find`. A missing row may be caused by a damaged index, so if no row is
    /// found, the rows of the whole table are counted, once per version of the store.
    pub(crate) fn found_in<T>(
        &self,
        complete: &Complete,
        find: impl Fn(&Db) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        if let Some(found) = find(self.db())? {
            return Ok(Some(found));
        }
        if !self.db().counts_rows() {
            return Ok(None);
        }
        self.steady(|| {
            let version = Some(self.version()?);
            if complete.at.get() != version {
                let count = self.db().one(complete.count, [], |row| natural(row, 0))?;
                let written = self.db().one(sql::ROWS_WRITTEN, [complete.table], |row| natural(row, 0))?;
                self.agree(complete.count, count == written)?;
                complete.at.set(version);
            }
            // Another process may have added the row in the meantime.
            find(self.db())
        })
    }

    /// Verifies that a series that was not found is also absent from its symbol's list of series.
    pub(crate) fn no_such_series(&self, series: &Series) -> Result<(), StoreError> {
        let all = self.series_of(&series.symbol)?;
        self.agree(sql::SERIES, all.iter().all(|info| info.series != *series))
    }

    /// Verifies that a series has no block that begins before `until`. Called when no such block
    /// was found.
    pub(super) fn no_blocks(&self, series: &Series, until: Option<Timestamp>) -> Result<(), StoreError> {
        let info = self.series(series)?;
        let begins_before = info.is_some_and(|info| until.is_none_or(|until| info.first < until));
        self.agree(sql::BLOCKS, !begins_before)
    }

    /// Returns totals over all series. Scans all series, of which a whole market has about ten
    /// thousand.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        self.steady(|| {
            let totals = self.db().one(sql::TOTALS, [], |row| {
                Ok(Totals {
                    series: natural(row, 0)?,
                    candles: natural(row, 1)?,
                    blocks: natural(row, 2)?,
                    bytes: natural(row, 3)?,
                })
            })?;
            if self.db().counts_rows() {
                let written = self.db().one(sql::ROWS_WRITTEN, ["series"], |row| natural(row, 0))?;
                self.agree(sql::TOTALS, totals.series == written)?;
            }
            Ok(totals)
        })
    }

    /// Returns the blocks that overlap the half-open range `from..until`, in ascending order.
    pub fn blocks(
        &self,
        series: &Series,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let (symbol, grain, lane) = key(series);
        // An empty range has no blocks, and a directory scan for it could not be verified.
        if from.zip(until).is_some_and(|(from, until)| from >= until) {
            return Ok(Vec::new());
        }
        let entries = self.steadily_about(&series.symbol, || {
            let (sql, chain) = (sql::BLOCKS, Forward::new(from, until));
            let mut walk = Walk { chain, from, entries: Vec::new() };
            match (from, until) {
                (None, None) => {
                    self.db().each(sql::BLOCKS_ALL, (symbol, grain, lane), |row| walk.take(row))?;
                }
                (Some(from), None) => {
                    let params = (symbol, grain, lane, from.0);
                    self.db().each(sql::BLOCKS_FORWARD, params, |row| walk.take(row))?;
                }
                (from, Some(until)) => {
                    let from = from.map_or(i64::MIN, |from| from.0);
                    self.db().each(sql, (symbol, grain, lane, from, until.0), |row| walk.take(row))?;
                }
            }
            if !walk.chain.end().map_err(self.db().fail(sql.what))? {
                self.no_blocks(series, until)?;
            }
            Ok(walk.entries)
        })?;
        // After listing a whole directory, callers read only a few blocks.
        self.expect(BodyOf::Candles, if from.or(until).is_some() { &entries } else { &[] });
        Ok(entries)
    }

    /// Returns the newest blocks that start before `until`, in ascending order: the block that
    /// spans `until`, and as many earlier blocks as needed for `rows_wanted` rows.
    pub fn blocks_back(
        &self,
        series: &Series,
        until: Timestamp,
        rows_wanted: usize,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let (symbol, grain, lane) = key(series);
        let entries = self.steadily_about(&series.symbol, || {
            let (mut chain, mut gathered) = (Back::new(until), Gathered::new(rows_wanted));
            let mut flow = ControlFlow::Continue(());
            self.db().each(sql::BLOCKS_BACK, (symbol, grain, lane, until.0), |row| {
                let linked = LinkedEntry::read(row)?;
                chain.step(linked)?;
                flow = gathered.take(linked.entry, linked.entry.last < until);
                Ok(flow)
            })?;
            if flow.is_continue() && !chain.end().map_err(self.db().fail(sql::BLOCKS_BACK.what))? {
                self.no_blocks(series, Some(until))?;
            }
            gathered.entries.reverse();
            Ok(gathered.entries)
        })?;
        self.expect(BodyOf::Candles, &entries);
        Ok(entries)
    }

    /// Returns blocks starting at `from`, in ascending order: the block that spans `from`, and as
    /// many later blocks as needed for `rows_wanted` rows.
    pub fn blocks_forward(
        &self,
        series: &Series,
        from: Timestamp,
        rows_wanted: usize,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let (symbol, grain, lane) = key(series);
        let entries = self.steadily_about(&series.symbol, || {
            let (mut chain, mut gathered) = (Forward::new(Some(from), None), Gathered::new(rows_wanted));
            let mut flow = ControlFlow::Continue(());
            self.db().each(sql::BLOCKS_FORWARD, (symbol, grain, lane, from.0), |row| {
                let linked = LinkedEntry::read(row)?;
                chain.step(linked)?;
                if linked.entry.last >= from {
                    flow = gathered.take(linked.entry, linked.entry.first >= from);
                }
                Ok(flow)
            })?;
            if flow.is_continue() && !chain.end().map_err(self.db().fail(sql::BLOCKS_FORWARD.what))? {
                self.no_blocks(series, None)?;
            }
            Ok(gathered.entries)
        })?;
        self.expect(BodyOf::Candles, &entries);
        Ok(entries)
    }
}

/// Collects the blocks of a time range.
struct Walk {
    chain: Forward,
    from: Option<Timestamp>,
    entries: Vec<BlockEntry>,
}

impl Walk {
    fn take(&mut self, row: &Row<'_>) -> Result<ControlFlow<()>, Fault> {
        let linked = LinkedEntry::read(row)?;
        self.chain.step(linked)?;
        // The block before the range was read only for its link.
        if self.from.is_none_or(|from| linked.entry.last >= from) {
            self.entries.push(linked.entry);
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Blocks collected in one direction from a point in time. Rows of the block that spans the point
/// are not counted, because the number of rows on the wanted side of the point is unknown.
struct Gathered {
    entries: Vec<BlockEntry>,
    missing: usize,
}

impl Gathered {
    fn new(rows_wanted: usize) -> Gathered {
        Gathered { entries: Vec::new(), missing: rows_wanted }
    }

    fn take(&mut self, entry: BlockEntry, beyond: bool) -> ControlFlow<()> {
        if beyond {
            if self.missing == 0 {
                return ControlFlow::Break(());
            }
            self.missing = self.missing.saturating_sub(usize::try_from(entry.rows).unwrap_or(usize::MAX));
        }
        self.entries.push(entry);
        // Blocks do not overlap, so all following blocks are also beyond the point.
        if beyond && self.missing == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

pub(crate) fn key(series: &Series) -> (&str, &'static str, &'static str) {
    (series.symbol.as_str(), series.grain.as_str(), series.lane.as_str())
}
