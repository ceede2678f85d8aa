//! Files in: read and checked on one thread, merged and encoded on the cores that leaves, committed by the one writer
//! together with the ledger that says how far the file got.
//!
//! A flush is the unit of everything: so many rows are gathered, laid into their series and committed in one
//! transaction with the checkpoint. A crash or Ctrl-C therefore leaves whole blocks, and the same command goes on
//! behind the last checkpoint. Start with `gather.rs` (files to flushes), which sorts rows into series (`sorting.rs`)
//! of the next flush (`flush.rs`); then `commit.rs` (flushes to the store). Before anything of a file is committed,
//! `guard.rs` asks whether it may replace what it would replace; `replacing.rs` has the thresholds.

mod commit;
mod flush;
mod gather;
mod guard;
mod inspect;
mod lay;
mod merge;
mod replacing;
mod sorting;
mod unserved;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc;

use market::{FloorTable, Timestamp, Venues};
use store::{Series, Store};

pub use commit::Outcome;

use crate::adjustment;

/// Rows gathered before a flush. Two flushes are in memory at once, about 80 bytes a row.
const FLUSH_ROWS: usize = 400_000;
/// Quarantined rows kept for each file; beyond that they are only counted.
const QUARANTINE_MAX: u64 = 10_000;
/// Rows whose text is quoted in a report.
const PROBLEMS_SHOWN: usize = 5;

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub read: files::ReadOptions,
    /// Refuse a file that has any row to quarantine.
    pub strict: bool,
    /// Import a file even if the ledger has it already.
    pub again: bool,
    /// Let a file replace many stored candles by much different ones.
    pub replace: bool,
    /// From when on accounts are served: earlier rows are stored all the same, and counted.
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

/// Counters for whoever draws a progress bar.
#[derive(Debug, Default)]
pub struct Progress {
    pub bytes: AtomicU64,
    pub rows: AtomicU64,
}

/// What became of one file.
#[derive(Clone, Debug)]
pub struct Report {
    pub path: PathBuf,
    pub kind: &'static str,
    pub outcome: Outcome,
    /// Rows behind an earlier checkpoint that were skipped this time.
    pub resumed_at: u64,
    pub rows: u64,
    pub symbols: u64,
    pub added: u64,
    pub replaced: u64,
    pub unchanged: u64,
    pub quarantined: u64,
    /// Rows that were stored and lie before what accounts are served.
    pub unserved: u64,
    pub notes: Vec<String>,
    /// The first few quarantined rows: line and reason.
    pub problems: Vec<(u64, String)>,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error("stored block of {series} at {at}: {source}")]
    Damaged { series: Series, at: Timestamp, source: block::BlockError },
    #[error("a worker of the import stopped unexpectedly")]
    Worker,
}

/// How much is gathered before a flush, and how large blocks are; tests take small ones to cross many boundaries.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub flush_rows: usize,
    pub block_rows: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { flush_rows: FLUSH_ROWS, block_rows: lay::BLOCK_ROWS }
    }
}

/// Imports files in their order. Trouble with one file is in its report and the others go on; trouble with the
/// store ends the import.
pub fn import(context: &Context<'_>, paths: &[PathBuf]) -> Result<Vec<Report>, ImportError> {
    import_sized(context, paths, Sizes::default())
}

/// As [`import`], in other sizes.
#[doc(hidden)]
pub fn import_sized(
    context: &Context<'_>,
    paths: &[PathBuf],
    sizes: Sizes,
) -> Result<Vec<Report>, ImportError> {
    let mut writer = context.store.writer()?;
    let failures = &flush::Failures::default();
    std::thread::scope(|scope| {
        // No queue: the next flush is gathered while this one is committed, and no third is in memory.
        let (sender, receiver) = mpsc::sync_channel(0);
        let gatherer =
            scope.spawn(move || gather::gather(context, paths, sizes.flush_rows, failures, &sender));
        let committed = commit::commit(context, &mut writer, sizes.block_rows, failures, &receiver);
        // Dropping the receiver lets a gatherer that still runs stop at its next flush.
        drop(receiver);
        let reports = gatherer.join().map_err(|_| ImportError::Worker)?;
        let committed = committed?;
        let reports = reports?;
        let mut batch = writer.begin()?;
        adjustment::keep_all(&mut batch, context.venues)?;
        batch.commit()?;
        Ok(commit::join(reports, committed, failures.all()))
    })
}
