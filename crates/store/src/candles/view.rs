use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use market::{Symbol, Timestamp};

use crate::candles::chain::{Back, Forward, LinkedEntry};
use crate::candles::sql;
use crate::count::{natural, small};
use crate::engine::{Db, Fault, Row, Sql};
use crate::{BlockEntry, Security, Series, SeriesInfo, StoreError};

/// Versions in an era. A commit raises the version by one, a restore goes to the beginning of the next era: within an era, what is
/// kept under the id of a block stays true.
pub const ERA_VERSIONS: i64 = 1 << 40;

/// The era of a version.
pub fn era(version: i64) -> i64 {
    version / ERA_VERSIONS
}

/// Every question the store answers, about one state of it. A [`Snapshot`](crate::Snapshot) is a view that stays the
/// same while others write; a [`Batch`](crate::Batch) is one that sees its own changes.
#[derive(Debug)]
pub struct View {
    db: Db,
    blocks_read: Arc<AtomicU64>,
    securities_complete: Complete,
    pub(crate) margins_complete: Complete,
}

/// A table that single rows are looked up in, and the version at which every row of it was found to be there.
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

/// All series of a store together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub series: u64,
    /// Candles as they are stored, those rolled up from others included.
    pub candles: u64,
    pub blocks: u64,
    /// Of the blocks.
    pub bytes: u64,
}

impl View {
    pub(crate) fn new(db: Db, blocks_read: Arc<AtomicU64>) -> View {
        View {
            db,
            blocks_read,
            securities_complete: Complete::unknown("security", sql::COUNT_SECURITIES),
            margins_complete: Complete::unknown("margin", sql::COUNT_MARGINS),
        }
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// Grows with each commit that changed candles, securities, corporate actions or margin factors.
    pub fn version(&self) -> Result<i64, StoreError> {
        self.db.one(sql::VERSION, [], |row| row.get(0))
    }

    pub fn security(&self, symbol: &Symbol) -> Result<Option<Security>, StoreError> {
        self.known(|db| db.first(sql::SECURITY, [symbol.as_str()], Security::read))
    }

    /// The decimals of a security's prices: all that an answer of candles needs to know of it.
    pub fn decimals(&self, symbol: &Symbol) -> Result<Option<u32>, StoreError> {
        self.known(|db| db.first(sql::DECIMALS, [symbol.as_str()], |row| small(row, 0)))
    }

    /// Every security, by symbol.
    pub fn securities(&self) -> Result<Vec<Security>, StoreError> {
        self.steady(|| {
            let all = self.db.all(sql::SECURITIES, [], Security::read)?;
            let ascends =
                all.iter().zip(all.iter().skip(1)).all(|(a, b)| a.symbol.as_str() < b.symbol.as_str());
            self.complete(sql::SECURITIES, "security", all.len(), ascends)?;
            Ok(all)
        })
    }

    pub fn series(&self, series: &Series) -> Result<Option<SeriesInfo>, StoreError> {
        self.steady(|| match self.db.first(sql::SERIES, key(series), SeriesInfo::read)? {
            Some(found) => Ok(Some(found)),
            None => self.no_such_series(series).map(|()| None),
        })
    }

    /// The series of one symbol, in the order of [`Series`].
    pub fn series_of(&self, symbol: &Symbol) -> Result<Vec<SeriesInfo>, StoreError> {
        self.steady(|| {
            let mut all = self.db.all(sql::SERIES_OF, [symbol.as_str()], SeriesInfo::read)?;
            all.sort_by(|a, b| a.series.cmp(&b.series));
            all.dedup_by(|a, b| a.series == b.series);
            let counted = self.counts(symbol)?.map_or(0, |(series, _)| series);
            self.agree(sql::SERIES_OF, all.len() as u64 == counted)?;
            Ok(all)
        })
    }

    pub fn all_series(&self) -> Result<Vec<SeriesInfo>, StoreError> {
        self.steady(|| {
            let mut all = self.db.all(sql::ALL_SERIES, [], SeriesInfo::read)?;
            all.sort_by(|a, b| a.series.cmp(&b.series));
            let ascends = all.iter().zip(all.iter().skip(1)).all(|(a, b)| a.series < b.series);
            self.complete(sql::ALL_SERIES, "series", all.len(), ascends)?;
            Ok(all)
        })
    }

    /// How many series and corporate actions a security has; nothing for one that is not there.
    pub(crate) fn counts(&self, symbol: &Symbol) -> Result<Option<(u64, u64)>, StoreError> {
        self.known(|db| {
            db.first(sql::SECURITY_COUNTS, [symbol.as_str()], |row| Ok((natural(row, 0)?, natural(row, 1)?)))
        })
    }

    /// Runs several statements that must see the same state.
    pub(crate) fn steady<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.db.in_transaction() {
            return work();
        }
        self.db.begin_read()?;
        let done = work();
        self.db.commit().ok();
        done
    }

    /// Damage, unless something that is said in two places is the same in both.
    pub(crate) fn agree(&self, sql: Sql, same: bool) -> Result<(), StoreError> {
        if same { Ok(()) } else { Err(self.db.fail(sql.what)(Fault::Missing)) }
    }

    pub(crate) fn complete(
        &self,
        sql: Sql,
        table: &str,
        found: usize,
        ascends: bool,
    ) -> Result<(), StoreError> {
        if !self.db.counts_rows() {
            return Ok(());
        }
        let written = self.db.one(sql::ROWS_WRITTEN, [table], |row| natural(row, 0))?;
        self.agree(sql, ascends && written == found as u64)
    }

    /// What `find` finds of a security.
    pub(crate) fn known<T>(
        &self,
        find: impl Fn(&Db) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.found_in(&self.securities_complete, find)
    }

    /// What `find` finds in a table. If that is nothing, the row was never there, or the way to it is damaged: the latter is
    /// seen by going through the whole table, once for each version of the store.
    pub(crate) fn found_in<T>(
        &self,
        complete: &Complete,
        find: impl Fn(&Db) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        if let Some(found) = find(&self.db)? {
            return Ok(Some(found));
        }
        if !self.db.counts_rows() {
            return Ok(None);
        }
        self.steady(|| {
            let version = Some(self.version()?);
            if complete.at.get() != version {
                let count = self.db.one(complete.count, [], |row| natural(row, 0))?;
                let written = self.db.one(sql::ROWS_WRITTEN, [complete.table], |row| natural(row, 0))?;
                self.agree(complete.count, count == written)?;
                complete.at.set(version);
            }
            // Another process may have added it meanwhile.
            find(&self.db)
        })
    }

    /// To be called when a series was not found: whether its security says so too.
    pub(crate) fn no_such_series(&self, series: &Series) -> Result<(), StoreError> {
        let all = self.series_of(&series.symbol)?;
        self.agree(sql::SERIES, all.iter().all(|info| info.series != *series))
    }

    /// To be called when no block was found that begins before `until`: whether there is none.
    fn no_blocks(&self, series: &Series, until: Option<Timestamp>) -> Result<(), StoreError> {
        let info = self.series(series)?;
        let begins_before = info.is_some_and(|info| until.is_none_or(|until| info.first < until));
        self.agree(sql::BLOCKS, !begins_before)
    }

    /// Walks over every series, of which a whole market has some ten thousand.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        self.steady(|| {
            let totals = self.db.one(sql::TOTALS, [], |row| {
                Ok(Totals {
                    series: natural(row, 0)?,
                    candles: natural(row, 1)?,
                    blocks: natural(row, 2)?,
                    bytes: natural(row, 3)?,
                })
            })?;
            if self.db.counts_rows() {
                let written = self.db.one(sql::ROWS_WRITTEN, ["series"], |row| natural(row, 0))?;
                self.agree(sql::TOTALS, totals.series == written)?;
            }
            Ok(totals)
        })
    }

    /// The blocks that hold a stamp of the half-open window, ascending.
    pub fn blocks(
        &self,
        series: &Series,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let (symbol, grain, lane) = key(series);
        // Nothing lies in it, and nothing could be said about what does not.
        if from.zip(until).is_some_and(|(from, until)| from >= until) {
            return Ok(Vec::new());
        }
        self.steady(|| {
            let (sql, chain) = (sql::BLOCKS, Forward::new(from, until));
            let mut walk = Walk { chain, from, entries: Vec::new() };
            match (from, until) {
                (None, None) => {
                    self.db.each(sql::BLOCKS_ALL, (symbol, grain, lane), |row| walk.take(row))?;
                }
                (Some(from), None) => {
                    let params = (symbol, grain, lane, from.0);
                    self.db.each(sql::BLOCKS_FORWARD, params, |row| walk.take(row))?;
                }
                (from, Some(until)) => {
                    let from = from.map_or(i64::MIN, |from| from.0);
                    self.db.each(sql, (symbol, grain, lane, from, until.0), |row| walk.take(row))?;
                }
            }
            if !walk.chain.end().map_err(self.db.fail(sql.what))? {
                self.no_blocks(series, until)?;
            }
            Ok(walk.entries)
        })
    }

    /// The newest blocks that start before `until`, ascending: the one that reaches across `until`, and before it as
    /// many as hold `rows_wanted` rows.
    pub fn blocks_back(
        &self,
        series: &Series,
        until: Timestamp,
        rows_wanted: usize,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let (mut chain, mut gathered) = (Back::new(until), Gathered::new(rows_wanted));
        let (symbol, grain, lane) = key(series);
        self.steady(|| {
            let mut flow = ControlFlow::Continue(());
            self.db.each(sql::BLOCKS_BACK, (symbol, grain, lane, until.0), |row| {
                let linked = LinkedEntry::read(row)?;
                chain.step(linked)?;
                flow = gathered.take(linked.entry, linked.entry.last < until);
                Ok(flow)
            })?;
            if flow.is_continue() && !chain.end().map_err(self.db.fail(sql::BLOCKS_BACK.what))? {
                self.no_blocks(series, Some(until))?;
            }
            gathered.entries.reverse();
            Ok(gathered.entries)
        })
    }

    /// Hands on the blocks that start before `until`, newest first, each with its bytes where they lie and the decimals of
    /// the security, until `each` breaks off. One statement for all of it: half of what a small question costs is in the
    /// number of its statements.
    pub fn bodies_back(
        &self,
        series: &Series,
        until: Timestamp,
        mut each: impl FnMut(Body<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let (symbol, grain, lane) = key(series);
        let (mut chain, mut flow) = (Back::new(until), ControlFlow::Continue(()));
        self.db.each(sql::BODIES_BACK, (symbol, grain, lane, until.0), |row| {
            let (linked, decimals) = (LinkedEntry::read(row)?, small(row, 9)?);
            chain.step(linked)?;
            self.blocks_read.fetch_add(1, Ordering::Relaxed);
            let bytes = row.bytes_or_null(10)?;
            let bytes = bytes.filter(|bytes| linked.entry.fits(bytes)).ok_or(Fault::Missing)?;
            flow = each(Body { entry: linked.entry, decimals, bytes });
            Ok(flow)
        })?;
        // Without a transaction the next statement may see another state; if this finds nothing, it is tried again in one.
        let ended = flow.is_continue() && !chain.end().map_err(self.db.fail(sql::BODIES_BACK.what))?;
        if ended && self.db.in_transaction() { self.no_blocks(series, Some(until)) } else { Ok(()) }
    }

    /// The mirror image: the block that reaches across `from`, and from there on as many as hold `rows_wanted` rows.
    pub fn blocks_forward(
        &self,
        series: &Series,
        from: Timestamp,
        rows_wanted: usize,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let (mut chain, mut gathered) = (Forward::new(Some(from), None), Gathered::new(rows_wanted));
        let (symbol, grain, lane) = key(series);
        self.steady(|| {
            let mut flow = ControlFlow::Continue(());
            self.db.each(sql::BLOCKS_FORWARD, (symbol, grain, lane, from.0), |row| {
                let linked = LinkedEntry::read(row)?;
                chain.step(linked)?;
                if linked.entry.last >= from {
                    flow = gathered.take(linked.entry, linked.entry.first >= from);
                }
                Ok(flow)
            })?;
            if flow.is_continue() && !chain.end().map_err(self.db.fail(sql::BLOCKS_FORWARD.what))? {
                self.no_blocks(series, None)?;
            }
            Ok(gathered.entries)
        })
    }

    /// The bytes of a block, in place of what `bytes` held.
    pub fn block(&self, entry: &BlockEntry, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        bytes.clear();
        self.with_block(entry, |body| bytes.extend_from_slice(body))
    }

    /// The bytes of a block where they lie, without a copy.
    pub fn with_block<T>(&self, entry: &BlockEntry, read: impl FnOnce(&[u8]) -> T) -> Result<T, StoreError> {
        let read = self.with_body(entry.id, |body| entry.fits(body).then(|| read(body)))?;
        read.flatten().ok_or_else(|| self.db.fail(sql::BLOCK.what)(Fault::Missing))
    }

    /// The body of a block, unchecked, if there is one.
    pub(crate) fn with_body<T>(
        &self,
        id: i64,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, StoreError> {
        let mut read = Some(read);
        self.blocks_read.fetch_add(1, Ordering::Relaxed);
        let found = self.db.first(sql::BLOCK, [id], |row| {
            let body = row.bytes(0)?;
            Ok(read.take().map(|read| read(body)))
        })?;
        Ok(found.flatten())
    }
}

/// A block of a series with its bytes, and the decimals of its prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body<'a> {
    pub entry: BlockEntry,
    pub decimals: u32,
    pub bytes: &'a [u8],
}

/// The blocks of a window.
struct Walk {
    chain: Forward,
    from: Option<Timestamp>,
    entries: Vec<BlockEntry>,
}

impl Walk {
    fn take(&mut self, row: &Row<'_>) -> Result<ControlFlow<()>, Fault> {
        let linked = LinkedEntry::read(row)?;
        self.chain.step(linked)?;
        // The one before the window came for the sake of its link.
        if self.from.is_none_or(|from| linked.entry.last >= from) {
            self.entries.push(linked.entry);
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Blocks on the way from a point in time. Only those wholly beyond the point count towards the wanted rows: how many
/// rows of the one across it are on the right side is not known here.
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
        // Blocks do not overlap: behind one that is beyond the point, all are.
        if beyond && self.missing == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

pub(crate) fn key(series: &Series) -> (&str, &'static str, &'static str) {
    (series.symbol.as_str(), series.grain.as_str(), series.lane.as_str())
}
