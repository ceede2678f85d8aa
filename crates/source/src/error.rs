//! Errors of connections and requests.

use std::io;

use wire::Status;

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The server refused the credentials. Retrying does not help.
    #[error("the server refuses the credentials: {message} (code {code})")]
    Credentials { code: i64, message: String },
    /// The account has reached its connection limit.
    #[error("the account has {online} of {limit} connections: close one of them")]
    ConnectionsFull { online: i64, limit: i64 },
    /// The server cannot be reached.
    #[error("cannot reach {place}: {reason}")]
    Unreachable { place: String, reason: String },
    /// The connection was closed.
    #[error("the connection was closed: {reason}")]
    Closed { reason: String },
    /// The response did not arrive in time.
    #[error("no answer within {seconds} s")]
    Timeout { seconds: u64 },
    /// The server violated the protocol.
    #[error("the server's answer is invalid: {what}")]
    Invalid { what: String },
    /// The server refused one request.
    #[error("the server refuses the request: {message} (status {}, code {code})", *status as u8)]
    Refused { status: Status, code: u64, message: String },
}

/// The kind of a refusal, which determines how the caller reacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request or the symbol is invalid (301600).
    Invalid,
    /// Internal server error (301602). The same request may succeed later.
    Server,
    /// The security has no quotes (301603).
    NoQuotes,
    /// The account has no access to the security (301604).
    NoAccess,
    /// Too many requests (301606).
    TooFast,
    /// Too many securities this month (301607).
    QuotaSpent,
    /// Any other code.
    Other,
}

impl SourceError {
    /// Returns the kind of a refusal, or `None` for an error of the connection.
    pub fn kind(&self) -> Option<Kind> {
        let SourceError::Refused { code, .. } = self else { return None };
        Some(match *code {
            wire::code::INVALID => Kind::Invalid,
            wire::code::SERVER => Kind::Server,
            wire::code::NO_QUOTES => Kind::NoQuotes,
            wire::code::NO_ACCESS => Kind::NoAccess,
            wire::code::RATE => Kind::TooFast,
            wire::code::TOO_MANY => Kind::QuotaSpent,
            _ => Kind::Other,
        })
    }

    /// Returns whether the connection can no longer be used.
    pub fn ends_connection(&self) -> bool {
        !matches!(self, SourceError::Refused { .. })
    }

    /// Returns whether a retry is useless until the user acts.
    pub fn is_permanent(&self) -> bool {
        matches!(self, SourceError::Credentials { .. })
    }

    pub(crate) fn invalid(what: impl Into<String>) -> SourceError {
        SourceError::Invalid { what: what.into() }
    }

    pub(crate) fn unreachable(place: &str, reason: impl ToString) -> SourceError {
        SourceError::Unreachable { place: place.to_owned(), reason: reason.to_string() }
    }

    pub(crate) fn closed(error: &io::Error) -> SourceError {
        SourceError::Closed { reason: error.to_string() }
    }
}

/// Removes control characters from a message of the server, and limits its length.
pub(crate) fn clipped(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(300).collect()
}
