//! Errors of account and key operations, and the reasons why authentication fails.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use store::{AccountId, StoreError, StoreUrl};

use crate::ReportError;

/// Errors of account and key operations. They are shown to operators and never sent to callers.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot {what} {}", path.display())]
    KeyFile { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not a key file: its length is not {expected} bytes: restore a copy", path.display())]
    KeyLength { path: PathBuf, expected: usize },
    #[error("{} is readable by every user of this machine: run `chmod 600` on it", path.display())]
    KeyExposed { path: PathBuf },
    #[error(
        "{} is missing, and without it no request can be checked: restore a copy, or remove accounts.db beside it to \
         start with no accounts", path.display()
    )]
    KeyMissing { path: PathBuf },
    #[error(
        "the key file of the PostgreSQL store was not found: name it with --key-file FILE or \
         CHANDLER_KEY_FILE"
    )]
    KeyUnnamed,
    #[error(
        "{} is missing, and the secrets in {place} are sealed with a key that another node has: copy the key file of that node to \
         it, with mode 0600, or name another one with --key-file", path.display()
    )]
    KeyElsewhere { path: PathBuf, place: StoreUrl },
    #[error(
        "the secrets in {place} were sealed with another key than {}: copy the key file of the first node there, or name it with \
         --key-file", path.display()
    )]
    KeyDiffers { path: PathBuf, place: StoreUrl },
    #[error(
        "{} already exists and differs from the key {}: name another file with --key-file", path.display(), from.display()
    )]
    KeyTaken { path: PathBuf, from: PathBuf },
    #[error(
        "cannot open the app secret of account {}: the key file is not the one it was sealed with: restore a copy",
        account.0
    )]
    Sealed { account: AccountId },
    #[error("cannot get random bytes from the system")]
    Random(#[source] getrandom::Error),
    #[error("account {} holds {text:?} where a {field} belongs", account.0)]
    Value { account: AccountId, field: &'static str, text: String },
    #[error("{name:?} cannot name an account: {reason}")]
    Name { name: String, reason: &'static str },
    #[error("this cannot be a password: {0}")]
    Password(&'static str),
    #[error("cannot give these terms: {0}")]
    Terms(String),
    #[error("the account was changed concurrently: reload it and try again")]
    TermsChanged,
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The database has been unreachable for longer than the offline window.
    #[error("the database has been unreachable for longer than this node's offline window")]
    Lost,
    #[error("cannot read the built-in calendar")]
    Calendar(#[source] market::CalendarError),
}

impl AccessError {
    /// Returns whether the error was caused by an unreachable database, so that a retry may
    /// succeed.
    pub fn is_unreachable(&self) -> bool {
        match self {
            AccessError::Store(error) => error.is_unreachable(),
            AccessError::Lost => true,
            _ => false,
        }
    }

    /// Returns whether the database gave no answer, including when it is unreachable.
    pub fn is_unanswered(&self) -> bool {
        self.is_unreachable() || matches!(self, AccessError::Store(error) if error.is_unanswered())
    }

    /// Returns whether a write failed because the disk is full.
    pub fn is_full(&self) -> bool {
        matches!(self, AccessError::Store(error) if error.is_full())
    }

    /// Returns the time to wait before a retry if an account has exceeded an hourly limit, and
    /// `None` for any other error.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            AccessError::Store(StoreError::TooOften { retry_after_s, .. }) => {
                Some(Duration::from_secs(u64::try_from(*retry_after_s).unwrap_or(0)))
            }
            _ => None,
        }
    }
}

/// Why authentication failed, with one variant per response code that clients can distinguish. The
/// server maps variants to codes. The messages may be sent to the client.
#[derive(Debug, thiserror::Error)]
pub enum Denial {
    /// Response code 401003.
    #[error("{0}")]
    TokenExpired(&'static str),
    /// Response code 401004.
    #[error("{0}")]
    TokenInvalid(&'static str),
    /// Response code 403201.
    #[error("{0}")]
    SignatureInvalid(&'static str),
    /// Response code 403203.
    #[error("the app key is unknown: check x-api-key")]
    KeyUnknown,
    /// Response code 403008.
    #[error("the access token was issued without the scope openapi: sign in again and request it")]
    ScopeMissing,
    /// The credentials are valid, but all connection slots of the account are taken. A one-time
    /// password is not consumed.
    #[error(
        "connections limitation is hit: {} of {} connections of this account are open: close one and try again",
        .0.online, .0.limit
    )]
    ConnectionsTaken(Slots),
    #[error("the service failed to check the credentials: try again")]
    Failed(#[source] AccessError),
}

impl<E: Into<AccessError>> From<E> for Denial {
    fn from(error: E) -> Denial {
        Denial::Failed(error.into())
    }
}

/// Number of open connections of an account, and its connection limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub online: u32,
    pub limit: u32,
}
