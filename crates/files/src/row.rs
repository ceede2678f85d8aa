//! Rows of a candle table, before and after their times are known.

use market::{Price, Session, Timestamp, Turnover};

use crate::REJECTED_MAX;
use crate::time::RawTime;

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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CandleBatch {
    pub rows: Vec<CandleRow>,
    pub rejected: Vec<Rejected>,
    /// Further rejected rows, beyond the [`REJECTED_MAX`](crate::REJECTED_MAX) that are held.
    pub omitted: u64,
}

impl CandleBatch {
    /// Rows of the file that this batch accounts for.
    pub fn rows_read(&self) -> u64 {
        (self.rows.len() + self.rejected.len()) as u64 + self.omitted
    }
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

#[derive(Debug, Default)]
pub(crate) struct RawChunk {
    pub rows: Vec<RawRow>,
    pub rejected: Vec<Rejected>,
    pub omitted: u64,
    /// Rows of the file this chunk accounts for: those above together.
    pub consumed: u64,
}
