//! Rows of a table, before and after their times are resolved.

use market::{Price, Session, Timestamp, Turnover};

use crate::number::Fault;
use crate::spelling::SymbolFault;
use crate::time::{RawTime, TimeFault};
use crate::{Problem, REJECTED_MAX};

/// One row of a candle table. The caller must check that the row is a valid candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandleRow {
    /// Index into [`CandleReader::symbols`](crate::CandleReader::symbols).
    pub symbol: u32,
    /// Line of a text file or row of a Parquet file, starting at 1.
    pub line: u64,
    /// Start of a minute candle, or local midnight for a daily candle.
    pub time: Timestamp,
    /// The trading session according to the file; `None` if the file has no readable session for
    /// the row.
    pub session: Option<Session>,
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub close: Price,
    pub volume: i64,
    pub turnover: Turnover,
}

/// A row that could not be parsed, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    pub line: u64,
    pub symbol: Option<String>,
    pub text: String,
    pub reason: String,
}

/// A batch of candle or trade rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBatch<R> {
    pub rows: Vec<R>,
    pub rejected: Vec<Rejected>,
    /// Number of rejected rows that are not stored, because [`REJECTED_MAX`] rows are already
    /// stored.
    pub omitted: u64,
}

pub type CandleBatch = RowBatch<CandleRow>;

impl<R> RowBatch<R> {
    /// Returns the number of the file's rows in this batch, including rejected ones.
    pub fn rows_read(&self) -> u64 {
        (self.rows.len() + self.rejected.len()) as u64 + self.omitted
    }
}

/// An error in one row, or in the whole file.
pub(crate) enum RowFault {
    Row(String),
    File(Problem),
}

impl From<SymbolFault> for RowFault {
    fn from(fault: SymbolFault) -> RowFault {
        match fault {
            SymbolFault::Bad(reason) => RowFault::Row(reason),
            SymbolFault::TooMany => RowFault::File(Problem::Symbols),
        }
    }
}

impl From<TimeFault> for RowFault {
    fn from(fault: TimeFault) -> RowFault {
        RowFault::Row(fault.to_string())
    }
}

pub(crate) fn named(field: &'static str) -> impl Fn(Fault) -> RowFault {
    move |fault| RowFault::Row(format!("{field} {fault}"))
}

/// Number of rejected rows that a sample may still store. Without a limit, a file of only bad rows
/// would fill the memory.
#[derive(Debug)]
pub(crate) struct RejectedRoom(usize);

impl RejectedRoom {
    pub(crate) fn new() -> RejectedRoom {
        RejectedRoom(REJECTED_MAX)
    }

    /// Drops the rows that exceed the limit and returns their number.
    pub(crate) fn hold(&mut self, rejected: &mut Vec<Rejected>) -> u64 {
        let omitted = rejected.len().saturating_sub(self.0);
        rejected.truncate(self.0);
        rejected.shrink_to_fit();
        self.0 -= rejected.len();
        omitted as u64
    }
}

/// A row whose time is not resolved yet, because the time format depends on the whole file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRow {
    pub line: u64,
    pub symbol: u32,
    pub time: RawTime,
    pub open: i64,
    pub high: i64,
    pub low: i64,
    pub close: i64,
    pub volume: i64,
    pub turnover: i128,
    pub session: Option<Session>,
}

/// A batch of rows whose times are not resolved yet.
#[derive(Debug)]
pub(crate) struct RawChunk<R> {
    pub rows: Vec<R>,
    pub rejected: Vec<Rejected>,
    pub omitted: u64,
    /// Number of the file's rows in this chunk: valid, rejected and omitted ones.
    pub consumed: u64,
}

impl<R> RawChunk<R> {
    pub(crate) fn with_capacity(rows: usize) -> RawChunk<R> {
        RawChunk { rows: Vec::with_capacity(rows), rejected: Vec::new(), omitted: 0, consumed: 0 }
    }

    /// Appends a row. If the row could not be parsed, `rejected` builds its report entry.
    #[inline]
    pub(crate) fn push(
        &mut self,
        row: Result<R, RowFault>,
        rejected: impl FnOnce(String) -> Rejected,
    ) -> Result<(), Problem> {
        match row {
            Ok(row) => self.rows.push(row),
            Err(RowFault::Row(reason)) => self.rejected.push(rejected(reason)),
            Err(RowFault::File(problem)) => return Err(problem),
        }
        Ok(())
    }
}
