//! Errors of a store, errors of the database engines classified by remedy, and defects that an
//! engine finds in its stored data.

use std::fmt;
use std::io;
use std::path::Path;

use super::migrations::LAST_WITH_STEPS;
use super::store_url::{ACCOUNTS_FILE, StoreUrl};
use crate::ids::AccountId;

/// Errors of a store. The message names a remedy if there is one.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no store at {}: import a file to create one, or name another with --store", place)]
    Absent { place: StoreUrl },
    #[error(
        "another import is writing to the store at {}{}: wait until it ends, or stop it and start again{}",
        place, process(*pid),
        if place.path().is_none() { "; the lock of a killed process expires after 15 s" } else { "" }
    )]
    Busy { place: StoreUrl, pid: Option<u32> },
    #[error(
        "{} was written by a newer version (schema {found}, this program knows {known}): upgrade this program",
        place
    )]
    Newer { place: StoreUrl, found: i64, known: i64 },
    #[error(
        "{} has an older schema ({found}, this program needs {known}): the next `{}` brings it forward",
        place,
        forward(place)
    )]
    Outdated { place: StoreUrl, found: i64, known: i64 },
    #[error(
        "{} has schema {found}, older than this program can read ({oldest}): commit {} is the last that brings it forward",
        place,
        LAST_WITH_STEPS
    )]
    TooOld { place: StoreUrl, found: i64, oldest: i64 },
    #[error(
        "migration {version} of {} differs from that of this program: use the release that created the store",
        place
    )]
    Changed { place: StoreUrl, version: i64 },
    #[error("{} is not a store of this program: name another {}", place, elsewhere(place))]
    Foreign { place: StoreUrl },
    #[error(
        "{place} contains an incomplete move from {from}: run that `chandler move` again to finish it, or \
         empty {place} and start over"
    )]
    HalfMoved { place: StoreUrl, from: String },
    #[error(
        "the store at {place} is open in a server{}: stop the server, restore, and start it again",
        process(*pid)
    )]
    Served { place: StoreUrl, pid: Option<u32> },
    #[error("the store at {place} is being restored{}: wait until that ends, and run this again", process(*pid))]
    Restoring { place: StoreUrl, pid: Option<u32> },
    #[error(
        "another process{} runs the mirror {name}: wait until it ends, or stop it{}",
        process(*pid),
        if place.path().is_none() { "; the lock of a killed process expires after 15 s" } else { "" }
    )]
    MirrorRunning { name: String, place: StoreUrl, pid: Option<u32> },
    #[error(
        "{place} contains an incomplete restore of the backup {from}: run the same `chandler restore` \
         again, with --replace"
    )]
    HalfRestored { place: StoreUrl, from: String },
    #[error(
        "cannot {what}: a change of {} was interrupted and has to be undone first, which requires write \
         permission: run this as the owner of the file",
        place
    )]
    Interrupted { what: &'static str, place: StoreUrl, source: Cause },
    #[error(
        "{} is empty, its contents are lost: restore a backup with `chandler restore`, or move the file \
         away to begin without {}",
        place,
        content(place)
    )]
    Emptied { place: StoreUrl },
    #[error("cannot {what}: {} is damaged: run `chandler check`, then {}", place, mend(place))]
    Damaged { what: &'static str, place: StoreUrl, source: Option<Cause> },
    #[error(
        "cannot {what}: no space left for {}: free some and run this again, nothing was partially written",
        place
    )]
    Full { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what}: no permission to open or write {}: check its owner and mode", place)]
    Denied { what: &'static str, place: StoreUrl, source: Cause },
    #[error(
        "cannot {what}: the disk failed under {}: check the system log, then run `chandler check`",
        place
    )]
    Disk { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what}: {} stayed locked by another process: run this again", place)]
    Locked { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what}: it was replaced in {} in the meantime: try again", place)]
    Replaced { what: &'static str, place: StoreUrl },
    #[error(
        "the cache in {} is used by another server{}: give each server its own directory",
        place, process(*pid)
    )]
    CacheInUse { place: StoreUrl, pid: Option<u32> },
    /// The database is unreachable, or the connection broke before anything was changed.
    #[error(
        "cannot {what}: {source}: check that the server is running, and that the address has its host and \
         port"
    )]
    Away { what: &'static str, place: StoreUrl, source: Cause },
    /// The database is reachable but rejects the user, password, certificate or database name.
    #[error("cannot {what}: {source}")]
    Refused { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what}: {source}")]
    Exhausted { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what}: {source}")]
    ReadOnlyServer { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what} at {place}: {source}")]
    NoRights { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what} at {place}: {source}")]
    WrongEncoding { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what} at {place}: {source}")]
    TooOldServer { what: &'static str, place: StoreUrl, source: Cause },
    #[error(
        "another process has taken the write lock of {place}: nothing was stored; run this again when it \
         has ended"
    )]
    LeaseLost { place: StoreUrl },
    /// The response to a change was lost, so its outcome is unknown.
    #[error("the outcome of the attempt to {what} is unknown: {source}")]
    Unknown { what: &'static str, place: StoreUrl, source: Cause },
    /// The call would block, so nothing was sent. Not a failure; see
    /// [`without_waiting`](crate::without_waiting).
    #[error("cannot {what} without waiting for the database")]
    Waits { what: &'static str },
    #[error("cannot {what} in {}", place)]
    Engine { what: &'static str, place: StoreUrl, source: Cause },
    #[error("cannot {what} {}", place)]
    Io { what: &'static str, place: StoreUrl, source: io::Error },
    #[error("cannot {what}: {} holds {text:?} where a {field} belongs", place)]
    Value { what: &'static str, place: StoreUrl, field: &'static str, text: String },
    #[error("an account named {name:?} already exists: choose another name")]
    Taken { name: String },
    #[error("account {} has done this too often within an hour: wait {retry_after_s} s", account.0)]
    TooOften { account: AccountId, retry_after_s: i64 },
    /// An invalid argument. The batch can no longer be committed.
    #[error("cannot store {thing}: {reason}")]
    Unfit { thing: String, reason: String },
}

impl StoreError {
    pub(crate) fn of(what: &'static str, place: &StoreUrl, fault: Fault) -> StoreError {
        let place = place.clone();
        match fault {
            Fault::Value { field, text } => StoreError::Value { what, place, field, text },
            Fault::Missing => StoreError::Damaged { what, place, source: None },
            Fault::Engine(trouble) => {
                let source = trouble.cause;
                match trouble.kind {
                    Kind::Interrupted => StoreError::Interrupted { what, place, source },
                    Kind::Damaged => StoreError::Damaged { what, place, source: Some(source) },
                    Kind::Full => StoreError::Full { what, place, source },
                    Kind::Disk => StoreError::Disk { what, place, source },
                    Kind::Denied => StoreError::Denied { what, place, source },
                    Kind::Locked => StoreError::Locked { what, place, source },
                    Kind::Unfit => StoreError::unfit(what, source.to_string()),
                    Kind::Away => StoreError::Away { what, place, source },
                    Kind::Refused => StoreError::Refused { what, place, source },
                    Kind::Exhausted => StoreError::Exhausted { what, place, source },
                    Kind::ReadOnlyServer => StoreError::ReadOnlyServer { what, place, source },
                    Kind::NoRights => StoreError::NoRights { what, place, source },
                    Kind::WrongEncoding => StoreError::WrongEncoding { what, place, source },
                    Kind::TooOldServer => StoreError::TooOldServer { what, place, source },
                    Kind::Unknown => StoreError::Unknown { what, place, source },
                    Kind::Waits => StoreError::Waits { what },
                    Kind::Other => StoreError::Engine { what, place, source },
                }
            }
        }
    }

    pub(crate) fn io(what: &'static str, path: impl AsRef<Path>, source: io::Error) -> StoreError {
        let place = StoreUrl::from(path.as_ref());
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::Denied { what, place, source: source.into() }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::Full { what, place, source: source.into() }
            }
            _ => StoreError::Io { what, place, source },
        }
    }

    /// Returns whether the database is unreachable or read-only, so that a later retry may succeed.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, StoreError::Away { .. } | StoreError::ReadOnlyServer { .. })
    }

    /// Returns whether there is no space left for a change.
    pub fn is_full(&self) -> bool {
        matches!(self, StoreError::Full { .. })
    }

    /// Returns whether the database has not responded: it is unreachable, the outcome of a
    /// statement is unknown, or no connection was free.
    pub fn is_unanswered(&self) -> bool {
        self.is_unreachable() || matches!(self, StoreError::Unknown { .. } | StoreError::Exhausted { .. })
    }

    /// Returns whether the operation failed only because this thread must not block; see
    /// [`without_waiting`](crate::without_waiting).
    pub fn would_wait(&self) -> bool {
        matches!(self, StoreError::Waits { .. })
    }

    /// Returns whether the error may be caused by the stored data, rather than the connection.
    pub fn is_of_data(&self) -> bool {
        match self {
            StoreError::Away { .. }
            | StoreError::Unknown { .. }
            | StoreError::Locked { .. }
            | StoreError::Exhausted { .. }
            | StoreError::Refused { .. }
            | StoreError::ReadOnlyServer { .. }
            | StoreError::NoRights { .. }
            | StoreError::Waits { .. } => false,
            // PostgreSQL reports damage with separate error codes.
            StoreError::Engine { place, .. } => place.path().is_some(),
            _ => true,
        }
    }

    pub(crate) fn unfit(thing: impl ToString, reason: impl Into<String>) -> StoreError {
        StoreError::Unfit { thing: thing.to_string(), reason: reason.into() }
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

fn is_accounts(place: &StoreUrl) -> bool {
    let name = place.path().and_then(Path::file_name);
    name.is_some_and(|name| name == ACCOUNTS_FILE)
}

/// Returns the kind of another location that an error message suggests for a store.
fn elsewhere(place: &StoreUrl) -> &'static str {
    match place.path() {
        Some(_) => "directory",
        None => "database, or another schema in it with `?schema=NAME`",
    }
}

/// Returns a command that opens the database for writing, which migrates its schema.
fn forward(place: &StoreUrl) -> &'static str {
    // On PostgreSQL both databases have the same address, and a server migrates both.
    if is_accounts(place) || place.path().is_none() { "chandler serve" } else { "chandler import" }
}

/// Returns the remedy for a damaged database. Accounts must be restored from a backup, because an
/// import does not contain them.
fn mend(place: &StoreUrl) -> &'static str {
    if place.path().is_none() {
        return "restore a backup of the database, or import again";
    }
    match is_accounts(place) {
        true => "restore a backup with `chandler restore DIR --only accounts --replace`",
        false => "restore a copy or import again",
    }
}

fn content(place: &StoreUrl) -> &'static str {
    if is_accounts(place) { "accounts" } else { "candles" }
}

/// The error returned by SQLite or PostgreSQL.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Damaged,
    /// A change was interrupted and must be rolled back before the database is read, which requires
    /// write permission.
    Interrupted,
    Full,
    Denied,
    Disk,
    Locked,
    /// A value that the engine cannot store.
    Unfit,
    /// The server is unreachable.
    Away,
    /// The server is reachable but rejects the connection.
    Refused,
    Exhausted,
    ReadOnlyServer,
    NoRights,
    WrongEncoding,
    TooOldServer,
    /// The response to a change was lost.
    Unknown,
    /// The call would block on a thread that must not block.
    Waits,
    Other,
}

#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: Kind,
    pub(crate) cause: Cause,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

/// An error inside a statement, before the statement's name is attached.
#[derive(Debug)]
pub(crate) enum Fault {
    Engine(Trouble),
    Value {
        field: &'static str,
        text: String,
    },
    /// A required row is missing.
    Missing,
}

impl Fault {
    pub(crate) fn value(field: &'static str, text: &str) -> Fault {
        Fault::Value { field, text: text.chars().take(80).collect() }
    }
}

/// Maximum number of findings before a check stops.
pub const FINDINGS_MAX: usize = 1_000;

/// Depth of SQLite's page check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Quick,
    /// Also checks that every index agrees with its table.
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Message of SQLite's own check.
    Engine(String),
    /// Rows of `table` that refer to missing rows of `parent`.
    Dangling { table: String, parent: String, count: u64 },
    /// A row with a wrong seal.
    Row { table: String, key: String },
    /// A table whose row count differs from the recorded count.
    Rows { table: String, written: i64, found: i64 },
    /// A table whose entry in `sealed_table` is missing or differs from the schema.
    Misnoted { table: String },
    /// A part of the database that could not be read.
    Unreadable(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_depends_on_the_database() {
        let place = |name: &str| StoreUrl::from(Path::new("/store").join(name));
        let describe = |name: &str| {
            [
                StoreError::Damaged { what: "try it", place: place(name), source: None },
                StoreError::Emptied { place: place(name) },
                StoreError::Outdated { place: place(name), found: 1, known: 2 },
            ]
            .map(|error| error.to_string())
        };
        for text in describe("accounts.db") {
            assert!(!text.contains("import") && !text.contains("candles"), "{text}");
        }
        for text in describe("candles.db") {
            assert!(!text.contains("accounts"), "{text}");
        }
    }
}
