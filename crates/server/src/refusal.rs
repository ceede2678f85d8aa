//! The closed list of refusals, and the two tables that map them to protocol and HTTP codes.

use std::time::Duration;

use access::Region;
use history::{BadQuery, HistoryError};
use store::StoreError;
use wire::{Status, code};

use crate::metrics::Outcome;

/// Message while the database is unreachable.
const AWAY: &str = "the database is unreachable: try again later, nothing was charged";

/// Message when the disk is full.
const DISK_FULL: &str =
    "the disk of the database is full: nothing was changed or charged, the operator must free some space";

/// Why a request is refused. The text is a constant, or derived from the caller's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The body cannot be decoded as the command's message.
    Malformed(String),
    UnknownCommand(u8),
    /// The connection is not signed in.
    Unauthenticated,
    /// The operator has revoked the account.
    Revoked,
    /// The account exceeded its request window.
    TooFast {
        text: String,
        retry_after: Duration,
    },
    /// The account exceeded its general rate limit in calls per second.
    TooManyCalls {
        text: String,
        retry_after: Duration,
    },
    /// The connection or account has too many concurrent requests.
    Busy,
    BadQuery(String),
    NoQuotes(String),
    NoAccess(String),
    /// The account's monthly quota of securities is used up.
    QuotaSpent(String),
    /// One request has more symbols or candles than the command accepts.
    TooMany(String),
    /// The account would exceed its limit of subscriptions.
    TooManySubscriptions(String),
    /// A protocol command that is not supported.
    NotOffered(&'static str),
    /// The client's deadline has passed.
    TimedOut,
    /// The database is unreachable, and the request needs it. Nothing was charged.
    Away(String),
    /// The database's disk is full, and the request needs to write. Nothing was changed or charged.
    DiskFull,
    /// The clock of the caller's world was moving for too long.
    ClockMoves,
    /// Not an error: the request must be retried on a thread that may block. Never sent to a
    /// client.
    Waits,
    /// A server error. The cause is logged.
    Internal,
}

/// An account used a listener for another region.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WrongRegion {
    #[error(
        "this account belongs to region {region}, but this listener serves only region {listener_region}: use the \
         listener for all regions, {serves_all_at}"
    )]
    Elsewhere { region: Region, listener_region: Region, serves_all_at: String },
    #[error("cannot look up the account")]
    Unknown(#[source] access::AccessError),
}

impl Refusal {
    /// Returns status and code on a long connection.
    pub(crate) fn on_wire(&self) -> (Status, u64) {
        match self {
            Refusal::Malformed(_) | Refusal::UnknownCommand(_) => (Status::BadRequest, code::INVALID),
            Refusal::TooFast { .. } | Refusal::TooManyCalls { .. } | Refusal::Busy => {
                (Status::BadRequest, code::RATE)
            }
            Refusal::Unauthenticated | Refusal::Revoked => (Status::Unauthenticated, code::UNAUTHENTICATED),
            // The protocol defines that a body that decodes but is invalid is a server error.
            Refusal::BadQuery(_) => (Status::ServerError, code::INVALID),
            Refusal::NoQuotes(_) => (Status::ServerError, code::NO_QUOTES),
            Refusal::NoAccess(_) => (Status::ServerError, code::NO_ACCESS),
            Refusal::QuotaSpent(_) | Refusal::TooMany(_) => (Status::ServerError, code::TOO_MANY),
            Refusal::TooManySubscriptions(_) => (Status::ServerError, code::TOO_MANY_SUBSCRIPTIONS),
            Refusal::NotOffered(_)
            | Refusal::Away(_)
            | Refusal::DiskFull
            | Refusal::ClockMoves
            | Refusal::Waits
            | Refusal::Internal => (Status::ServerError, code::SERVER),
            Refusal::TimedOut => (Status::ServerTimeout, code::SERVER),
        }
    }

    /// Returns the HTTP status. The envelope carries the code from [`Refusal::on_wire`].
    pub(crate) fn on_http(&self) -> u16 {
        match self {
            Refusal::Malformed(_) | Refusal::UnknownCommand(_) | Refusal::BadQuery(_) => 400,
            Refusal::Unauthenticated | Refusal::Revoked => 401,
            Refusal::NoAccess(_)
            | Refusal::QuotaSpent(_)
            | Refusal::TooMany(_)
            | Refusal::TooManySubscriptions(_) => 403,
            Refusal::NoQuotes(_) => 404,
            Refusal::TooFast { .. } | Refusal::TooManyCalls { .. } | Refusal::Busy => 429,
            Refusal::NotOffered(_) => 501,
            Refusal::TimedOut => 504,
            Refusal::Away(_) | Refusal::ClockMoves => 503,
            Refusal::DiskFull => 507,
            Refusal::Waits | Refusal::Internal => 500,
        }
    }

    /// Returns whether the refusal is due to a limit that an operator can lift, which is the
    /// account's rate, quota or floors.
    pub(crate) fn is_limit(&self) -> bool {
        match self {
            Refusal::TooFast { .. } | Refusal::TooManyCalls { .. } | Refusal::QuotaSpent(_) => true,
            Refusal::BadQuery(text) => *text == BadQuery::BelowMinuteFloor.to_string(),
            Refusal::Malformed(_)
            | Refusal::UnknownCommand(_)
            | Refusal::Unauthenticated
            | Refusal::Revoked
            | Refusal::Busy
            | Refusal::NoQuotes(_)
            | Refusal::NoAccess(_)
            | Refusal::TooMany(_)
            | Refusal::TooManySubscriptions(_)
            | Refusal::NotOffered(_)
            | Refusal::TimedOut
            | Refusal::Away(_)
            | Refusal::DiskFull
            | Refusal::ClockMoves
            | Refusal::Waits
            | Refusal::Internal => false,
        }
    }

    /// Appends `more` to the text of a limit refusal. Other refusals are unchanged.
    pub(crate) fn followed_by(self, more: &str) -> Refusal {
        match self {
            Refusal::TooFast { text, retry_after } => Refusal::TooFast { text: text + more, retry_after },
            Refusal::TooManyCalls { text, retry_after } => {
                Refusal::TooManyCalls { text: text + more, retry_after }
            }
            Refusal::QuotaSpent(text) => Refusal::QuotaSpent(text + more),
            Refusal::BadQuery(text) => Refusal::BadQuery(text + more),
            other => other,
        }
    }

    /// Returns whether the refusal counts toward the caller's backoff. Server errors do not count.
    pub(crate) fn is_held_against_them(&self) -> bool {
        !matches!(
            self,
            Refusal::Internal
                | Refusal::TimedOut
                | Refusal::Away(_)
                | Refusal::DiskFull
                | Refusal::ClockMoves
                | Refusal::Waits
        )
    }

    /// Returns the outcome for metrics.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Refusal::Malformed(_) => Outcome::Malformed,
            Refusal::UnknownCommand(_) => Outcome::UnknownCommand,
            Refusal::Unauthenticated => Outcome::Unauthenticated,
            Refusal::Revoked => Outcome::Revoked,
            Refusal::TooFast { .. } | Refusal::TooManyCalls { .. } => Outcome::TooFast,
            Refusal::Busy | Refusal::ClockMoves => Outcome::Busy,
            Refusal::BadQuery(_) => Outcome::BadQuery,
            Refusal::NoQuotes(_) => Outcome::NoQuotes,
            Refusal::NoAccess(_) => Outcome::NoAccess,
            Refusal::QuotaSpent(_) => Outcome::QuotaSpent,
            Refusal::TooMany(_) | Refusal::TooManySubscriptions(_) => Outcome::TooMany,
            Refusal::NotOffered(_) => Outcome::NotOffered,
            Refusal::TimedOut => Outcome::TimedOut,
            Refusal::Away(_) => Outcome::Away,
            Refusal::DiskFull | Refusal::Waits | Refusal::Internal => Outcome::Internal,
        }
    }

    /// Returns the refusal for requests while the database is unreachable.
    pub(crate) fn away() -> Refusal {
        Refusal::Away(AWAY.to_owned())
    }

    /// Converts an `access` error.
    pub(crate) fn of_access(error: &access::AccessError) -> Refusal {
        match error {
            access::AccessError::Store(error) => Refusal::of_store(error, "cannot check an account"),
            error if error.is_unreachable() => Refusal::away(),
            error => {
                tracing::error!(%error, "cannot check an account");
                Refusal::Internal
            }
        }
    }

    /// Converts a store error. `what` is the log message.
    pub(crate) fn of_store(error: &StoreError, what: &'static str) -> Refusal {
        if error.would_wait() {
            return Refusal::Waits;
        }
        if error.is_unreachable() {
            // Already logged by the heartbeat job.
            tracing::debug!(%error, "{what}");
            return Refusal::away();
        }
        tracing::error!(%error, "{what}");
        match error {
            error if error.is_full() => Refusal::DiskFull,
            _ => Refusal::Internal,
        }
    }

    /// Returns the message for the client.
    pub(crate) fn text(&self) -> String {
        match self {
            Refusal::Malformed(text)
            | Refusal::BadQuery(text)
            | Refusal::NoQuotes(text)
            | Refusal::NoAccess(text)
            | Refusal::QuotaSpent(text)
            | Refusal::TooMany(text)
            | Refusal::TooManySubscriptions(text)
            | Refusal::Away(text) => text.clone(),
            Refusal::UnknownCommand(command) => format!("command {command} is unknown"),
            Refusal::Revoked => "this account has been revoked".to_owned(),
            Refusal::Unauthenticated => {
                "sign in first: send the auth command with a one-time password".to_owned()
            }
            Refusal::TooFast { text, .. } | Refusal::TooManyCalls { text, .. } => text.clone(),
            Refusal::Busy => "too many concurrent requests: wait for responses".to_owned(),
            Refusal::ClockMoves => "the clock of the world is moving: try again after the step".to_owned(),
            Refusal::NotOffered(what) => format!("{what} are not offered here"),
            Refusal::TimedOut => "the response was not ready within the request's timeout".to_owned(),
            Refusal::DiskFull => DISK_FULL.to_owned(),
            Refusal::Waits | Refusal::Internal => "server error: see the server log for the cause".to_owned(),
        }
    }
}

impl From<access::Refusal> for Refusal {
    fn from(refusal: access::Refusal) -> Refusal {
        let text = refusal.to_string();
        match refusal {
            access::Refusal::TooFast { retry_after, .. } => Refusal::TooFast { text, retry_after },
            access::Refusal::TooManyCalls { retry_after, .. } => Refusal::TooManyCalls { text, retry_after },
            access::Refusal::NoAccess { .. }
            | access::Refusal::ScopeMissing { .. }
            | access::Refusal::NotOperator(_) => Refusal::NoAccess(text),
            access::Refusal::QuotaSpent { .. } => Refusal::QuotaSpent(text),
            access::Refusal::Revoked => Refusal::Revoked,
            access::Refusal::Unchargeable => Refusal::Away(text),
            access::Refusal::Failed(error) => Refusal::of_access(&error),
        }
    }
}

impl From<WrongRegion> for Refusal {
    fn from(foreign: WrongRegion) -> Refusal {
        match foreign {
            WrongRegion::Elsewhere { .. } => Refusal::NoAccess(foreign.to_string()),
            WrongRegion::Unknown(error) => Refusal::of_access(&error),
        }
    }
}

/// Converts an error from `history`.
impl From<HistoryError> for Refusal {
    fn from(error: HistoryError) -> Refusal {
        match error {
            HistoryError::UnknownSecurity(symbol) => Refusal::BadQuery(format!("{symbol} is not known")),
            HistoryError::Option(symbol) => {
                Refusal::NoQuotes(format!("{symbol} is an option: history for options is unavailable"))
            }
            HistoryError::NoCandles(symbol) => Refusal::NoQuotes(format!("{symbol} has no stored candles")),
            HistoryError::NoTrades(symbol) => Refusal::NoQuotes(format!("{symbol} has no stored trades")),
            HistoryError::Warrant(symbol) => {
                Refusal::NoQuotes(format!("{symbol} is a warrant: capital flow of warrants is unavailable"))
            }
            HistoryError::Store(error) => Refusal::of_store(&error, "cannot answer"),
            HistoryError::Damaged { .. }
            | HistoryError::DamagedTrades { .. }
            | HistoryError::Overflow { .. } => {
                tracing::error!(%error, "cannot answer");
                Refusal::Internal
            }
        }
    }
}
