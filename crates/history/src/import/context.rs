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
    /// Let a file replace many stored candles by much different ones.
    pub replace: bool,
    /// Build one-minute and daily candles of the trades that are imported.
    pub build_candles: bool,
    /// Where the history that accounts are served begins. Earlier rows are stored too, and counted.
    pub floors: FloorTable,
}

/// What an import needs to know of its surroundings.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub store: &'a Store,
    pub venues: &'a Venues,
    pub options: &'a Options,
    pub now: &'a (dyn Fn() -> Timestamp + Sync),
    /// Set from outside to stop at the next flush.
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
