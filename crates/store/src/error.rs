use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::AccountId;
use crate::fault::Fault;

/// The database or the system below it: two ways to meet the same trouble.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What can go wrong with a store. The message says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no store at {}: import a file to create one, or name another directory", path.display())]
    Absent { path: PathBuf },
    #[error(
        "another import is writing to the store at {}{}: wait until it ends, or stop it and start again",
        path.display(), pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    Busy { path: PathBuf, pid: Option<u32> },
    #[error(
        "{} was written by a newer version (schema {found}, this program knows {known}): upgrade this program",
        path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "{} has an older schema ({found}, this program needs {known}): the next `{}` brings it forward",
        path.display(), forward(path)
    )]
    Outdated { path: PathBuf, found: i64, known: i64 },
    #[error(
        "migration {version} of {} is not the one this program carries: use the release that created the store",
        path.display()
    )]
    Changed { path: PathBuf, version: i64 },
    #[error("{} is not a store of this program: name another directory", path.display())]
    Foreign { path: PathBuf },
    #[error(
        "cannot {what}: a change of {} was interrupted and has to be undone first, which takes the right to write: \
         run this as the owner of the file",
        path.display()
    )]
    Interrupted { what: &'static str, path: PathBuf, source: rusqlite::Error },
    #[error(
        "{} is empty and has lost what was in it: restore a backup with `chandler restore`, \
         or move the file away to begin without {}",
        path.display(), content(path)
    )]
    Emptied { path: PathBuf },
    #[error("cannot {what}: {} is damaged: run `chandler check`, then {}", path.display(), mend(path))]
    Damaged { what: &'static str, path: PathBuf, source: Option<rusqlite::Error> },
    #[error("cannot {what}: no space left for {}: free some and run this again, nothing is half written", path.display())]
    Full { what: &'static str, path: PathBuf, source: Cause },
    #[error("cannot {what}: no permission to open or write {}: check its owner and mode", path.display())]
    Denied { what: &'static str, path: PathBuf, source: Cause },
    #[error("cannot {what}: the disk failed under {}: check the system log, then run `chandler check`", path.display())]
    Disk { what: &'static str, path: PathBuf, source: rusqlite::Error },
    #[error("cannot {what}: {} stayed locked by another process: run this again", path.display())]
    Locked { what: &'static str, path: PathBuf, source: rusqlite::Error },
    #[error("cannot {what} in {}", path.display())]
    Sqlite { what: &'static str, path: PathBuf, source: rusqlite::Error },
    #[error("cannot {what} {}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot {what}: {} holds {text:?} where a {field} belongs", path.display())]
    Value { what: &'static str, path: PathBuf, field: &'static str, text: String },
    #[error("there is an account named {name:?} already: choose another name")]
    Taken { name: String },
    #[error("account {} has done this too often within an hour: wait {retry_after_s} s", account.0)]
    TooOften { account: AccountId, retry_after_s: i64 },
    /// The caller's mistake; nothing of the batch can be committed any more.
    #[error("cannot store {thing}: {reason}")]
    Unfit { thing: String, reason: String },
}

impl StoreError {
    pub(crate) fn of(what: &'static str, path: &Path, fault: Fault) -> StoreError {
        let path = path.to_owned();
        match fault {
            Fault::Value { field, text } => StoreError::Value { what, path, field, text },
            Fault::Missing => StoreError::Damaged { what, path, source: None },
            Fault::Sqlite(source) if is_rollback(&source) => StoreError::Interrupted { what, path, source },
            Fault::Sqlite(source) => match source.sqlite_error_code() {
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig) => {
                    StoreError::Damaged { what, path, source: Some(source) }
                }
                Some(ErrorCode::DiskFull) => StoreError::Full { what, path, source: source.into() },
                Some(ErrorCode::SystemIoFailure) => StoreError::Disk { what, path, source },
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                    StoreError::Denied { what, path, source: source.into() }
                }
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    StoreError::Locked { what, path, source }
                }
                _ => StoreError::Sqlite { what, path, source },
            },
        }
    }

    pub(crate) fn io(what: &'static str, path: &Path, source: io::Error) -> StoreError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::Denied { what, path, source: source.into() }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::Full { what, path, source: source.into() }
            }
            _ => StoreError::Io { what, path, source },
        }
    }

    pub(crate) fn unfit(thing: impl ToString, reason: impl Into<String>) -> StoreError {
        StoreError::Unfit { thing: thing.to_string(), reason: reason.into() }
    }
}

/// Whether SQLite would have to undo a change first, and may not.
fn is_rollback(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

fn is_accounts(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == crate::file_names::ACCOUNTS)
}

/// A command that opens a database to write to it, which brings its schema forward.
fn forward(path: &Path) -> &'static str {
    if is_accounts(path) { "chandler serve" } else { "chandler import" }
}

/// What mends a damaged database. No import brings accounts back.
fn mend(path: &Path) -> &'static str {
    match is_accounts(path) {
        true => "restore a backup with `chandler restore DIR --only accounts --replace`",
        false => "restore a copy or import again",
    }
}

fn content(path: &Path) -> &'static str {
    if is_accounts(path) { "accounts" } else { "candles" }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn the_same_trouble_has_the_same_name_whoever_reports_it() {
        let sqlite = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            StoreError::of("try it", Path::new("/store"), error.into())
        };
        let system = |kind: io::ErrorKind| StoreError::io("try it", Path::new("/store"), kind.into());
        let advice = |error: StoreError| error.to_string().rsplit(": ").next().map(str::to_owned);
        for (code, kind) in [
            (ffi::SQLITE_FULL, io::ErrorKind::StorageFull),
            (ffi::SQLITE_READONLY, io::ErrorKind::ReadOnlyFilesystem),
            (ffi::SQLITE_CANTOPEN, io::ErrorKind::PermissionDenied),
        ] {
            assert_eq!(sqlite(code).to_string(), system(kind).to_string());
        }
        assert!(matches!(sqlite(ffi::SQLITE_IOERR_FSYNC), StoreError::Disk { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_BUSY), StoreError::Locked { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_READONLY_ROLLBACK), StoreError::Interrupted { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_CORRUPT), StoreError::Damaged { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_INTERNAL), StoreError::Sqlite { .. }));
        assert_eq!(advice(sqlite(ffi::SQLITE_READONLY)).as_deref(), Some("check its owner and mode"));
    }

    #[test]
    fn what_helps_depends_on_the_file() {
        let path = |name: &str| Path::new("/store").join(name);
        let told = |name: &str| {
            [
                StoreError::Damaged { what: "try it", path: path(name), source: None },
                StoreError::Emptied { path: path(name) },
                StoreError::Outdated { path: path(name), found: 1, known: 2 },
            ]
            .map(|error| error.to_string())
        };
        for text in told("accounts.db") {
            assert!(!text.contains("import") && !text.contains("candles"), "{text}");
        }
        for text in told("candles.db") {
            assert!(!text.contains("accounts"), "{text}");
        }
    }
}
