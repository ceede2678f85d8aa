//! Rows that arrive while a server runs: candles, complete or not, and single trades.
//!
//! A batch takes two steps. [`Intake`] checks its rows, decides what each of them changes, and
//! appends the batch to a log; it is durable and acknowledged then. [`Merger`] merges logged
//! batches into blocks, many at a time, by the same code as an import. Readers see only merged
//! batches, all rows of one at once. A batch that is logged but not merged survives a crash: the
//! next merger continues after the last merged one. [`Commit`] is a logged batch, for the pushes of
//! live quotes. Start with `intake.rs`, then `known.rs` and `merge.rs`.

mod commit;
mod intake;
mod known;
mod merge;
mod recent;
mod tails;

pub use commit::{Commit, CommittedCandle, CommittedTrade, Counts, Effect, RefusedRow};
pub use intake::{CandleInput, Head, Intake, Outcome, Parsed, Receipt, Rows, Submitted, TradeInput};
pub use merge::{Merged, Merger};
pub use recent::RecentCommits;

use std::sync::{Arc, Mutex, PoisonError};

use market::{Grain, Timestamp, Venue};
use store::StoreError;

use crate::import::ImportError;

/// Default time after its end at which a partial minute counts as final, in seconds.
pub const GRACE_S: i64 = 5;

#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// A batch of the source is missing.
    #[error("expected seq {expected}")]
    Gap { expected: i64 },
    #[error("ingested batch {id} is damaged")]
    Damaged { id: i64 },
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IngestError {
    /// Returns the store's error, if it caused this one.
    pub fn store(&self) -> Option<&StoreError> {
        match self {
            IngestError::Store(error) | IngestError::Import(ImportError::Store(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns whether another process is writing to the store.
    pub fn is_busy(&self) -> bool {
        matches!(self.store(), Some(StoreError::Busy { .. } | StoreError::Locked { .. }))
    }
}

/// Returns a text that identifies bytes.
pub fn fingerprint(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().get(..16).unwrap_or_default().to_owned()
}

/// Returns the exclusive end of a candle: of its minute, of the closing auction, or of its day.
fn end_of(venue: &Venue, grain: Grain, stamp: Timestamp) -> Timestamp {
    if grain == Grain::Day {
        return venue.day_end(venue.zone().date(stamp));
    }
    let minutes = match venue.slot(stamp) {
        Some(slot) if slot.is_tail(stamp) => i64::from(slot.segment.tail),
        _ => 1,
    };
    Timestamp(stamp.0.saturating_add(minutes * 60))
}

/// Versions of the store before and after merges of this process. A change of the version that they
/// explain does not invalidate what an [`Intake`] knows.
#[derive(Clone, Debug, Default)]
struct MergeVersions(Arc<Mutex<Vec<(i64, i64)>>>);

/// Number of merges that are remembered.
const MERGES_KEPT: usize = 256;

impl MergeVersions {
    fn note(&self, before: i64, after: i64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MERGES_KEPT {
            all.remove(0);
        }
        all.push((before, after));
    }

    /// Returns the version after the merges that follow `version` without a gap.
    fn after(&self, mut version: i64) -> i64 {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (before, after) in all.iter() {
            if *before == version {
                version = *after;
            }
        }
        version
    }
}
