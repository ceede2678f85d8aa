//! Inputs and results of an import: options, environment, reports and errors.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use files::{LacksSymbol, Understood};
use market::{Candle, FloorTable, Market, Symbol, Timestamp, Trade, Venues};
use store::{ImportId, Series, Store};

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub read: files::ReadOptions,
    /// Refuse a file if any of its rows would be quarantined.
    pub strict: bool,
    /// Import a file even if the ledger shows that it is already imported.
    pub again: bool,
    /// Allow a file to replace many stored candles with very different ones.
    pub replace: bool,
    /// Build one-minute and daily candles from imported trades.
    pub build_candles: bool,
    /// Start of the history that is served to accounts. Earlier rows are also stored, and counted
    /// in the report.
    pub floors: FloorTable,
}

/// Environment of an import.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub store: &'a Store,
    pub venues: &'a Venues,
    pub options: &'a Options,
    pub now: &'a (dyn Fn() -> Timestamp + Sync),
    /// Set by the caller to stop the import at the next flush.
    pub stop: &'a AtomicBool,
    pub progress: &'a Progress,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("options", self.options).finish_non_exhaustive()
    }
}

/// Counters for a progress bar.
#[derive(Debug, Default)]
pub struct Progress {
    pub bytes: AtomicU64,
    pub rows: AtomicU64,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error("stored block of {series} at {at}: {source}")]
    Damaged { series: Series, at: Timestamp, source: block::BlockError },
    #[error("stored trades of {symbol} at {at}: {source}")]
    DamagedTrades { symbol: Symbol, at: Timestamp, source: block::BlockError },
    #[error("a worker of the import stopped unexpectedly")]
    Worker,
}

/// Maximum number of quarantined rows stored per file; further rows are only counted.
pub(crate) const QUARANTINE_MAX: u64 = 10_000;
/// Maximum number of problems listed in a report.
pub(crate) const PROBLEMS_SHOWN: usize = 5;

/// Maximum number of symbols listed in a report.
pub(crate) const NAMES_SHOWN: usize = 8;

/// A stamp, and the market whose time zone it is shown in, because a file may have symbols of
/// several markets.
pub type MarketTime = (Timestamp, Market);

/// Result of importing one file.
#[derive(Clone, Debug)]
pub struct Report {
    pub path: PathBuf,
    pub kind: &'static str,
    pub outcome: Outcome,
    /// Ledger entry of the import; `None` if the ledger has none.
    pub import: Option<ImportId>,
    /// Set if the file does not name its security, so that the user has to.
    pub lacks_symbol: Option<LacksSymbol>,
    /// How the columns of a candle table were interpreted.
    pub understood: Option<Understood>,
    /// First symbols of the file.
    pub names: Vec<Symbol>,
    /// Stamps of the first and last candle or trade that was stored, or that would be stored in a
    /// dry run.
    pub range: Option<(MarketTime, MarketTime)>,
    /// Only in a dry run: the first candles as they would be stored.
    pub first_rows: Vec<(Symbol, Candle)>,
    /// Only in a dry run: the first trades as they would be stored.
    pub first_trades: Vec<(Symbol, Trade)>,
    /// Number of rows that this run skipped because an earlier run has stored them.
    pub resumed_at: u64,
    pub rows: u64,
    /// Total number of symbols in the file.
    pub symbols: u64,
    pub added: u64,
    pub replaced: u64,
    pub unchanged: u64,
    pub quarantined: u64,
    /// Number of stored rows before the start of the history that is served to accounts.
    pub unserved: u64,
    pub notes: Vec<String>,
    /// Line numbers and reasons of the first quarantined rows.
    pub problems: Vec<(u64, String)>,
}

impl Report {
    /// Counts rejected rows whose text the reader has dropped. `are_new` is false if an earlier run
    /// of the file has already counted them.
    pub(crate) fn omit(&mut self, rows: u64, are_new: bool) {
        self.quarantined += if are_new { rows } else { 0 };
    }

    pub(crate) fn of(path: &Path) -> Report {
        Report {
            path: path.to_owned(),
            kind: "",
            outcome: Outcome::Imported,
            import: None,
            lacks_symbol: None,
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

    /// Adds the reader's notes after a table has been read. Clears `understood` if the table had no
    /// readable row.
    pub(crate) fn understand(&mut self, has_rows: bool, notes: Vec<String>) {
        if has_rows {
            self.notes.extend(notes);
        } else {
            self.understood = None;
        }
    }

    /// Extends the range by a candle or trade.
    pub(crate) fn see(&mut self, at: Timestamp, market: Market) {
        let seen = (at, market);
        let (first, last) = self.range.get_or_insert((seen, seen));
        (*first, *last) = ((*first).min(seen), (*last).max(seen));
    }
}

/// Result of processing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Imported,
    /// Dry run: nothing was written.
    Checked,
    /// The ledger already has the same file, imported with the same options.
    Known {
        at: Timestamp,
    },
    /// Stopped by the caller. The same command resumes after the last checkpoint.
    Interrupted,
    Failed(String),
    /// Refused, because the file would replace many stored candles with very different ones.
    /// Nothing was imported; the user can allow the replacement with an option.
    NotReplaced(String),
}
