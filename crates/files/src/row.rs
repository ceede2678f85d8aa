//! Rows of a table, before and after their times are known.

use market::{Price, Session, Timestamp, Turnover};

use crate::number::Fault;
use crate::spelling::SymbolFault;
use crate::time::{RawTime, TimeFault};
use crate::{Problem, REJECTED_MAX};

/// One row of a candle table. Whether it is a valid candle is up to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandleRow {
    /// Index into [`CandleReader::symbols`](crate::CandleReader::symbols).
    pub symbol: u32,
    /// The line of a text file, from one; the row of a Parquet file, from one.
    pub line: u64,
    /// The start of the minute; local midnight of a day.
    pub time: Timestamp,
    /// From the file, if it has one.
    pub session: Option<Session>,
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub close: Price,
    pub volume: i64,
    pub turnover: Turnover,
}

/// A row that could not be read, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    pub line: u64,
    pub symbol: Option<String>,
    pub text: String,
    pub reason: String,
}

/// Some rows of a table: of candles or of trades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBatch<R> {
    pub rows: Vec<R>,
    pub rejected: Vec<Rejected>,
    /// Further rejected rows, beyond the [`REJECTED_MAX`](crate::REJECTED_MAX) that are held.
    pub omitted: u64,
}

pub type CandleBatch = RowBatch<CandleRow>;

impl<R> RowBatch<R> {
    /// Rows of the file that this batch accounts for.
    pub fn rows_read(&self) -> u64 {
        (self.rows.len() + self.rejected.len()) as u64 + self.omitted
    }
}

/// Why one row is left out; an error of the whole file is a [`Problem`].
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

/// How many rejected rows a sample may still hold. The length of the file is unknown, and every row
/// of it may be bad.
#[derive(Debug)]
pub(crate) struct RejectedRoom(usize);

impl RejectedRoom {
    pub(crate) fn new() -> RejectedRoom {
        RejectedRoom(REJECTED_MAX)
    }

    /// Drops those for which there is no room; returns how many.
    pub(crate) fn hold(&mut self, rejected: &mut Vec<Rejected>) -> u64 {
        let omitted = rejected.len().saturating_sub(self.0);
        rejected.truncate(self.0);
        rejected.shrink_to_fit();
        self.0 -= rejected.len();
        omitted as u64
    }
}

/// A row whose time is not resolved yet, because that depends on the whole file.
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

/// Rows as they were read.
#[derive(Debug)]
pub(crate) struct RawChunk<R> {
    pub rows: Vec<R>,
    pub rejected: Vec<Rejected>,
    pub omitted: u64,
    /// Rows of the file this chunk accounts for: those above together.
    pub consumed: u64,
}

impl<R> RawChunk<R> {
    pub(crate) fn with_capacity(rows: usize) -> RawChunk<R> {
        RawChunk { rows: Vec::with_capacity(rows), rejected: Vec::new(), omitted: 0, consumed: 0 }
    }

    /// Adds a row; `rejected` describes one that could not be read.
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
