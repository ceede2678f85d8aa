//! PostgreSQL errors, classified by remedy.

use std::error::Error;
use std::io;
use std::sync::Arc;

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::engine::error::Kind;
use crate::engine::{self, Fault};

/// A server error with a one-line message. The caller adds the attempted action and the location to
/// the message.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The server is unreachable, or the connection broke before anything could be changed.
    #[error("{at} cannot be reached: {reason}")]
    Away { at: String, reason: String },
    /// The connection broke after a change was sent, so the outcome is unknown.
    #[error(
        "the answer of {at} was lost ({reason}), so the change may or may not have been made: check before \
         retrying"
    )]
    Lost { at: String, reason: String },
    /// The server is reachable but rejects the connection.
    #[error("{at} refuses the connection: {reason}")]
    Refused { at: String, reason: String },
    /// A file that the address refers to cannot be used.
    #[error("no connection to {at} can be made: {reason}")]
    Unprepared { at: String, reason: String },
    #[error(
        "all {open} connections were in use for {waited_s} s: allow more of them with `pool=` in the \
         address, or send fewer concurrent requests"
    )]
    Exhausted { open: usize, waited_s: u64 },
    #[error(
        "{at} has no free connection ({reason}): raise max_connections there, or lower `pool=` in the \
         address"
    )]
    Crowded { at: String, reason: String },
    #[error("{reason}")]
    ReadOnly { reason: String },
    #[error("{reason}")]
    NoRights { reason: String },
    #[error(
        "its encoding is {found}: create a database with `createdb --encoding UTF8 --template template0`"
    )]
    WrongEncoding { found: String },
    #[error("it is PostgreSQL {found}: 15 is the oldest supported version")]
    TooOld { found: String },
    #[error("{}", line(.0))]
    Full(Box<DbError>),
    #[error("{}", line(.0))]
    Damaged(Box<DbError>),
    #[error("{}", line(.0))]
    Disk(Box<DbError>),
    /// A lock was held for longer than the timeout.
    #[error("{}", line(.0))]
    Locked(Box<DbError>),
    /// A conflict with another transaction. A retry may succeed.
    #[error("{}", line(.0))]
    Conflict(Box<DbError>),
    /// A statement of the transaction failed, so the transaction cannot be committed.
    #[error("an earlier statement of the transaction failed, so nothing of it was stored")]
    Aborted,
    /// A value that PostgreSQL cannot store.
    #[error("{reason}")]
    Unfit { reason: String },
    /// A bug in this program.
    #[error("{0}")]
    Misuse(&'static str),
    #[error("{}", line(.0))]
    Server(Box<DbError>),
    #[error("{}", chain(&**.0))]
    Driver(Arc<tokio_postgres::Error>),
    #[error("cannot start the thread of the connections: {0}")]
    Thread(Arc<io::Error>),
}

/// The remedy for missing rights on a schema.
const GRANTS: &str = "as the owner of the schema, `grant select, insert, update, delete on all tables in schema SCHEMA to ROLE` and \
    `grant usage, select, update on all sequences in schema SCHEMA to ROLE`; what changes tables is run as the owner";

impl Trouble {
    /// Classifies a statement error from the server or the connection.
    pub(super) fn of(error: tokio_postgres::Error, at: &str) -> Trouble {
        let reason = || chain(&error);
        let Some(found) = error.as_db_error() else {
            // The connection was closed, or its socket failed.
            let of_socket = error.source().is_some_and(|source| source.is::<io::Error>());
            return match error.is_closed() || of_socket {
                true => Trouble::Away { at: at.to_owned(), reason: reason() },
                false => Trouble::Driver(Arc::new(error)),
            };
        };
        let class = found.code().code().get(..2).unwrap_or_default();
        let boxed = || Box::new(found.clone());
        match found.code() {
            &SqlState::ADMIN_SHUTDOWN
            | &SqlState::CRASH_SHUTDOWN
            | &SqlState::CANNOT_CONNECT_NOW
            | &SqlState::IDLE_SESSION_TIMEOUT => Trouble::Away { at: at.to_owned(), reason: line(found) },
            &SqlState::TOO_MANY_CONNECTIONS => Trouble::Crowded { at: at.to_owned(), reason: line(found) },
            &SqlState::READ_ONLY_SQL_TRANSACTION => Trouble::ReadOnly { reason: line(found) },
            &SqlState::INSUFFICIENT_PRIVILEGE => {
                // Other missing rights, such as the right to create a database or to replicate,
                // have other remedies.
                let of_schema = ["table", "sequence", "relation", "schema"];
                let is_of_schema =
                    of_schema.iter().any(|kind| found.message().contains(&format!("for {kind} ")));
                let report = line(found);
                let reason = if is_of_schema { format!("{report}: {GRANTS}") } else { report };
                Trouble::NoRights { reason }
            }
            &SqlState::DISK_FULL => Trouble::Full(boxed()),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => Trouble::Damaged(boxed()),
            &SqlState::IO_ERROR => Trouble::Disk(boxed()),
            &SqlState::LOCK_NOT_AVAILABLE
            | &SqlState::QUERY_CANCELED
            | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => Trouble::Locked(boxed()),
            &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => {
                Trouble::Conflict(boxed())
            }
            &SqlState::IN_FAILED_SQL_TRANSACTION => Trouble::Aborted,
            _ if class == "08" => Trouble::Away { at: at.to_owned(), reason: line(found) },
            _ if class == "28" || found.code() == &SqlState::INVALID_CATALOG_NAME => {
                Trouble::Refused { at: at.to_owned(), reason: line(found) }
            }
            _ => Trouble::Server(boxed()),
        }
    }

    /// Returns whether the error makes the connection unusable.
    pub(super) fn ends_connection(error: &tokio_postgres::Error) -> bool {
        match error.as_db_error() {
            Some(found) => matches!(found.parsed_severity(), Some(Severity::Fatal | Severity::Panic)),
            None => true,
        }
    }

    /// Returns whether a change that was sent may have been applied despite this error. PostgreSQL
    /// returns such an error for a commit that was stopped while it waited for a standby.
    pub(super) fn leaves_doubt(error: &tokio_postgres::Error) -> bool {
        let Some(found) = error.as_db_error() else {
            return true;
        };
        let unknown = [SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN, SqlState::TRANSACTION_RESOLUTION_UNKNOWN];
        Trouble::ends_connection(error) || unknown.contains(found.code())
    }

    pub(super) fn lost(self, at: &str) -> Trouble {
        let reason = match self {
            Trouble::Away { reason, .. } => reason,
            other => other.to_string(),
        };
        Trouble::Lost { at: at.to_owned(), reason }
    }

    /// Returns the five-character SQLSTATE code, or `None` if the error has no code.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Trouble::Full(error)
            | Trouble::Damaged(error)
            | Trouble::Disk(error)
            | Trouble::Locked(error)
            | Trouble::Conflict(error)
            | Trouble::Server(error) => Some(error.code().code()),
            _ => None,
        }
    }
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Fault {
        let kind = match &trouble {
            Trouble::Away { .. } => Kind::Away,
            Trouble::Lost { .. } => Kind::Unknown,
            Trouble::Refused { .. } | Trouble::Unprepared { .. } => Kind::Refused,
            Trouble::Exhausted { .. } | Trouble::Crowded { .. } => Kind::Exhausted,
            Trouble::ReadOnly { .. } => Kind::ReadOnlyServer,
            Trouble::NoRights { .. } => Kind::NoRights,
            Trouble::WrongEncoding { .. } => Kind::WrongEncoding,
            Trouble::TooOld { .. } => Kind::TooOldServer,
            Trouble::Full(_) => Kind::Full,
            Trouble::Damaged(_) => Kind::Damaged,
            Trouble::Disk(_) => Kind::Disk,
            Trouble::Locked(_) | Trouble::Conflict(_) => Kind::Locked,
            Trouble::Unfit { .. } => Kind::Unfit,
            Trouble::Aborted
            | Trouble::Misuse(_)
            | Trouble::Server(_)
            | Trouble::Driver(_)
            | Trouble::Thread(_) => Kind::Other,
        };
        Fault::Engine(engine::error::Trouble { kind, cause: trouble.into() })
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Thread(Arc::new(error))
    }
}

/// Formats a server's message as one line that begins with a lowercase letter and has no full stop.
pub(super) fn line(error: &DbError) -> String {
    let parts = [Some(error.message()), error.detail(), error.hint()];
    let parts: Vec<String> = parts.into_iter().flatten().map(one_line).collect();
    parts.join("; ")
}

const DRIVER_WORDS: [&str; 3] =
    ["db error", "error connecting to server", "error communicating with the server"];

/// Formats an error and its causes as one line.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    if let Some(found) = error.downcast_ref::<DbError>() {
        return line(found);
    }
    let text = one_line(&error.to_string());
    match error.source() {
        // The driver's own message adds no information, so it is skipped.
        Some(source) if DRIVER_WORDS.contains(&text.as_str()) => chain(source),
        Some(source) => format!("{text}: {}", chain(source)),
        None => text,
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    text.strip_suffix('.').unwrap_or(&text).chars().take(400).collect()
}
