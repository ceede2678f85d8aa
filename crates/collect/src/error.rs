//! Errors that end a run.

use history::import::ImportError;
use history::ingest::IngestError;
use source::SourceError;
use store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Ingest(#[from] IngestError),
    #[error("the settings of the mirror cannot be read: {0}")]
    Settings(#[from] serde_json::Error),
    #[error(transparent)]
    Series(#[from] mirror::SeriesError),
    #[error(transparent)]
    Plan(#[from] mirror::PlanError),
    #[error("the mirror {0} was removed")]
    Removed(String),
    /// The process was suspended for so long that its lock has expired.
    #[error("another process has taken the lock of the mirror {0}: run it again when that has ended")]
    LockLost(String),
}
