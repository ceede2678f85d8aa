use std::sync::atomic::{AtomicBool, AtomicU64};

use market::{FloorTable, Timestamp, Venues};
use store::Store;

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub read: files::ReadOptions,
    /// Refuse a file if any of its rows would be quarantined.
    pub strict: bool,
    /// Import a file even if the ledger shows that it is already imported.
    pub again: bool,
    /// Allow a file to replace many stored candles by very different ones.
    pub replace: bool,
    /// Build one-minute and daily candles from imported trades.
    pub build_candles: bool,
    /// Where the history served to accounts begins. Earlier rows are stored as well, and counted in
    /// the report.
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
