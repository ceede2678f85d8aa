use std::path::PathBuf;

use market::Timestamp;

/// Quarantined rows kept for each file; beyond that they are only counted.
pub(crate) const QUARANTINE_MAX: u64 = 10_000;
/// Rows whose text is quoted in a report.
pub(crate) const PROBLEMS_SHOWN: usize = 5;

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

/// How a file ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Imported,
    /// The ledger has this very file, imported with the same options.
    Known {
        at: Timestamp,
    },
    /// Stopped from outside; the same command goes on behind the last checkpoint.
    Interrupted,
    Failed(String),
    /// It would replace many stored candles by much different ones: nothing of it was imported, and the user has to say
    /// that it may.
    NotReplaced(String),
}
