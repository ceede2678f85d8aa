//! Stored candles in the shape in which they are sent, kept in memory page by page.
//!
//! A plain question (one stored series, nothing folded, nothing adjusted) selects a run of stored candles, so its answer
//! can be cut out of pages that were encoded earlier. Blocks never change and their ids are never used again, so a page
//! once encoded stays true for its era, which ends when a backup is restored; only the directories of series change, and those carry
//! the version of the store they were read at. What a page is encoded to is the caller's business: this file knows candles, not protocols.

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
use crate::plan::{Keep, Plan};

/// What a page is kept as. It must say how much memory it takes.
pub trait Encoded: Send + Sync + 'static {
    fn encode(candles: &Candles, rows: Range<usize>, decimals: u32) -> Self;
    fn bytes(&self) -> usize;
}

/// Encoded pages up to a number of bytes, least recently used first out.
pub struct Shelf<E> {
    pages: Cache<PageKey, Arc<Page<E>>, Weight>,
    /// The pages of each block: when each begins, and how many rows it has.
    spans: Cache<BlockKey, Arc<[(i64, usize)]>, Weight>,
    directories: RwLock<HashMap<Series, Arc<Directory>>>,
    is_off: bool,
}

/// What a shelf holds, for whoever watches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShelfLoad {
    pub bytes: u64,
    pub bytes_max: u64,
    pub pages: usize,
}

/// A block's number in an era of the store.
type BlockKey = (i64, i64);
/// A block, the page in it, and the decimals its prices are written with.
type PageKey = (BlockKey, u32, u32);

/// One page of stored candles.
#[derive(Debug)]
pub struct Page<E> {
    times: Box<[i64]>,
    pub encoded: E,
}

/// Rows of a page that belong to an answer.
#[derive(Debug)]
pub struct Slice<E> {
    pub page: Arc<Page<E>>,
    pub rows: Range<usize>,
}

/// What is known of a series at one version of the store.
#[derive(Debug)]
struct Directory {
    version: i64,
    decimals: u32,
    entries: Vec<BlockEntry>,
}

/// Directories kept at most; a store of a whole market has more series than are asked for.
const DIRECTORIES_MAX: usize = 65_536;
/// A page and its key cost about so much besides what they hold.
const OVERHEAD: usize = 128;

#[derive(Clone, Copy, Debug)]
struct Weight;

impl<E: Encoded> Weighter<PageKey, Arc<Page<E>>> for Weight {
    fn weight(&self, _: &PageKey, page: &Arc<Page<E>>) -> u64 {
        (page.encoded.bytes() + size_of_val(&*page.times) + OVERHEAD) as u64
    }
}

impl Weighter<BlockKey, Arc<[(i64, usize)]>> for Weight {
    fn weight(&self, _: &BlockKey, spans: &Arc<[(i64, usize)]>) -> u64 {
        (size_of_val(&**spans) + OVERHEAD) as u64
    }
}

impl<E> fmt::Debug for Shelf<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl<E: Encoded> Shelf<E> {
    /// A shelf that holds at most so many bytes; none at all is a shelf that keeps nothing.
    pub fn new(bytes: usize) -> Shelf<E> {
        // Pages are a few kilobytes; the estimate only sizes the tables.
        let pages = (bytes / 16_384).max(16);
        let spans = (bytes / 16).max(1);
        Shelf {
            pages: Cache::with_weighter(pages, bytes as u64, Weight),
            spans: Cache::with_weighter(pages, spans as u64, Weight),
            directories: RwLock::new(HashMap::new()),
            is_off: bytes == 0,
        }
    }

    /// The answer to a plan as slices of encoded pages, or `None` if the plan is not a plain one, or something at its edge has
    /// to be made of minutes. What is missing is read, decoded and encoded, all under one snapshot of the store. The question
    /// must not be an adjusted one: the plan does not show it.
    pub fn slices(&self, reader: &mut Reader, plan: &Plan) -> Result<Option<Vec<Slice<E>>>, HistoryError> {
        let Some(series) = plan.stored() else { return Ok(None) };
        let snapshot = reader.snapshot()?;
        let version = snapshot.version()?;
        let directory = |series: &Series| match self.known(series, version) {
            Some(known) => Ok(Some(known)),
            None => self.read(&snapshot, series),
        };
        // A series that is not there has no blocks, and the long way says why.
        let Some(found) = directory(series)?.filter(|found| !found.entries.is_empty()) else {
            return Ok(None);
        };
        if let Some(edge) = &plan.edge
            && (found.reaches(edge.from)
                || directory(&minutes_of(series))?.is_none_or(|found| found.reaches(edge.minutes.start)))
        {
            return Ok(None);
        }
        let directory = found;
        Walk::new(self, series, &directory, plan, Some(&snapshot)).slices(plan.keep)
    }

    /// How much is on it now.
    pub fn load(&self) -> ShelfLoad {
        ShelfLoad {
            bytes: self.pages.weight().saturating_add(self.spans.weight()),
            bytes_max: self.pages.capacity(),
            pages: self.pages.len(),
        }
    }

    /// Whether it keeps nothing.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// As [`Shelf::slices`], but `None` as well if anything would have to be read, or the shelf knows another version of the
    /// store than this. Takes microseconds.
    pub fn slices_in_memory(&self, version: i64, plan: &Plan) -> Result<Option<Vec<Slice<E>>>, HistoryError> {
        let Some(series) = plan.stored() else { return Ok(None) };
        let known = |series: &Series| self.known(series, version);
        let Some(directory) = known(series).filter(|found| !found.entries.is_empty()) else {
            return Ok(None);
        };
        if let Some(edge) = &plan.edge
            && (directory.reaches(edge.from)
                || known(&minutes_of(series)).is_none_or(|found| found.reaches(edge.minutes.start)))
        {
            return Ok(None);
        }
        Walk::new(self, series, &directory, plan, None).slices(plan.keep)
    }

    fn known(&self, series: &Series, version: i64) -> Option<Arc<Directory>> {
        let known = self.directories.read().ok()?.get(series).cloned();
        known.filter(|known| known.version == version)
    }

    /// The blocks of a series, none where the series is not there. A security that is not known has no directory.
    fn read(&self, snapshot: &Snapshot<'_>, series: &Series) -> Result<Option<Arc<Directory>>, HistoryError> {
        let version = snapshot.version()?;
        let Some(decimals) = snapshot.decimals(&series.symbol)? else { return Ok(None) };
        let entries = snapshot.blocks(series, None, None)?;
        let directory = Arc::new(Directory { version, decimals, entries });
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
    /// Whether any candle is stamped at a point or later.
    fn reaches(&self, at: Timestamp) -> bool {
        self.entries.last().is_some_and(|entry| entry.last >= at)
    }
}

/// The one-minute candles that stand in for those of a series at an edge.
fn minutes_of(series: &Series) -> Series {
    Series { grain: Grain::Minute, ..series.clone() }
}

/// One question's way through the pages of a series.
struct Walk<'a, E> {
    shelf: &'a Shelf<E>,
    series: &'a Series,
    directory: &'a Directory,
    window: Range<i64>,
    /// Where missing pages are read from; none if only memory counts.
    snapshot: Option<&'a Snapshot<'a>>,
}

/// The pages of one block: when each begins, and how many rows it has.
type Spans = Arc<[(i64, usize)]>;

impl<'a, E: Encoded> Walk<'a, E> {
    fn new(
        shelf: &'a Shelf<E>,
        series: &'a Series,
        directory: &'a Directory,
        plan: &Plan,
        snapshot: Option<&'a Snapshot<'a>>,
    ) -> Walk<'a, E> {
        let window = plan.sources.start.max(plan.stamps.start).0..plan.sources.end.min(plan.stamps.end).0;
        Walk { shelf, series, directory, window, snapshot }
    }

    fn slices(&self, keep: Keep) -> Result<Option<Vec<Slice<E>>>, HistoryError> {
        match keep {
            _ if self.window.is_empty() => Ok(Some(Vec::new())),
            Keep::Last(count) => self.back(count),
            Keep::First(count) => self.forward(count),
        }
    }

    /// The last `count` candles of the window.
    fn back(&self, count: usize) -> Result<Option<Vec<Slice<E>>>, HistoryError> {
        let (mut slices, mut missing) = (Vec::new(), count);
        let begun = self.directory.entries.partition_point(|entry| entry.first.0 < self.window.end);
        for entry in self.directory.entries.iter().take(begun).rev() {
            if missing == 0 || entry.last.0 < self.window.start {
                break;
            }
            let Some(mut block) = self.open(entry)? else { return Ok(None) };
            let begun = block.spans.partition_point(|(first, _)| *first < self.window.end);
            for number in (0..begun).rev() {
                let Some(page) =
                    block.page(number, number.saturating_sub(missing.div_ceil(PAGE_ROWS))..number + 1)?
                else {
                    return Ok(None);
                };
                let mut rows = page.within(&self.window);
                rows.start = rows.start.max(rows.end.saturating_sub(missing));
                missing -= rows.len();
                let done = rows.start > 0 || missing == 0;
                if !rows.is_empty() {
                    slices.push(Slice { page, rows });
                }
                if done {
                    missing = 0;
                    break;
                }
            }
        }
        slices.reverse();
        Ok(Some(slices))
    }

    /// The first `count` candles of the window.
    fn forward(&self, count: usize) -> Result<Option<Vec<Slice<E>>>, HistoryError> {
        let (mut slices, mut missing) = (Vec::new(), count);
        let over = self.directory.entries.partition_point(|entry| entry.last.0 < self.window.start);
        for entry in self.directory.entries.iter().skip(over) {
            if missing == 0 || entry.first.0 >= self.window.end {
                break;
            }
            let Some(mut block) = self.open(entry)? else { return Ok(None) };
            let first =
                block.spans.partition_point(|(first, _)| *first <= self.window.start).saturating_sub(1);
            for number in first..block.spans.len() {
                let until = (number + missing.div_ceil(PAGE_ROWS) + 1).min(block.spans.len());
                let Some(page) = block.page(number, number..until)? else { return Ok(None) };
                let mut rows = page.within(&self.window);
                rows.end = rows.end.min(rows.start + missing);
                missing -= rows.len();
                let done = rows.end < page.times.len() || missing == 0;
                if !rows.is_empty() {
                    slices.push(Slice { page, rows });
                }
                if done {
                    missing = 0;
                    break;
                }
            }
        }
        Ok(Some(slices))
    }

    fn open<'w>(&'w self, entry: &'w BlockEntry) -> Result<Option<Opened<'w, E>>, HistoryError> {
        let mut opened =
            Opened { walk: self, entry, spans: Arc::new([]), body: Vec::new(), fresh: Vec::new() };
        let key = (store::era(self.directory.version), entry.id);
        opened.spans = match self.shelf.spans.get(&key) {
            Some(spans) => spans,
            None if !opened.load()? => return Ok(None),
            None => {
                let spans: Spans =
                    opened.parse()?.page_spans().map(|(span, rows)| (span.start, rows)).collect();
                self.shelf.spans.insert(key, spans.clone());
                spans
            }
        };
        Ok(Some(opened))
    }
}

/// A block on the way; its body is read when the first page is missing.
struct Opened<'a, E> {
    walk: &'a Walk<'a, E>,
    entry: &'a BlockEntry,
    spans: Spans,
    body: Vec<u8>,
    /// Pages made for this question: the shelf may have no room for them.
    fresh: Vec<(usize, Arc<Page<E>>)>,
}

impl<E: Encoded> Opened<'_, E> {
    /// One page. If it has to be made, its neighbours in `useful` are made with it: opening a block costs as much as
    /// decoding several pages of it.
    fn page(&mut self, number: usize, useful: Range<usize>) -> Result<Option<Arc<Page<E>>>, HistoryError> {
        if let Some((_, page)) = self.fresh.iter().find(|(of, _)| *of == number) {
            return Ok(Some(page.clone()));
        }
        if let Some(page) = self.walk.shelf.pages.get(&self.key(number)) {
            return Ok(Some(page));
        }
        if !self.load()? {
            return Ok(None);
        }
        let rows_before = |page: usize| self.spans.iter().take(page).map(|(_, rows)| rows).sum::<usize>();
        let rows = rows_before(useful.start)..rows_before(useful.end);
        let mut candles = Candles::with_capacity(rows.len());
        self.parse()?.read_rows(rows, &mut candles).map_err(|source| self.damaged(source))?;
        let (mut found, mut start) = (None, 0);
        for of in useful {
            let Some((_, rows)) = self.spans.get(of) else { break };
            let rows = start..start + rows;
            start = rows.end;
            let page = Arc::new(Page {
                times: candles.time.get(rows.clone()).unwrap_or_default().into(),
                encoded: E::encode(&candles, rows, self.walk.directory.decimals),
            });
            self.walk.shelf.pages.insert(self.key(of), page.clone());
            if of == number {
                found = Some(page.clone());
            }
            self.fresh.push((of, page));
        }
        Ok(found)
    }

    fn key(&self, page: usize) -> PageKey {
        let block = (store::era(self.walk.directory.version), self.entry.id);
        (block, page as u32, self.walk.directory.decimals)
    }

    /// Reads the body, unless that has been done; whether it is there then.
    fn load(&mut self) -> Result<bool, HistoryError> {
        let Some(snapshot) = self.walk.snapshot else { return Ok(false) };
        if self.body.is_empty() {
            snapshot.block(self.entry.id, &mut self.body)?;
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

impl<E> Page<E> {
    fn within(&self, window: &Range<i64>) -> Range<usize> {
        let at = |time: i64| self.times.partition_point(|stamp| *stamp < time);
        at(window.start)..at(window.end)
    }
}
