use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use market::{Symbol, Timestamp};

use crate::db::{Db, Fault, natural, small};
use crate::{BlockEntry, Security, Series, SeriesInfo, StoreError, sql};

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
        View { db, blocks_read }
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// Grows with each commit that changed candles, securities or corporate actions.
    pub fn version(&self) -> Result<i64, StoreError> {
        self.db.one(sql::VERSION, [], |row| Ok(row.get(0)?))
    }

    pub fn security(&self, symbol: &Symbol) -> Result<Option<Security>, StoreError> {
        self.db.first(sql::SECURITY, [symbol.as_str()], Security::read)
    }

    /// The decimals of a security's prices: all that an answer of candles needs to know of it.
    pub fn decimals(&self, symbol: &Symbol) -> Result<Option<u32>, StoreError> {
        self.db.first(sql::DECIMALS, [symbol.as_str()], |row| small(row, 0))
    }

    /// Every security, by symbol.
    pub fn securities(&self) -> Result<Vec<Security>, StoreError> {
        self.db.all(sql::SECURITIES, [], Security::read)
    }

    pub fn series(&self, series: &Series) -> Result<Option<SeriesInfo>, StoreError> {
        self.db.first(sql::SERIES, key(series), SeriesInfo::read)
    }

    /// The series of one symbol, in the order of [`Series`].
    pub fn series_of(&self, symbol: &Symbol) -> Result<Vec<SeriesInfo>, StoreError> {
        let mut all = self.db.all(sql::SERIES_OF, [symbol.as_str()], SeriesInfo::read)?;
        all.sort_by(|a, b| a.series.cmp(&b.series));
        Ok(all)
    }

    pub fn all_series(&self) -> Result<Vec<SeriesInfo>, StoreError> {
        let mut all = self.db.all(sql::ALL_SERIES, [], SeriesInfo::read)?;
        all.sort_by(|a, b| a.series.cmp(&b.series));
        Ok(all)
    }

    /// Walks over every series, of which a whole market has some ten thousand.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        self.db.one(sql::TOTALS, [], |row| {
            Ok(Totals {
                series: natural(row, 0)?,
                candles: natural(row, 1)?,
                blocks: natural(row, 2)?,
                bytes: natural(row, 3)?,
            })
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
        match (from, until) {
            (None, None) => self.db.all(sql::BLOCKS_ALL, (symbol, grain, lane), BlockEntry::read),
            (Some(from), None) => {
                self.db.all(sql::BLOCKS_FORWARD, (symbol, grain, lane, from.0), BlockEntry::read)
            }
            (from, Some(until)) => {
                let from = from.map_or(i64::MIN, |from| from.0);
                self.db.all(sql::BLOCKS, (symbol, grain, lane, from, until.0), BlockEntry::read)
            }
        }
    }

    /// The newest blocks that start before `until`, ascending: the one that reaches across `until`, and before it as
    /// many as hold `rows_wanted` rows.
    pub fn blocks_back(
        &self,
        series: &Series,
        until: Timestamp,
        rows_wanted: usize,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let mut gathered = Gathered::new(rows_wanted);
        let (symbol, grain, lane) = key(series);
        self.db.each(sql::BLOCKS_BACK, (symbol, grain, lane, until.0), |row| {
            let entry = BlockEntry::read(row)?;
            Ok(gathered.take(entry, entry.last < until))
        })?;
        gathered.entries.reverse();
        Ok(gathered.entries)
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
        self.db.each(sql::BODIES_BACK, (symbol, grain, lane, until.0), |row| {
            let (entry, decimals) = (BlockEntry::read(row)?, small(row, 5)?);
            self.blocks_read.fetch_add(1, Ordering::Relaxed);
            Ok(each(Body { entry, decimals, bytes: row.get_ref(6)?.as_blob()? }))
        })
    }

    /// The mirror image: the block that reaches across `from`, and from there on as many as hold `rows_wanted` rows.
    pub fn blocks_forward(
        &self,
        series: &Series,
        from: Timestamp,
        rows_wanted: usize,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let mut gathered = Gathered::new(rows_wanted);
        let (symbol, grain, lane) = key(series);
        self.db.each(sql::BLOCKS_FORWARD, (symbol, grain, lane, from.0), |row| {
            let entry = BlockEntry::read(row)?;
            Ok(gathered.take(entry, entry.first >= from))
        })?;
        Ok(gathered.entries)
    }

    /// The bytes of a block, in place of what `bytes` held.
    pub fn block(&self, id: i64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        bytes.clear();
        self.with_block(id, |body| bytes.extend_from_slice(body))
    }

    /// The bytes of a block where they lie, without a copy.
    pub fn with_block<T>(&self, id: i64, read: impl FnOnce(&[u8]) -> T) -> Result<T, StoreError> {
        let mut read = Some(read);
        self.blocks_read.fetch_add(1, Ordering::Relaxed);
        let found = self.db.first(sql::BLOCK, [id], |row| {
            let body = row.get_ref(0)?.as_blob()?;
            Ok(read.take().map(|read| read(body)))
        })?;
        found.flatten().ok_or_else(|| self.db.fail(sql::BLOCK.what)(Fault::Missing))
    }
}

/// A block of a series with its bytes, and the decimals of its prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body<'a> {
    pub entry: BlockEntry,
    pub decimals: u32,
    pub bytes: &'a [u8],
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

fn key(series: &Series) -> (&str, &'static str, &'static str) {
    (series.symbol.as_str(), series.grain.as_str(), series.lane.as_str())
}
