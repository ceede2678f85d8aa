//! Ingest of candles, complete or not, and single trades while a server runs.
//!
//! A batch is processed in two steps. [`Intake`] validates its rows, determines their changes, and
//! appends the batch to a log, which makes it durable and acknowledges it. [`Merger`] merges many
//! logged batches into blocks, with the code of the import. Readers see only merged batches, and
//! all rows of a batch become visible atomically. A logged batch survives a crash: the next merger
//! continues after the last merged batch. [`Commit`] is a logged batch, for the pushes of live
//! quotes. Start with `intake.rs`, then `known.rs` and `merge.rs`.

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

/// Default number of seconds after the end of a partial minute at which the minute becomes final.
pub const GRACE_S: i64 = 5;

#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// A previous batch of the source is missing.
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

/// Returns a fingerprint of bytes as text.
pub fn fingerprint(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().get(..16).unwrap_or_default().to_owned()
}

/// Returns the exclusive end of a candle: the end of its minute, of the closing auction, or of its
/// day.
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

/// Versions of the store before and after merges of this process. A change of the version by these
/// merges does not invalidate the cache of an [`Intake`].
#[derive(Clone, Debug, Default)]
struct MergeVersions(Arc<Mutex<Vec<(i64, i64)>>>);

/// Maximum number of stored merges.
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
