//! Imports files. One thread reads and validates rows, the other cores merge and encode them, and a
//! single writer commits the result together with a ledger entry that records the position in the
//! file.
//!
//! The unit of work is a flush: a number of rows is gathered, merged into their series and
//! committed in one transaction with a checkpoint. A crash or Ctrl-C therefore leaves only whole
//! blocks, and running the same command again resumes after the last checkpoint. Start with
//! `gather.rs` (files to flushes), which sorts rows into series (`sorting.rs`) of the next flush
//! (`flush.rs`); then read `commit.rs` (flushes to the store). Before any row of a file is
//! committed, `guard.rs` checks whether the file may replace stored candles; the thresholds are in
//! `replacing.rs`. Trades take the same path (`trade_gather.rs`, `trade_lay.rs`); after all trades
//! are stored, candles are built from them (`trade_build.rs`). `preview.rs` computes the effect of
//! an import without writing, and `undo.rs` reverts an import by its ledger records (`changes.rs`).

pub(crate) mod changes;
mod commit;
pub(crate) mod context;
mod flush;
mod gather;
mod guard;
mod identity;
pub(crate) mod inspect;
pub(crate) mod lay;
pub(crate) mod merge;
mod overlap;
mod preview;
mod replacing;
pub(crate) mod sorting;
mod trade_build;
pub(crate) mod trade_gather;
pub(crate) mod trade_lay;
mod undo;

use std::path::PathBuf;
use std::sync::mpsc;

pub use context::{Context, ImportError, MarketTime, Options, Outcome, Progress, Report};
pub use identity::{SourceFile, source_file};
pub use preview::preview;
pub use undo::{Undo, UndoError, UndoneSeries, plan_undo, undo};

use crate::adjustment;

/// Rows per flush. Two flushes are held in memory, at about 80 bytes per row.
const FLUSH_ROWS: usize = 400_000;

/// Sizes of flushes and blocks, in rows. Tests use small sizes to cross many boundaries.
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

/// Imports files in order. An error in a file is returned in its report, and the import continues
/// with the next file; a store error ends the import.
pub fn import(context: &Context<'_>, paths: &[PathBuf]) -> Result<Vec<Report>, ImportError> {
    import_sized(context, paths, Sizes::default())
}

/// Lists the tables of each path; a ZIP archive may have several. For an unreadable archive, lists
/// the archive itself, so that its report has the error.
fn tables_of(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().flat_map(|path| files::tables_in(path).unwrap_or_else(|_| vec![path.clone()])).collect()
}

/// Like [`import`], with custom sizes.
#[doc(hidden)]
pub fn import_sized(
    context: &Context<'_>,
    paths: &[PathBuf],
    sizes: Sizes,
) -> Result<Vec<Report>, ImportError> {
    let paths = &tables_of(paths);
    let mut writer = context.store.writer()?;
    if writer.has_ingest()? {
        // Ingested rows are merged until the first flush is ready to be written.
        writer.pause();
    }
    let failures = &flush::Failures::default();
    std::thread::scope(|scope| {
        // A rendezvous channel: the next flush is gathered while the previous one is committed, and
        // there are never more than two flushes in memory.
        let (sender, receiver) = mpsc::sync_channel(0);
        let gatherer =
            scope.spawn(move || gather::gather(context, paths, sizes.flush_rows, failures, &sender));
        let committed = commit::commit(context, &mut writer, sizes.block_rows, failures, &receiver);
        // Dropping the receiver makes the gatherer stop at its next flush.
        drop(receiver);
        let reports = gatherer.join().map_err(|_| ImportError::Worker)?;
        let mut committed = committed?;
        let reports = reports?;
        if context.options.build_candles {
            let (touched, imports) = (&committed.touched, &committed.imports);
            let built = trade_build::build_candles(context, &mut writer, touched, imports, sizes.block_rows)?;
            committed.note_built(&built);
        }
        trade_build::keep_sizes(context, &mut writer, &committed.touched)?;
        let mut batch = writer.begin()?;
        adjustment::keep_all(&mut batch, context.venues)?;
        batch.commit()?;
        Ok(commit::join(reports, committed, failures.all()))
    })
}
