//! Page cache: stored candles in encoded form, by page.
//!
//! A plain query (one stored series, not folded, not adjusted) selects a contiguous run of stored
//! candles, so its answer can be sliced from pages that were encoded earlier. Blocks are immutable
//! and their ids are not reused while the store is open, so an encoded page never becomes stale.
//! Only the block directories of series change; they carry the store version at which they were
//! read. The caller defines the encoding, so this file does not depend on a protocol.
//!
//! For an answer of a thousand candles, misses in the processor caches cost as much as
//! instructions. Pages are therefore cached per block, which takes one lookup instead of five. For
//! a page that lies wholly within the answer (all but the first and the last) the stamps are not
//! read: the block's page spans are sufficient.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, RwLock};

use block::{Block, PAGE_ROWS};
use market::{Candles, Grain, Timestamp};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use store::{BlockEntry, Reader, Series, Snapshot};

use crate::HistoryError;
use crate::as_of::{AsOf, Edge, Prefer};
use crate::edge::Sources;
use crate::plan::{Plan, Take};
use crate::read::History;
use crate::roll_ups::missing_from;

/// Encoded form of a page. Clones must be cheap and share their data.
pub trait Encoded: Clone + Send + Sync + 'static {
    /// A range of the page's rows, as part of an answer.
    type Piece;

    fn encode(candles: &Candles, rows: Range<usize>, decimals: u32) -> Self;
    fn bytes(&self) -> usize;
    fn piece(&self, rows: Range<usize>) -> Self::Piece;
}

/// Cache of encoded pages, limited by bytes. The pages of a block are cached and evicted together,
/// by the S3-FIFO policy of `quick_cache`.
pub struct PageCache<E> {
    blocks: Cache<BlockKey, Arc<CachedBlock<E>>, Weight>,
    directories: RwLock<HashMap<Series, Arc<Directory>>>,
    is_off: bool,
}

/// Size of a page cache, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCacheLoad {
    pub bytes: u64,
    pub bytes_max: u64,
    pub pages: usize,
}

/// An answer, sliced from pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices<P> {
    /// Slices in ascending order of time.
    pub pieces: Vec<P>,
    /// Total number of candles.
    pub rows: usize,
}

/// Block id, and the decimals of its prices.
type BlockKey = (i64, u32);

/// Cached pages of one block. Immutable once cached, because the weight of a cache entry must not
/// change: adding a page replaces the entry.
#[derive(Clone, Debug)]
struct CachedBlock<E> {
    spans: Arc<[Span]>,
    /// One entry per span; `None` if the page is not encoded yet.
    pages: Box<[Option<Page<E>>]>,
    bytes: usize,
}

/// First stamp, upper bound of the last stamp, and number of rows of a page.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: i64,
    end: i64,
    rows: usize,
}

/// One encoded page, with the stamps of its candles.
#[derive(Clone, Debug)]
struct Page<E> {
    times: Arc<[i64]>,
    encoded: E,
}

/// Blocks of a series at one version of the store.
#[derive(Debug)]
struct Directory {
    version: i64,
    decimals: u32,
    entries: Vec<BlockEntry>,
    /// Whether coarse candles may exist, so that this series alone is not the complete answer.
    has_own: bool,
    /// Whether single trades are stored, whose folds a replay may show.
    has_trades: bool,
    /// The first minute that has trades and no candle, if all trades are visible.
    traded_from: Option<Timestamp>,
    /// A stamp before which no roll-up is missing; `None` if none is missing.
    missing_from: Option<Timestamp>,
}

/// Maximum number of cached directories; all are dropped when the limit is reached. A store of a
/// whole market has more series than clients request.
const DIRECTORIES_MAX: usize = 65_536;
/// Estimated overhead of a block and its key, in bytes.
const OVERHEAD: usize = 256;
/// Estimated size of a block with some cached pages, in bytes. Each shard of the cache has room for
/// at least 32 such blocks, unless the whole cache is smaller, so that even the largest block
/// (8,192 daily candles) fits into any shard.
const BLOCK_BYTES: usize = 128 << 10;

#[derive(Clone, Copy, Debug)]
struct Weight;

impl<E> Weighter<BlockKey, Arc<CachedBlock<E>>> for Weight {
    fn weight(&self, _: &BlockKey, block: &Arc<CachedBlock<E>>) -> u64 {
        block.bytes as u64
    }
}

impl<E> fmt::Debug for PageCache<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache").finish_non_exhaustive()
    }
}

impl<E: Encoded> PageCache<E> {
    /// Creates a cache of at most `bytes` bytes. Zero disables caching.
    pub fn new(bytes: usize) -> PageCache<E> {
        PageCache {
            blocks: Cache::with_weighter((bytes / BLOCK_BYTES).max(16), bytes as u64, Weight),
            directories: RwLock::new(HashMap::new()),
            is_off: bytes == 0,
        }
    }

    /// Answers a plan from encoded pages. Returns `None` if the plan is not plain, or if there are
    /// no candles. Reads, decodes and encodes missing pages, and folds one-minute candles at an
    /// edge, all within one snapshot. The query must not be adjusted, which the plan does not show.
    pub fn slices(
        &self,
        reader: &mut Reader,
        history: &History,
        plan: &Plan,
        as_of: AsOf,
    ) -> Result<Option<Slices<E::Piece>>, HistoryError> {
        let Some(series) = plan.stored() else { return Ok(None) };
        let snapshot = reader.snapshot_of(&series.symbol)?;
        let known = self.known(series, snapshot.version()?);
        let directory = match known {
            Some(known) => Some(known),
            None => self.read(&snapshot, history, series)?,
        };
        // If the series has no blocks, the slow path determines the error.
        let Some(directory) = directory.filter(|found| found.is_all()) else {
            return Ok(None);
        };
        let (symbol, venue) = (&series.symbol, history.venue(&series.symbol));
        let traded = match directory.has_trades {
            true => history.without_candle(&snapshot, plan, as_of)?,
            false => Candles::default(),
        };
        let first = traded.time.first().copied().map(Timestamp).into_iter();
        let first = first.chain(directory.missing_from.filter(|from| *from < plan.sources.end)).min();
        let widened = first.map(|first| plan.including(venue, first, as_of));
        let plan = widened.as_ref().unwrap_or(plan);
        let walk = Walk::new(self, series, &directory, plan, Some(&snapshot));
        let Some(edge) = &plan.edge else { return walk.slices(plan.take) };
        // The next query needs the directory of the one-minute series to decide whether it can be
        // answered from memory.
        let minutes = minutes_of(series);
        if self.known(&minutes, directory.version).is_none() {
            self.read(&snapshot, history, &minutes)?;
        }
        let trades = history.running_trades();
        let made =
            Sources { snapshot: &snapshot, venue, symbol, plan, trades, traded: &traded }.made(edge)?;
        let found = walk.until(edge.from).slices_before(plan.take, &made)?;
        Ok(found.filter(|found| found.rows > 0))
    }

    /// Returns the current size of the cache.
    pub fn load(&self) -> PageCacheLoad {
        let pages = |block: Arc<CachedBlock<E>>| block.pages.iter().flatten().count();
        PageCacheLoad {
            bytes: self.blocks.weight(),
            bytes_max: self.blocks.capacity(),
            pages: self.blocks.iter().map(|(_, block)| pages(block)).sum(),
        }
    }

    /// Returns whether caching is disabled.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// Like [`PageCache::slices`], but also returns `None` if anything would have to be read, or if
    /// the cached directory is of another store version. Takes about a microsecond.
    pub fn slices_in_memory(
        &self,
        version: i64,
        plan: &Plan,
        as_of: AsOf,
    ) -> Result<Option<Slices<E::Piece>>, HistoryError> {
        let Some(series) = plan.stored() else { return Ok(None) };
        // The lock is held for about a microsecond. Cloning the `Arc` instead would contend for its
        // reference count on all cores.
        let Ok(directories) = self.directories.read() else { return Ok(None) };
        let known = |series: &Series| directories.get(series).filter(|known| known.version == version);
        let Some(directory) = known(series).filter(|found| found.is_all()) else {
            return Ok(None);
        };
        let is_missing = directory.missing_from.is_some_and(|from| from < plan.sources.end);
        if is_missing || directory.may_fold(plan, as_of) {
            return Ok(None);
        }
        if let Some(edge) = &plan.edge
            && !directory.is_enough(edge, plan.sources.end, || known(&minutes_of(series)))
        {
            return Ok(None);
        }
        Walk::new(self, series, directory, plan, None).slices(plan.take)
    }

    fn known(&self, series: &Series, version: i64) -> Option<Arc<Directory>> {
        let known = self.directories.read().ok()?.get(series).cloned();
        known.filter(|known| known.version == version)
    }

    /// Reads the block directory of a series and caches it. The directory is empty if the series
    /// does not exist. Returns `None` for an unknown security.
    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        history: &History,
        series: &Series,
    ) -> Result<Option<Arc<Directory>>, HistoryError> {
        let version = snapshot.version()?;
        let Some(decimals) = snapshot.decimals(&series.symbol)? else { return Ok(None) };
        let entries = snapshot.blocks(series, None, None)?;
        let may_have = series.grain.period().own_sources().next().is_some();
        let all = if may_have { snapshot.series_of(&series.symbol)? } else { Vec::new() };
        let has_own = all.iter().any(|info| info.series.grain.is_own());
        let missing_from = match Grain::ROLLED_UP.contains(&series.grain) {
            true => missing_from(history.venue(&series.symbol), &all, series),
            false => None,
        };
        let has_trades = history.may_have_trades(snapshot, &series.symbol)?;
        let traded_from = match (has_trades, entries.last()) {
            (true, Some(_)) => history.first_without_candle(snapshot, series)?,
            _ => None,
        };
        let directory =
            Directory { version, decimals, entries, has_own, has_trades, traded_from, missing_from };
        let directory = Arc::new(directory);
        if let Ok(mut all) = self.directories.write() {
            if all.len() >= DIRECTORIES_MAX {
                all.clear();
            }
            all.insert(series.clone(), directory.clone());
        }
        Ok(Some(directory))
    }
}

impl Directory {
    /// Returns whether the directory has blocks, and no coarse candles are needed for a complete
    /// answer.
    fn is_all(&self) -> bool {
        !self.entries.is_empty() && !self.has_own
    }

    /// Returns whether folds of trades may be part of the response of a plan.
    fn may_fold(&self, plan: &Plan, as_of: AsOf) -> bool {
        let Some(window) = plan.folds_within(as_of).filter(|_| self.has_trades) else { return false };
        match as_of {
            AsOf::Live(_) => self.traded_from.is_some_and(|from| from < window.end),
            AsOf::Replay(_) => true,
        }
    }

    /// Returns whether any candle is stamped at `at` or later.
    fn reaches(&self, at: Timestamp) -> bool {
        self.entries.last().is_some_and(|entry| entry.last >= at)
    }

    /// Returns whether no candle has to be folded from one-minute candles at an edge.
    fn is_enough<'d>(
        &self,
        edge: &Edge,
        end: Timestamp,
        minutes: impl FnOnce() -> Option<&'d Arc<Directory>>,
    ) -> bool {
        let ends_here = self.entries.last().is_some_and(|entry| (edge.from..end).contains(&entry.last));
        if edge.prefer == Prefer::StoredThenMinutes && ends_here {
            return true;
        }
        let is_hidden = edge.prefer == Prefer::Minutes && self.reaches(edge.from);
        !is_hidden && minutes().is_some_and(|minutes| !minutes.reaches(edge.minutes.start))
    }
}

/// Returns the one-minute series that replaces a series at an edge.
fn minutes_of(series: &Series) -> Series {
    Series { grain: Grain::Minute, ..series.clone() }
}

/// Traversal of a series' pages for one query.
struct Walk<'a, E> {
    page_cache: &'a PageCache<E>,
    series: &'a Series,
    directory: &'a Directory,
    window: Range<i64>,
    /// Source of missing pages; `None` to use only memory.
    snapshot: Option<&'a Snapshot<'a>>,
}

/// `None` if a page is not cached and there is no snapshot to read it from.
type Found<E> = Result<Option<Slices<<E as Encoded>::Piece>>, HistoryError>;

impl<'a, E: Encoded> Walk<'a, E> {
    fn new(
        page_cache: &'a PageCache<E>,
        series: &'a Series,
        directory: &'a Directory,
        plan: &Plan,
        snapshot: Option<&'a Snapshot<'a>>,
    ) -> Walk<'a, E> {
        let window = plan.sources.start.max(plan.stamps.start).0..plan.sources.end.min(plan.stamps.end).0;
        Walk { page_cache, series, directory, window, snapshot }
    }

    /// Limits the traversal to stamps before `end`.
    fn until(mut self, end: Timestamp) -> Walk<'a, E> {
        self.window.end = self.window.end.min(end.0);
        self
    }

    /// Like [`Walk::slices`], followed by the candles of `made`.
    fn slices_before(&self, take: Take, made: &Candles) -> Found<E> {
        let encode = |rows: Range<usize>| {
            let length = rows.len();
            E::encode(made, rows, self.directory.decimals).piece(0..length)
        };
        let (stored, rows) = match take {
            Take::Last(count) => {
                let taken = made.len().min(count);
                (self.slices(Take::Last(count - taken))?, made.len() - taken..made.len())
            }
            Take::First(count) => {
                let stored = self.slices(Take::First(count))?;
                let missing = stored.as_ref().map_or(0, |stored| count.saturating_sub(stored.rows));
                (stored, 0..made.len().min(missing))
            }
        };
        let Some(mut slices) = stored else { return Ok(None) };
        if !rows.is_empty() {
            slices.rows += rows.len();
            slices.pieces.push(encode(rows));
        }
        Ok(Some(slices))
    }

    fn slices(&self, take: Take) -> Found<E> {
        match take {
            Take::Last(0) | Take::First(0) => Ok(Some(Slices { pieces: Vec::new(), rows: 0 })),
            _ if self.window.is_empty() => Ok(Some(Slices { pieces: Vec::new(), rows: 0 })),
            Take::Last(count) => self.back(count),
            Take::First(count) => self.forward(count),
        }
    }

    /// Returns the last `count` candles of the window.
    fn back(&self, count: usize) -> Found<E> {
        let (mut pieces, mut missing) = (Vec::with_capacity(count / PAGE_ROWS + 2), count);
        let begun = self.directory.entries.partition_point(|entry| entry.first.0 < self.window.end);
        for entry in self.directory.entries.iter().take(begun).rev() {
            if missing == 0 || entry.last.0 < self.window.start {
                break;
            }
            let Some(mut block) = self.open(entry)? else { return Ok(None) };
            let begun = block.begun();
            for number in (0..begun).rev() {
                let useful = number.saturating_sub(missing.div_ceil(PAGE_ROWS))..number + 1;
                let Some(Part { page, mut rows }) = block.page(number, useful)? else { return Ok(None) };
                rows.start = rows.start.max(rows.end.saturating_sub(missing));
                missing -= rows.len();
                let done = rows.start > 0 || missing == 0;
                if !rows.is_empty() {
                    pieces.push(page.encoded.piece(rows));
                }
                if done {
                    return Ok(Some(reversed(pieces, count - missing)));
                }
            }
        }
        Ok(Some(reversed(pieces, count - missing)))
    }

    /// Returns the first `count` candles of the window.
    fn forward(&self, count: usize) -> Found<E> {
        let (mut pieces, mut missing) = (Vec::with_capacity(count / PAGE_ROWS + 2), count);
        let over = self.directory.entries.partition_point(|entry| entry.last.0 < self.window.start);
        for entry in self.directory.entries.iter().skip(over) {
            if missing == 0 || entry.first.0 >= self.window.end {
                break;
            }
            let Some(mut block) = self.open(entry)? else { return Ok(None) };
            let pages = block.cached.spans.len();
            for number in block.first()..pages {
                let useful = number..(number + missing.div_ceil(PAGE_ROWS) + 1).min(pages);
                let Some(Part { page, mut rows }) = block.page(number, useful)? else { return Ok(None) };
                rows.end = rows.end.min(rows.start + missing);
                missing -= rows.len();
                let done = rows.end < page.times.len() || missing == 0;
                if !rows.is_empty() {
                    pieces.push(page.encoded.piece(rows));
                }
                if done {
                    return Ok(Some(Slices { pieces, rows: count - missing }));
                }
            }
        }
        Ok(Some(Slices { pieces, rows: count - missing }))
    }

    fn open<'w>(&'w self, entry: &'w BlockEntry) -> Result<Option<LazyBlock<'w, E>>, HistoryError> {
        let key = (entry.id, self.directory.decimals);
        if let Some(cached) = self.page_cache.blocks.get(&key) {
            return Ok(Some(LazyBlock { walk: self, entry, key, cached, body: Vec::new() }));
        }
        let nothing = Arc::new(CachedBlock { spans: Arc::new([]), pages: Box::new([]), bytes: 0 });
        let mut opened = LazyBlock { walk: self, entry, key, cached: nothing, body: Vec::new() };
        if !opened.load()? {
            return Ok(None);
        }
        let span = |(span, rows): (Range<i64>, usize)| Span { first: span.start, end: span.end, rows };
        let spans: Arc<[Span]> = opened.parse()?.page_spans().map(span).collect();
        let bytes = OVERHEAD + spans.len() * (size_of::<Span>() + size_of::<Option<Page<E>>>());
        let pages = spans.iter().map(|_| None).collect();
        opened.cached = Arc::new(CachedBlock { spans, pages, bytes });
        Ok(Some(opened))
    }
}

fn reversed<P>(mut pieces: Vec<P>, rows: usize) -> Slices<P> {
    pieces.reverse();
    Slices { pieces, rows }
}

/// A page, and the range of its rows within the window.
struct Part<'p, E> {
    page: &'p Page<E>,
    rows: Range<usize>,
}

/// A block of a traversal. Its body is read only when a page is missing.
struct LazyBlock<'a, E> {
    walk: &'a Walk<'a, E>,
    entry: &'a BlockEntry,
    key: BlockKey,
    /// Includes the pages encoded for this query, even if the cache has no room for them.
    cached: Arc<CachedBlock<E>>,
    body: Vec<u8>,
}

impl<E: Encoded> LazyBlock<'_, E> {
    /// Returns the number of pages that begin before the window's end.
    fn begun(&self) -> usize {
        self.cached.spans.partition_point(|span| span.first < self.walk.window.end)
    }

    /// Returns the number of the page in which the window begins.
    fn first(&self) -> usize {
        let begun = self.cached.spans.partition_point(|span| span.first <= self.walk.window.start);
        begun.saturating_sub(1)
    }

    /// Returns one page, or `None` if the page is not cached and there is no snapshot to read it
    /// from. If the page has to be encoded, all pages in `useful` are encoded as well, because
    /// opening a block costs as much as decoding several pages.
    fn page(&mut self, number: usize, useful: Range<usize>) -> Result<Option<Part<'_, E>>, HistoryError> {
        if !matches!(self.cached.pages.get(number), Some(Some(_))) && !self.make(useful)? {
            return Ok(None);
        }
        let Some(page) = self.cached.pages.get(number).and_then(Option::as_ref) else { return Ok(None) };
        Ok(Some(Part { page, rows: self.within(number, page) }))
    }

    /// Returns the rows of a page within the window. Reads the stamps only if the window begins or
    /// ends in the page.
    fn within(&self, number: usize, page: &Page<E>) -> Range<usize> {
        let Range { start, end } = self.walk.window;
        let at = |time: i64| page.times.partition_point(|stamp| *stamp < time);
        let span = self.cached.spans.get(number);
        let from = if span.is_some_and(|span| span.first >= start) { 0 } else { at(start) };
        let to = if span.is_some_and(|span| span.end <= end) { page.times.len() } else { at(end) };
        from..to
    }

    /// Encodes pages and caches them. Returns `false` if there is no snapshot to read the block
    /// from.
    fn make(&mut self, useful: Range<usize>) -> Result<bool, HistoryError> {
        if !self.load()? {
            return Ok(false);
        }
        let spans = self.cached.spans.clone();
        let rows_before = |page: usize| spans.iter().take(page).map(|span| span.rows).sum::<usize>();
        let rows = rows_before(useful.start)..rows_before(useful.end);
        let mut candles = Candles::with_capacity(rows.len());
        self.parse()?.read_rows(rows, &mut candles).map_err(|source| self.damaged(source))?;
        let decimals = self.walk.directory.decimals;
        // Clones the block if the cache or another query shares it.
        let cached = Arc::make_mut(&mut self.cached);
        let mut start = 0;
        for (span, page) in spans.iter().zip(&mut cached.pages).take(useful.end).skip(useful.start) {
            let rows = start..start + span.rows;
            start = rows.end;
            // An existing page is not replaced, because answers that are being sent may share its
            // memory.
            if page.is_none() {
                let times = candles.time.get(rows.clone()).unwrap_or_default().into();
                let made = Page { times, encoded: E::encode(&candles, rows, decimals) };
                cached.bytes += made.encoded.bytes() + size_of_val(&*made.times);
                *page = Some(made);
            }
        }
        // If two queries encode pages of the same block concurrently, one result is lost and
        // encoded again by the next query.
        self.walk.page_cache.blocks.insert(self.key, self.cached.clone());
        Ok(true)
    }

    /// Reads the body unless it is already loaded. Returns `false` if there is no snapshot.
    fn load(&mut self) -> Result<bool, HistoryError> {
        let Some(snapshot) = self.walk.snapshot else { return Ok(false) };
        if self.body.is_empty() {
            snapshot.block(self.entry, &mut self.body)?;
        }
        Ok(true)
    }

    fn parse(&self) -> Result<Block<'_>, HistoryError> {
        Block::parse(&self.body).map_err(|source| self.damaged(source))
    }

    fn damaged(&self, source: block::BlockError) -> HistoryError {
        HistoryError::Damaged { series: self.walk.series.clone(), at: self.entry.first, source }
    }
}
