//! The store and the accounts: SQLite's integrity check, the checksums of blocks, and the key file.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use access::AccessError;
use block::Block;
use market::{Candles, Timestamp};
use store::{Access, Accounts, Depth, Finding, Store, StoreError};

use super::check::{AS_SERVICE, Check};
use crate::command::check;
use crate::output;
use crate::progress;
use crate::surroundings::Surroundings;

/// Series whose newest block is read: enough to notice a failing disk, and quick.
const SAMPLE: usize = 64;
/// Findings that are listed; `chandler check` lists all.
const TOLD: usize = 3;

pub(super) fn all(surroundings: &Surroundings, deep: bool, progress: progress::Flags) -> Vec<Check> {
    let mut checks = vec![store(surroundings, deep, progress)];
    checks.extend(accounts(surroundings, deep));
    checks
}

fn store(surroundings: &Surroundings, deep: bool, progress: progress::Flags) -> Check {
    const NAME: &str = "store";
    let Ok(directory) = surroundings.directory() else {
        let says = "no store is named, and there is no home directory to look for one in";
        return Check::warn(NAME, says, "name it with --store sqlite:DIR or CHANDLER_STORE");
    };
    let looked = directory.display();
    let store = match Store::open(directory, Access::Look) {
        Ok(store) => store,
        Err(error @ StoreError::Absent { .. }) => {
            return Check::warn(
                NAME,
                error.to_string(),
                "`chandler import FILE`, or `chandler demo` to try it",
            );
        }
        Err(error) => return told(NAME, &error),
    };
    let checked = if deep { every_block(&store, surroundings, progress) } else { sample(&store) };
    match checked {
        Err(error) => told(NAME, &error),
        Ok((says, problems)) if problems.is_empty() => Check::ok(NAME, format!("{looked}: {says}")),
        Ok((_, problems)) => {
            damaged(NAME, &problems, "run `chandler check`, then import the named series again")
        }
    }
}

/// A database that cannot be opened or read. The advice depends on the cause: a missing permission needs no backup.
fn told(name: &'static str, error: &StoreError) -> Check {
    let says = error.to_string();
    match error {
        StoreError::Outdated { place, found, known } => Check::warn(
            name,
            format!("{place} has an older schema ({found}, this program has {known})"),
            "`chandler backup` first; the next `chandler import` brings candles forward, the next `chandler serve` accounts",
        ),
        StoreError::Interrupted { .. } => Check::warn(
            name,
            says,
            "any command that may write there undoes it, for instance `chandler check` or the import that was interrupted",
        ),
        StoreError::Emptied { .. } => {
            Check::fail(name, says, "`chandler restore DIR --only accounts --replace` (docs/operating.md)")
        }
        StoreError::Denied { .. } => Check::fail(name, says, AS_SERVICE),
        StoreError::Newer { .. } | StoreError::Changed { .. } => {
            Check::fail(name, says, "use the release that wrote it, or a newer one")
        }
        StoreError::Locked { .. } | StoreError::Busy { .. } => {
            Check::warn(name, says, "run this again in a moment")
        }
        StoreError::Full { .. } => Check::fail(name, says, "free some space"),
        StoreError::Disk { .. } | StoreError::Io { .. } => {
            Check::fail(name, says, "look at the system's log, and at the disk")
        }
        StoreError::Foreign { .. } => Check::fail(name, says, "name the folder of a store with --store"),
        _ => Check::fail(name, says, "restore a backup, or import again (docs/operating.md)"),
    }
}

fn damaged(name: &'static str, problems: &[String], advice: &str) -> Check {
    let told: Vec<&str> = problems.iter().take(TOLD).map(String::as_str).collect();
    let more = problems.len().saturating_sub(TOLD);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Check::fail(name, format!("{}{more}", told.join("; ")), advice)
}

type Checked = Result<(String, Vec<String>), StoreError>;

fn every_block(store: &Store, surroundings: &Surroundings, progress: progress::Flags) -> Checked {
    let report = check::watched(store, surroundings.history.venues(), progress)?;
    let problems = report.damage.into_iter().map(|damage| damage.problem).collect();
    Ok((format!("whole, {}", output::count(report.blocks, "block")), problems))
}

/// The tables, and the newest block of series all over the store.
fn sample(store: &Store) -> Checked {
    let mut reader = store.reader()?;
    let mut problems: Vec<String> =
        reader.check_tables(Depth::Quick)?.iter().map(Finding::to_string).collect();
    let snapshot = reader.snapshot()?;
    let series = snapshot.all_series()?;
    let step = series.len().div_ceil(SAMPLE).max(1);
    let mut candles = Candles::default();
    let mut read = 0;
    for info in series.iter().step_by(step) {
        snapshot.bodies_back(&info.series, Timestamp(i64::MAX), |body| {
            candles.clear();
            read += 1;
            if let Err(error) = Block::parse(body.bytes).and_then(|block| block.read_all(&mut candles)) {
                problems.push(format!("{}: {error}", info.series));
            }
            ControlFlow::Break(())
        })?;
    }
    Ok((format!("tables whole, and {read} of {} newest blocks; --deep reads all", series.len()), problems))
}

/// Nothing if there are no accounts yet: a check must not create them.
fn accounts(surroundings: &Surroundings, deep: bool) -> Vec<Check> {
    const NAME: &str = "accounts";
    let Some(directory) = surroundings.directory().ok().filter(|path| path.join("accounts.db").exists())
    else {
        return Vec::new();
    };
    let depth = if deep { Depth::Full } else { Depth::Quick };
    let opened = Accounts::look(directory);
    let found = opened.and_then(|all| Ok((all.check(depth)?, all.is_empty()?)));
    let (findings, is_empty) = match found {
        Err(error) => return vec![told(NAME, &error)],
        Ok(found) => found,
    };
    let database = match findings.is_empty() {
        true => Check::ok(NAME, "accounts.db is whole"),
        false => damaged(
            NAME,
            &findings.iter().map(Finding::to_string).collect::<Vec<_>>(),
            "restore a copy of accounts.db (docs/operating.md)",
        ),
    };
    // The key is created with the first account.
    if is_empty { vec![database] } else { vec![database, key(directory)] }
}

/// The key file: whether it is there, readable for its owner alone, and the one that secrets were sealed with.
fn key(directory: &Path) -> Check {
    let access = access::Access::look_at(directory);
    match access.and_then(|access| access.check_key()) {
        Ok(opened) => Check::ok(KEY, format!("its owner's alone, and opens every app secret ({opened})")),
        Err(error) => key_told(&error),
    }
}

const KEY: &str = "secret.key";

fn key_told(error: &AccessError) -> Check {
    let says = error.to_string();
    match error {
        AccessError::KeyExposed { path } => Check::fail(KEY, says, format!("chmod 600 {}", path.display())),
        AccessError::KeyFile { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Check::fail(KEY, format!("{says}: {source}"), AS_SERVICE)
        }
        AccessError::KeyFile { source, .. } => {
            Check::fail(KEY, format!("{says}: {source}"), "look at the system's log, and at the disk")
        }
        AccessError::Store(error) => told(KEY, error),
        _ => Check::fail(KEY, says, "restore the copy that belongs to accounts.db, with mode 0600"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn who_may_not_read_a_key_is_not_told_to_replace_it() {
        let path = || "store/secret.key".into();
        let advice = |error: &AccessError| key_told(error).advice.unwrap();
        assert_eq!(advice(&AccessError::KeyExposed { path: path() }), "chmod 600 store/secret.key");
        let denied = io::ErrorKind::PermissionDenied.into();
        let unreadable = AccessError::KeyFile { what: "read", path: path(), source: denied };
        assert_eq!(advice(&unreadable), AS_SERVICE);
        assert!(advice(&AccessError::KeyMissing { path: path() }).contains("restore"));
    }

    #[test]
    fn an_older_schema_is_looked_at_later_and_a_permission_is_not_a_damage() {
        let path = || "store/accounts.db".into();
        let older = told("accounts", &StoreError::Outdated { place: path(), found: 1, known: 2 });
        assert_eq!(older.verdict, Verdict::Warn);
        let denied = StoreError::Denied { what: "open the database", place: path(), source: "no".into() };
        assert_eq!(told("accounts", &denied).advice.as_deref(), Some(AS_SERVICE));
    }
}
