//! Files in: read and checked on one thread, merged and encoded on the cores that leaves, committed by the one writer
//! together with the ledger that says how far the file got.
//!
//! A flush is the unit of everything: so many rows are gathered, laid into their series and committed in one
//! transaction with the checkpoint. A crash or Ctrl-C therefore leaves whole blocks, and the same command goes on
//! behind the last checkpoint. Start with `gather.rs` (files to flushes), which sorts rows into series (`sorting.rs`)
//! of the next flush (`flush.rs`); then `commit.rs` (flushes to the store). Before anything of a file is committed,
//! `guard.rs` asks whether it may replace what it would replace; `replacing.rs` has the thresholds. Trades take the same way
//! (`trade_gather.rs`, `trade_lay.rs`); candles are built of them when all are stored (`trade_build.rs`). `preview.rs` says what an
//! import would do, and `undo.rs` takes back what one did, by what the ledger has kept of it (`changes.rs`).

mod changes;
mod commit;
mod context;
mod error;
mod flush;
mod gather;
mod guard;
mod identity;
mod inspect;
mod lay;
mod merge;
mod overlap;
mod preview;
mod replacing;
mod report;
mod sorting;
mod trade_build;
mod trade_gather;
mod trade_lay;
mod undo;
mod unserved;

use std::path::PathBuf;
use std::sync::mpsc;

pub use context::{Context, Options, Progress};
pub use error::ImportError;
pub use identity::{SourceFile, source_file};
pub use preview::preview;
pub use report::{MarketTime, Outcome, Report};
pub use undo::{Undo, UndoError, UndoneSeries, plan_undo, undo};

use crate::adjustment;

/// Rows gathered before a flush. Two flushes are in memory at once, about 80 bytes a row.
const FLUSH_ROWS: usize = 400_000;

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

/// The tables that paths stand for: those of a ZIP archive one by one. An archive that cannot be read stands for itself, and its
/// report says why.
fn tables_of(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().flat_map(|path| files::tables_in(path).unwrap_or_else(|_| vec![path.clone()])).collect()
}

/// As [`import`], in other sizes.
#[doc(hidden)]
pub fn import_sized(
    context: &Context<'_>,
    paths: &[PathBuf],
    sizes: Sizes,
) -> Result<Vec<Report>, ImportError> {
    let paths = &tables_of(paths);
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
