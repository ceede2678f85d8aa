use std::sync::atomic::{AtomicBool, AtomicU64};

use market::{FloorTable, Timestamp, Venues};
use store::Store;

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub read: files::ReadOptions,
    /// Refuse a file that has any row to quarantine.
    pub strict: bool,
    /// Import a file even if the ledger has it already.
    pub again: bool,
    /// Let a file replace many stored candles by very different ones.
    pub replace: bool,
    /// Build one-minute and daily candles from the imported trades.
    pub build_candles: bool,
    /// Where the history served to accounts begins. Earlier rows are stored too, and counted.
    pub floors: FloorTable,
}

/// The environment of an import.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub store: &'a Store,
    pub venues: &'a Venues,
    pub options: &'a Options,
    pub now: &'a (dyn Fn() -> Timestamp + Sync),
    /// Set by the caller to stop at the next flush.
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
