//! Reads the rows of a candle or trade table in chunks.

use std::collections::VecDeque;

use crate::cells::{Cells, OpenQuote, lossy};
use crate::columns::{Batch, ColumnRows};
use crate::header::TimeColumns;
use crate::row::{RawChunk, RejectedRoom, RowFault};
use crate::source::Lines;
use crate::time::{RawTime, TimeFault};
use crate::time_words::Times;
use crate::{BATCH_ROWS, Problem, Rejected};

/// Number of sampled rows, from which a file's period and time format are determined.
pub(crate) const SAMPLE_ROWS: usize = 10_000;
/// Maximum number of sampled rows, valid or not. A file of thousands of symbols that is sorted by
/// time needs a longer sample until symbols repeat.
const SAMPLE_ROWS_MAX: u64 = 200_000;

/// Position of a reader, in bytes of the file on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub consumed: u64,
    pub total: u64,
}

/// Converts the rows of a text or Parquet table.
pub(crate) trait TableRows {
    type Row;

    /// Returns the index of the symbol column, used to report the symbol of rejected rows, or
    /// `None` if the table has no such column.
    fn symbol_column(&self) -> Option<usize>;

    fn of_cells(&mut self, line: &TextLine<'_>) -> Result<Self::Row, RowFault>;

    /// Appends the rows of a line to `chunk`. Most tables have one row per line.
    fn of_line(&mut self, line: &TextLine<'_>, chunk: &mut RawChunk<Self::Row>) -> Result<(), Problem> {
        chunk.consumed += 1;
        let row = self.of_cells(line);
        chunk.push(row, |reason| line.rejected(self.symbol_column(), reason))
    }

    /// Converts a Parquet batch. `first` is the row number, in the file, of the batch's first row.
    fn of_batch(&mut self, batch: &Batch<'_>, first: u64) -> Result<RawChunk<Self::Row>, Problem>;
}

/// A line of a text table, split into cells.
pub(crate) struct TextLine<'a> {
    cells: &'a Cells,
    text: &'a [u8],
    /// Number of cells in the header.
    width: usize,
    pub(crate) number: u64,
}

impl<'a> TextLine<'a> {
    /// Returns a cell without surrounding spaces, or an empty slice if the line has no such column.
    #[inline]
    pub(crate) fn cell(&self, column: usize) -> &'a [u8] {
        self.cells.get(self.text, column)
    }

    pub(crate) fn is_short(&self) -> bool {
        self.cells.len() < self.width
    }

    pub(crate) fn check_width(&self) -> Result<(), RowFault> {
        let surplus = self.width..self.cells.len();
        if self.is_short() || surplus.into_iter().any(|column| !self.cell(column).is_empty()) {
            let (cells, width) = (self.cells.len(), self.width);
            return Err(RowFault::Row(format!("{cells} cells where the header has {width}")));
        }
        Ok(())
    }

    /// Parses the line's time, from one or two columns.
    pub(crate) fn time(&self, columns: TimeColumns, times: &mut Times) -> Result<RawTime, RowFault> {
        let (read, cells) = match columns {
            TimeColumns::One(column) => (times.one(self.cell(column)), [column, usize::MAX]),
            TimeColumns::DateAndClock(date, clock) => {
                (times.two(self.cell(date), self.cell(clock)), [date, clock])
            }
        };
        read.map_err(|fault| match fault {
            TimeFault::Form => {
                let text = cells.map(|column| lossy(self.cell(column))).join(" ");
                RowFault::Row(TimeFault::of_text(text.trim_end()))
            }
            fault => fault.into(),
        })
    }

    pub(crate) fn rejected(&self, symbol: Option<usize>, reason: String) -> Rejected {
        let symbol = symbol.map(|column| lossy(self.cell(column)));
        Rejected { line: self.number, symbol, text: lossy(self.text), reason }
    }
}

/// A table's rows, by file type.
#[derive(Debug)]
pub(crate) enum Input {
    Text(TextRows),
    Columns(Box<ColumnRows>),
}

/// Reader of a text table, positioned after the header.
#[derive(Debug)]
pub(crate) struct TextRows {
    lines: Lines,
    delimiter: u8,
    width: usize,
    cells: Cells,
}

impl Input {
    pub(crate) fn text(lines: Lines, delimiter: u8, width: usize) -> Input {
        Input::Text(TextRows { lines, delimiter, width, cells: Cells::default() })
    }

    pub(crate) fn read<T: TableRows>(&mut self, rows: &mut T) -> Result<Option<RawChunk<T::Row>>, Problem> {
        match self {
            Input::Text(text) => text.read(rows),
            Input::Columns(columns) => columns.next_batch(|batch, first| rows.of_batch(batch, first)),
        }
    }

    /// Reads chunks until `is_enough` returns true for the number of valid rows so far, until
    /// [`SAMPLE_ROWS_MAX`] rows have been read, or to the end of the file. Returns an error if the
    /// table has no rows.
    pub(crate) fn sample<T: TableRows>(
        &mut self,
        rows: &mut T,
        is_enough: impl Fn(&T, usize) -> bool,
    ) -> Result<VecDeque<RawChunk<T::Row>>, Problem> {
        let mut chunks = VecDeque::new();
        let (mut sampled, mut consumed, mut room) = (0, 0, RejectedRoom::new());
        while let Some(mut chunk) = self.read(rows)? {
            sampled += chunk.rows.len();
            consumed += chunk.consumed;
            chunk.rows.shrink_to_fit();
            chunk.omitted = room.hold(&mut chunk.rejected);
            chunks.push_back(chunk);
            if consumed >= SAMPLE_ROWS_MAX || is_enough(rows, sampled) {
                break;
            }
        }
        if chunks.is_empty() { Err(Problem::NoRows) } else { Ok(chunks) }
    }

    /// Returns the position in a file of `bytes` bytes.
    pub(crate) fn position(&self, bytes: u64) -> Position {
        let consumed = match self {
            Input::Text(text) => text.lines.consumed(),
            Input::Columns(columns) => columns.consumed(bytes),
        };
        Position { consumed: consumed.min(bytes), total: bytes }
    }
}

impl TextRows {
    fn read<T: TableRows>(&mut self, rows: &mut T) -> Result<Option<RawChunk<T::Row>>, Problem> {
        let mut chunk = RawChunk::with_capacity(BATCH_ROWS);
        while chunk.consumed < BATCH_ROWS as u64 {
            let number = self.lines.number() + 1;
            let Some(text) = self.lines.next()? else { break };
            if text.trim_ascii().is_empty() {
                continue;
            }
            let split = self.cells.split(text, self.delimiter);
            // Exports of TongDaXin end with a comment.
            if text.starts_with(b"#") && self.cells.len() == 1 && self.width > 1 {
                continue;
            }
            let line = TextLine { cells: &self.cells, text, width: self.width, number };
            match split {
                Ok(()) => rows.of_line(&line, &mut chunk)?,
                Err(OpenQuote) => {
                    chunk.consumed += 1;
                    let reason = "a quote is not closed on its line".to_owned();
                    chunk.rejected.push(line.rejected(rows.symbol_column(), reason));
                }
            }
        }
        Ok((chunk.consumed > 0).then_some(chunk))
    }
}
