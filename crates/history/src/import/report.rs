use std::path::{Path, PathBuf};

use files::Understood;
use market::{Candle, Market, Symbol, Timestamp, Trade};
use store::ImportId;

/// Quarantined rows stored for each file; further ones are only counted.
pub(crate) const QUARANTINE_MAX: u64 = 10_000;
/// Rows whose text is quoted in a report.
pub(crate) const PROBLEMS_SHOWN: usize = 5;

/// Symbols of a file that are named in its report.
pub(crate) const NAMES_SHOWN: usize = 8;

/// A stamp, and the market in whose zone it is shown: a file may have symbols of several.
pub type MarketTime = (Timestamp, Market);

/// The result of importing one file.
#[derive(Clone, Debug)]
pub struct Report {
    pub path: PathBuf,
    pub kind: &'static str,
    pub outcome: Outcome,
    /// Its ledger entry; `None` if there is none.
    pub import: Option<ImportId>,
    /// How a table of candles was read.
    pub understood: Option<Understood>,
    /// Its first symbols; `symbols` counts all of them.
    pub names: Vec<Symbol>,
    /// The first and the last candle or trade that was stored, or would be.
    pub range: Option<(MarketTime, MarketTime)>,
    /// Of a dry run: the first rows as they would be stored.
    pub first_rows: Vec<(Symbol, Candle)>,
    /// The same of a table of trades.
    pub first_trades: Vec<(Symbol, Trade)>,
    /// Rows before an earlier checkpoint that were skipped in this run.
    pub resumed_at: u64,
    pub rows: u64,
    pub symbols: u64,
    pub added: u64,
    pub replaced: u64,
    pub unchanged: u64,
    pub quarantined: u64,
    /// Stored rows before the history that accounts are served.
    pub unserved: u64,
    pub notes: Vec<String>,
    /// The first few quarantined rows: line and reason.
    pub problems: Vec<(u64, String)>,
}

impl Report {
    /// Counts rejected rows that the reader has dropped, unless an earlier run of the file has
    /// counted them.
    pub(crate) fn omit(&mut self, rows: u64, are_new: bool) {
        self.quarantined += if are_new { rows } else { 0 };
    }

    pub(crate) fn of(path: &Path) -> Report {
        Report {
            path: path.to_owned(),
            kind: "",
            outcome: Outcome::Imported,
            import: None,
            understood: None,
            names: Vec::new(),
            range: None,
            first_rows: Vec::new(),
            first_trades: Vec::new(),
            resumed_at: 0,
            rows: 0,
            symbols: 0,
            added: 0,
            replaced: 0,
            unchanged: 0,
            quarantined: 0,
            unserved: 0,
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Completes the report after a table has been read. A table without a readable row was not
    /// understood.
    pub(crate) fn understand(&mut self, has_rows: bool, notes: Vec<String>) {
        if has_rows {
            self.notes.extend(notes);
        } else {
            self.understood = None;
        }
    }

    /// Adds a stored candle or trade to the range.
    pub(crate) fn see(&mut self, at: Timestamp, market: Market) {
        let seen = (at, market);
        let (first, last) = self.range.get_or_insert((seen, seen));
        (*first, *last) = ((*first).min(seen), (*last).max(seen));
    }
}

/// How a file ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Imported,
    /// A dry run: nothing was written.
    Checked,
    /// The ledger has the same file, imported with the same options.
    Known {
        at: Timestamp,
    },
    /// Stopped by the caller; the same command resumes after the last checkpoint.
    Interrupted,
    Failed(String),
    /// It would replace many stored candles by very different ones: nothing of it was imported, and
    /// the user has to allow it.
    NotReplaced(String),
}
