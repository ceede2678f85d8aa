//! Rows gathered between two commits, and the channel to the committer.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use files::{MarginRow, Rejected, SecurityRow};
use market::{Candles, Date, Symbol, Trades};
use store::{ImportRecord, ImportState, Series, StoredAction, Suspension};

use super::context::{PROBLEMS_SHOWN, QUARANTINE_MAX, Report};
use super::lay::Part;
use super::trade_lay::TradePart;

/// Index of a file in the command's file list.
pub(crate) type FileNo = usize;

/// Rows committed in one transaction, with their ledger records.
#[derive(Debug, Default)]
pub(crate) struct Flush {
    pub(crate) begins: Vec<Begin>,
    /// A series occurs at most once per flush, so its counts belong to one file.
    pub(crate) parts: Vec<(FileNo, Part)>,
    /// A symbol's day occurs at most once per flush.
    pub(crate) trades: Vec<(FileNo, TradePart)>,
    /// Days that an earlier run of a file has stored, from which candles may still have to be
    /// built.
    pub(crate) brought: Vec<(FileNo, Symbol, Date)>,
    pub(crate) securities: Vec<(FileNo, SecurityRow)>,
    pub(crate) actions: Vec<(FileNo, Symbol, Vec<StoredAction>)>,
    pub(crate) margins: Vec<(FileNo, MarginRow)>,
    pub(crate) suspensions: Vec<(FileNo, Symbol, Vec<Suspension>)>,
    pub(crate) rejected: Vec<(FileNo, Rejected)>,
    pub(crate) marks: Vec<Mark>,
}

impl Flush {
    /// Drops the candles, trades, rejected rows and marks of a file, but keeps the record that its
    /// import began.
    pub(crate) fn forget(&mut self, file: FileNo) {
        self.parts.retain(|(of, _)| *of != file);
        self.trades.retain(|(of, _)| *of != file);
        self.rejected.retain(|(of, _)| *of != file);
        self.marks.retain(|mark| mark.file != file);
    }
}

#[derive(Debug)]
pub(crate) struct Begin {
    pub(crate) file: FileNo,
    pub(crate) source: PathBuf,
    pub(crate) path: String,
    pub(crate) digest: [u8; 32],
    pub(crate) bytes: u64,
    pub(crate) kind: &'static str,
    pub(crate) options: String,
    /// Ledger entry of an unfinished earlier run that this run resumes.
    pub(crate) resumed: Option<ImportRecord>,
}

impl Begin {
    /// Number of rows before the checkpoint of an earlier run; zero if there was none.
    pub(crate) fn rows_done(&self) -> u64 {
        self.resumed.as_ref().map_or(0, |record| record.rows_done)
    }
}

/// Position in a file after this flush is committed.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) file: FileNo,
    pub(crate) rows: u64,
    pub(crate) quarantined: u64,
    pub(crate) state: ImportState,
    pub(crate) message: Option<String>,
}

/// Error: the committer has stopped. The committer returns the reason.
#[derive(Debug)]
pub(crate) struct CommitterGone;

/// Why the committer stopped writing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The rows could not be merged, or have two different periods.
    Laying(String),
    /// The file would replace many stored candles, and `Options::replace` is not set.
    Replacing(String),
    /// The import was stopped before the file was checked for replaced candles.
    Interrupted,
}

impl Failure {
    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Failure::Laying(message) | Failure::Replacing(message) => Some(message),
            Failure::Interrupted => None,
        }
    }
}

/// Files that the committer rejected while the gatherer was reading ahead. Both threads skip the
/// remaining rows of these files.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<BTreeMap<FileNo, Failure>>);

impl Failures {
    pub(crate) fn add(&self, file: FileNo, failure: Failure) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(file, failure);
    }

    pub(crate) fn of(&self, file: FileNo) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&file).cloned()
    }

    pub(crate) fn all(&self) -> BTreeMap<FileNo, Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The flush that is being gathered.
#[derive(Debug)]
pub(crate) struct Pending<'a> {
    sender: &'a SyncSender<Flush>,
    gathered: Gathered,
    /// Incremented whenever buffer indexes become invalid: by each flush, and when rows are
    /// dropped.
    pub(crate) number: u64,
}

#[derive(Debug, Default)]
struct Gathered {
    buffers: Vec<(FileNo, Part)>,
    by_series: HashMap<Series, usize>,
    trades: Vec<(FileNo, TradePart)>,
    by_day: HashMap<(Symbol, Date), usize>,
    rows: usize,
    flush: Flush,
}

impl<'a> Pending<'a> {
    pub(crate) fn new(sender: &'a SyncSender<Flush>) -> Pending<'a> {
        Pending { sender, gathered: Gathered::default(), number: 0 }
    }

    /// Returns the flush being gathered. Its candles and trades are added by `send`.
    pub(crate) fn flush_mut(&mut self) -> &mut Flush {
        &mut self.gathered.flush
    }

    pub(crate) fn rows(&self) -> usize {
        self.gathered.rows
    }

    /// Sends the flush to the committer and starts an empty one. Blocks until the committer
    /// receives the flush.
    pub(crate) fn send(&mut self) -> Result<(), CommitterGone> {
        let Gathered { mut buffers, mut flush, trades, .. } = std::mem::take(&mut self.gathered);
        self.number += 1;
        buffers.retain(|(_, part)| !part.candles.is_empty());
        flush.parts = buffers;
        flush.trades = trades;
        self.sender.send(flush).map_err(|_| CommitterGone)
    }

    /// Returns the index of the buffer for a series, creating it if needed. May send the current
    /// flush.
    pub(crate) fn buffer(&mut self, file: FileNo, series: Series) -> Result<usize, CommitterGone> {
        if let Some(at) = self.gathered.by_series.get(&series).copied() {
            if self.gathered.buffers.get(at).is_some_and(|(of, _)| *of == file) {
                return Ok(at);
            }
            // The buffer belongs to another file. It is sent first, because the rows of later files
            // take precedence, and each count belongs to one file. The rows of the current file are
            // carried over, because no checkpoint covers them yet.
            let own = self.gathered.take(file);
            self.send()?;
            self.gathered = own;
        }
        let at = self.gathered.buffers.len();
        self.gathered.buffers.push((file, Part { series: series.clone(), candles: Candles::default() }));
        self.gathered.by_series.insert(series, at);
        Ok(at)
    }

    #[inline]
    pub(crate) fn push(&mut self, at: usize, candle: market::Candle) {
        if let Some((_, part)) = self.gathered.buffers.get_mut(at) {
            part.candles.push(candle);
            self.gathered.rows += 1;
        }
    }

    /// Returns the index of the buffer for a symbol's day, creating it if needed. May send the
    /// current flush. `continues` is the time, in seconds, of the symbol's last trade that this
    /// file has already sent.
    pub(crate) fn trade_buffer(
        &mut self,
        file: FileNo,
        symbol: &Symbol,
        day: Date,
        continues: Option<i64>,
    ) -> Result<usize, CommitterGone> {
        let key = (symbol.clone(), day);
        if let Some(at) = self.gathered.by_day.get(&key).copied() {
            if self.gathered.trades.get(at).is_some_and(|(of, _)| *of == file) {
                return Ok(at);
            }
            // The buffer belongs to another file and is sent first, because a symbol's day occurs
            // at most once per flush.
            let own = self.gathered.take(file);
            self.send()?;
            self.gathered = own;
        }
        let at = self.gathered.trades.len();
        let part = TradePart { symbol: symbol.clone(), day, continues, trades: Trades::default() };
        self.gathered.trades.push((file, part));
        self.gathered.by_day.insert(key, at);
        Ok(at)
    }

    #[inline]
    pub(crate) fn push_trade(&mut self, at: usize, trade: market::Trade) {
        if let Some((_, part)) = self.gathered.trades.get_mut(at) {
            part.trades.push(trade);
            self.gathered.rows += 1;
        }
    }

    /// Drops a file's rows gathered since the last flush, but keeps the record that its import
    /// began.
    pub(crate) fn drop_rows(&mut self, file: FileNo) {
        let own = self.gathered.take(file);
        self.gathered.flush.begins.extend(own.flush.begins);
        // Buffer indexes have changed.
        self.number += 1;
    }

    /// Counts a rejected row, and quarantines it unless the file has reached the limit. `before` is
    /// the number of rows quarantined by earlier runs.
    pub(crate) fn quarantine(&mut self, file: FileNo, row: Rejected, before: u64, report: &mut Report) {
        report.quarantined += 1;
        if report.problems.len() < PROBLEMS_SHOWN {
            report.problems.push((row.line, row.reason.clone()));
        }
        if before + report.quarantined <= QUARANTINE_MAX {
            self.gathered.flush.rejected.push((file, row));
        }
    }
}

impl Gathered {
    /// Removes and returns the rows of one file. Invalidates the buffer indexes of `self` and of
    /// the result.
    fn take(&mut self, file: FileNo) -> Gathered {
        let mut own = Gathered {
            buffers: self.buffers.extract_if(.., |(of, _)| *of == file).collect(),
            trades: self.trades.extract_if(.., |(of, _)| *of == file).collect(),
            ..Gathered::default()
        };
        own.flush.begins = self.flush.begins.extract_if(.., |begin| begin.file == file).collect();
        own.flush.rejected = self.flush.rejected.extract_if(.., |(of, _)| *of == file).collect();
        own.flush.marks = self.flush.marks.extract_if(.., |mark| mark.file == file).collect();
        own.index();
        self.index();
        own
    }

    fn index(&mut self) {
        let places = self.buffers.iter().enumerate().map(|(at, (_, part))| (part.series.clone(), at));
        self.by_series = places.collect();
        let days =
            self.trades.iter().enumerate().map(|(at, (_, part))| ((part.symbol.clone(), part.day), at));
        self.by_day = days.collect();
        let trades: usize = self.trades.iter().map(|(_, part)| part.trades.len()).sum();
        self.rows = trades + self.buffers.iter().map(|(_, part)| part.candles.len()).sum::<usize>();
    }
}
