use std::ops::Range;

use market::Candles;
use pco::wrapped::FileDecompressor;

use crate::BlockError;
use crate::column::{Column, Narrow};
use crate::layout::{Check, Layout};
use crate::residual::{CLOSES, COLUMNS, Page, TIMES};

/// A block with verified checksum and structure. Columns are decoded on demand.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    layout: Layout<'a>,
}

impl<'a> Block<'a> {
    /// Parses a block and verifies its length, checksum, versions and directory.
    pub fn parse(bytes: &'a [u8]) -> Result<Block<'a>, BlockError> {
        Layout::parse(bytes, Check::Full).map(|layout| Block { layout })
    }

    /// Like [`Block::parse`], but without verifying the checksum, for fuzzing. The decoded candles
    /// may be wrong.
    #[doc(hidden)]
    pub fn parse_unchecked(bytes: &'a [u8]) -> Result<Block<'a>, BlockError> {
        Layout::parse(bytes, Check::AllButChecksum).map(|layout| Block { layout })
    }

    pub fn rows(&self) -> usize {
        self.layout.header.rows
    }

    pub fn first_time(&self) -> i64 {
        self.layout.header.first_time
    }

    pub fn last_time(&self) -> i64 {
        self.layout.header.last_time
    }

    /// Returns the time range and the number of rows of each page, so that callers can decide how
    /// many pages to decode. A range ends where the next page begins, so it may extend beyond the
    /// page's last candle.
    pub fn page_spans(&self) -> impl Iterator<Item = (Range<i64>, usize)> + '_ {
        let ends = self.layout.entries().skip(1).map(|entry| entry.first_time);
        let ends = ends.chain(std::iter::once(self.last_time().saturating_add(1)));
        let rows = (0..self.layout.header.pages()).map(|page| self.layout.header.page(page).len());
        self.layout.entries().zip(ends).zip(rows).map(|((entry, end), rows)| (entry.first_time..end, rows))
    }

    /// Appends all candles to `out`. On error, `out` is unchanged.
    pub fn read_all(&self, out: &mut Candles) -> Result<(), BlockError> {
        self.read_rows(0..self.rows(), out)
    }

    /// Appends the candles in `rows` to `out`. On error, `out` is unchanged.
    pub fn read_rows(&self, rows: Range<usize>, out: &mut Candles) -> Result<(), BlockError> {
        if rows.start > rows.end || rows.end > self.rows() {
            return Err(BlockError::OutOfRange { start: rows.start, end: rows.end, rows: self.rows() });
        }
        self.columns()?.read_rows(rows, out)
    }

    /// Returns the column decoders, for callers that read a block several times and should parse
    /// its column tables only once.
    pub fn columns(&self) -> Result<Columns<'a>, BlockError> {
        let (codec, _) = FileDecompressor::new(self.layout.header.codec_version.as_slice())?;
        let page = Page::new(self.layout.header.page_rows.min(self.rows()));
        Ok(Columns {
            block: *self,
            codec,
            rest: self.layout.body,
            decoders: Vec::with_capacity(COLUMNS),
            page,
        })
    }

    /// Appends the candles with a time within `times` to `out`. Decodes only the pages that overlap
    /// `times`. On error, `out` is unchanged.
    pub fn read(&self, times: Range<i64>, out: &mut Candles) -> Result<(), BlockError> {
        self.columns()?.candles(self.pages_of(&times), |page, _| page.rows_within(&times), out)
    }

    /// Appends the times and closes of the candles within `times`, at a third of the cost of
    /// [`Block::read`].
    pub fn closes(
        &self,
        times: Range<i64>,
        time: &mut Vec<i64>,
        close: &mut Vec<i64>,
    ) -> Result<(), BlockError> {
        let (times_before, closes_before) = (time.len(), close.len());
        let unit = self.layout.header.units.price;
        let read = self.columns()?.pages(self.pages_of(&times), CLOSES, |page, _| {
            let rows = page.rows_within(&times);
            let [page_time, _, page_close, ..] = &page.columns;
            time.extend_from_slice(page_time.get(rows.clone()).unwrap_or_default());
            let ticks = page_close.get(rows).unwrap_or_default();
            close.extend(ticks.iter().map(|ticks| ticks.wrapping_mul(unit)));
        });
        if read.is_err() {
            time.truncate(times_before);
            close.truncate(closes_before);
        }
        read
    }

    /// Returns the pages that may contain a time within `times`.
    fn pages_of(&self, times: &Range<i64>) -> Range<usize> {
        if times.is_empty() || self.last_time() < times.start {
            return 0..0;
        }
        let begun_by_start =
            self.layout.entries().take_while(|entry| entry.first_time <= times.start).count();
        let begun_by_end = self.layout.entries().take_while(|entry| entry.first_time < times.end).count();
        begun_by_start.saturating_sub(1)..begun_by_end
    }
}

/// Column decoders of a block. A column's tables are parsed when the column is first needed.
#[derive(Debug)]
pub struct Columns<'a> {
    block: Block<'a>,
    codec: FileDecompressor,
    /// Bytes after the column tables that have been parsed so far.
    rest: &'a [u8],
    decoders: Vec<Column>,
    page: Page,
}

impl Columns<'_> {
    /// Returns the number of rows with a time before `time`. Decodes the times of at most one page.
    pub fn rows_before(&mut self, time: i64) -> Result<usize, BlockError> {
        let block = self.block;
        if block.last_time() < time {
            return Ok(block.rows());
        }
        let begun = block.layout.entries().take_while(|entry| entry.first_time < time).count();
        let Some(page) = begun.checked_sub(1) else { return Ok(0) };
        let mut before = 0;
        self.pages(page..begun, TIMES, |page, start| {
            before = start + page.times().partition_point(|&other| other < time);
        })?;
        Ok(before)
    }

    /// Appends the candles in `rows` to `out`. On error, `out` is unchanged.
    pub fn read_rows(&mut self, rows: Range<usize>, out: &mut Candles) -> Result<(), BlockError> {
        let (all, page_rows) = (self.block.rows(), self.block.layout.header.page_rows);
        if rows.start > rows.end || rows.end > all {
            return Err(BlockError::OutOfRange { start: rows.start, end: rows.end, rows: all });
        }
        let pages = rows.start / page_rows..rows.end.div_ceil(page_rows);
        let cut = |page: &Page, start: usize| {
            rows.start.saturating_sub(start).min(page.rows)..rows.end.saturating_sub(start).min(page.rows)
        };
        self.candles(pages, cut, out)
    }

    /// Parses the tables of the first `columns` columns, except tables that are already parsed.
    fn open(&mut self, columns: usize) -> Result<(), BlockError> {
        let layout = &self.block.layout;
        let wanted = layout.header.kinds.into_iter().zip(layout.header.constants).take(columns);
        for (kind, constant) in wanted.skip(self.decoders.len()) {
            self.decoders.push(Column::open(kind, constant, &self.codec, &mut self.rest)?);
        }
        if columns == COLUMNS && layout.pages().is_none_or(|pages| pages.len() != self.rest.len()) {
            return Err(BlockError::Malformed("the pages do not begin where the tables end"));
        }
        Ok(())
    }

    /// Decodes `pages` and appends the rows that `cut` selects to `out`. `cut` is called with a
    /// page and the row number at which the page starts.
    fn candles(
        &mut self,
        pages: Range<usize>,
        cut: impl Fn(&Page, usize) -> Range<usize>,
        out: &mut Candles,
    ) -> Result<(), BlockError> {
        let before = out.len();
        let layout = self.block.layout;
        let header = &layout.header;
        let read = self.pages(pages, COLUMNS, |page, start| {
            let rows = cut(page, start);
            page.append(rows.clone(), &header.units, header.guess, out);
            layout.sessions(start + rows.start..start + rows.end, &mut out.session);
        });
        if read.is_err() {
            out.truncate(before);
        }
        read
    }

    /// Decodes the first `columns` columns of `pages`. `each` is called with every page and the row
    /// number at which the page starts.
    fn pages(
        &mut self,
        pages: Range<usize>,
        columns: usize,
        mut each: impl FnMut(&mut Page, usize),
    ) -> Result<(), BlockError> {
        if pages.is_empty() {
            return Ok(());
        }
        self.open(columns)?;
        let Columns { block: Block { layout }, decoders, page, .. } = self;
        let (header, body) = (&layout.header, layout.pages().ok_or(BEYOND)?);
        let decoders = decoders.get_mut(..columns).unwrap_or_default();
        let (mut narrow, mut padded) = (Narrow::default(), Vec::new());
        let mut begin = 0;
        for (number, entry) in layout.entries().enumerate().take(pages.end) {
            if number >= pages.start {
                let rows = header.page(number);
                page.rows = rows.len();
                let (bytes, length) = (body.get(begin..).ok_or(BEYOND)?, entry.end - begin);
                let bytes = with_room(bytes, length, &mut padded).ok_or(BEYOND)?;
                let used = decode(page, decoders, bytes, &mut narrow)?;
                if used > length || (columns == COLUMNS && used != length) {
                    return Err(BEYOND);
                }
                page.undo_times(entry.first_time, header.units.time);
                if columns >= CLOSES {
                    page.undo_closes(entry.previous_close);
                }
                if rows.end == header.rows && page.last_time() != Some(header.last_time) {
                    return Err(BlockError::Malformed("the time of the last row does not match the header"));
                }
                each(page, rows.start);
            }
            begin = entry.end;
        }
        Ok(())
    }
}

/// Decodes the residuals of one page, column by column. Returns the number of bytes read.
fn decode(
    page: &mut Page,
    columns: &mut [Column],
    bytes: &[u8],
    narrow: &mut Narrow,
) -> Result<usize, BlockError> {
    let mut rest = bytes;
    for (decoder, column) in columns.iter_mut().zip(&mut page.columns) {
        decoder.read(&mut rest, narrow, column.get_mut(..page.rows).ok_or(BEYOND)?)?;
    }
    Ok(bytes.len() - rest.len())
}

/// Number of bytes that the codec may read ahead. If fewer bytes are left, the codec copies its
/// input on every call.
const READ_AHEAD: usize = 5000;

/// Returns the bytes of a page, followed by at least `READ_AHEAD` bytes that the codec may read
/// ahead: a slice of the block, or a padded copy near the end of the block. Returns `None` if the
/// page extends past the block.
fn with_room<'b>(bytes: &'b [u8], length: usize, padded: &'b mut Vec<u8>) -> Option<&'b [u8]> {
    if bytes.len() >= length + READ_AHEAD {
        return Some(bytes);
    }
    padded.clear();
    padded.extend_from_slice(bytes.get(..length)?);
    padded.resize(length + READ_AHEAD, 0);
    Some(padded)
}

impl Page {
    fn times(&self) -> &[i64] {
        let [time, ..] = &self.columns;
        time.get(..self.rows).unwrap_or_default()
    }

    fn last_time(&self) -> Option<i64> {
        self.times().last().copied()
    }

    fn rows_within(&self, times: &Range<i64>) -> Range<usize> {
        let time = self.times();
        time.partition_point(|&time| time < times.start)..time.partition_point(|&time| time < times.end)
    }
}

const BEYOND: BlockError = BlockError::Malformed("a page does not fill its slot");
