//! Errors that name a security whose stored data is damaged.

use history::HistoryError;
use history::ingest::IngestError;
use market::Symbol;
use paper::PaperError;
use store::StoreError;

/// An error that may name the symbol whose stored data is damaged.
pub(crate) trait Suspect {
    fn damaged_symbol(&self) -> Option<&Symbol>;
}

impl Suspect for StoreError {
    fn damaged_symbol(&self) -> Option<&Symbol> {
        None
    }
}

impl Suspect for HistoryError {
    fn damaged_symbol(&self) -> Option<&Symbol> {
        match self {
            HistoryError::Damaged { series, .. } => Some(&series.symbol),
            HistoryError::DamagedTrades { symbol, .. } => Some(symbol),
            _ => None,
        }
    }
}

impl Suspect for IngestError {
    fn damaged_symbol(&self) -> Option<&Symbol> {
        None
    }
}

impl Suspect for PaperError {
    fn damaged_symbol(&self) -> Option<&Symbol> {
        match self {
            PaperError::History(error) => error.damaged_symbol(),
            _ => None,
        }
    }
}
