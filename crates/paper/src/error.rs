use std::sync::Arc;

use history::HistoryError;
use market::Timestamp;
use store::StoreError;
use trading::Refusal;

use crate::account::commit::CommitError;

/// Reason why a request to a paper account failed.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    #[error(transparent)]
    Refused(Box<Refusal>),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The transaction shared with other requests failed.
    #[error(transparent)]
    Commit(Arc<StoreError>),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("cannot decode journal entry {number} of account {account}: {source}")]
    Entry { account: i64, number: u64, source: serde_json::Error },
    #[error("journal entry {number} of account {account} has the unsupported version {version}")]
    Foreign { account: i64, number: u64, version: u8 },
    #[error("the journal of account {account} ends unexpectedly at entry {number}")]
    Short { account: i64, number: u64 },
    #[error("cannot encode a journal entry of account {account}: {source}")]
    Write { account: i64, source: serde_json::Error },
    #[error("cannot read the statement of account {account} of {date}")]
    Statement { account: i64, date: market::Date },
    #[error("cannot store the statement of account {account} of {date}: it is too long")]
    StatementLong { account: i64, date: market::Date },
    /// Another process changed the account during every attempt.
    #[error("the journal of account {account} is changed concurrently: too many retries")]
    Contended { account: i64 },
    /// The account is still behind. The next request continues the catch-up work. If the account
    /// has open orders, the background runner continues too.
    #[error("the account is catching up with the market: it is at {at}, advancing to {to}; try again")]
    CatchingUp { at: Timestamp, to: Timestamp },
    #[error("a journal transaction was lost")]
    Lost,
    #[error("the account has no journal yet")]
    NoJournal,
    #[error("the account is at {horizon} and cannot be rewound to {to}, which is later")]
    NotBefore { horizon: Timestamp, to: Timestamp },
    #[error("a part of this journal is already named {0:?}")]
    NameTaken(String),
    #[error("the target account already has a journal")]
    NotEmpty,
}

impl PaperError {
    /// Returns the underlying store error, if any.
    pub fn store(&self) -> Option<&StoreError> {
        match self {
            PaperError::Store(error) | PaperError::History(HistoryError::Store(error)) => Some(error),
            PaperError::Commit(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Refusal> for PaperError {
    fn from(refusal: Refusal) -> PaperError {
        PaperError::Refused(Box::new(refusal))
    }
}

impl From<CommitError> for PaperError {
    fn from(error: CommitError) -> PaperError {
        match error {
            CommitError::Store(error) => PaperError::Commit(error),
            CommitError::Lost => PaperError::Lost,
        }
    }
}
