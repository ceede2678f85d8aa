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
}
