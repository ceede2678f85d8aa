//! Checks the candle and account databases: SQLite's integrity check, block checksums, and the key
//! file.

use std::io;
use std::ops::ControlFlow;

use access::AccessError;
use block::Block;
use market::{Candles, Timestamp};
use store::{Access, Accounts, Depth, Finding, Store, StoreError, StoreUrl};

use super::check::{AS_SERVICE, Check};
use crate::command::check;
use crate::context::CommandContext;
use crate::output;
use crate::progress;

/// Number of series whose newest block is read. The sample is small enough to be fast and large
/// enough to detect a failing disk.
const SAMPLE: usize = 64;
/// Maximum number of problems shown. `chandler check` lists all problems.
const SHOWN_MAX: usize = 3;

pub(super) fn all(context: &CommandContext, deep: bool, progress: progress::Flags) -> Vec<Check> {
    let mut checks = vec![store(context, deep, progress)];
    checks.extend(accounts(context, deep));
    checks
}

fn store(context: &CommandContext, deep: bool, progress: progress::Flags) -> Check {
    const NAME: &str = "store";
    let Ok(place) = context.url() else {
        let says = "no store is given, and there is no home directory for a default";
        return Check::warn(NAME, says, "name it with --store sqlite:DIR or CHANDLER_STORE");
    };
    let store = match Store::open(place, Access::Look) {
        Ok(store) => store,
        Err(error @ StoreError::Absent { .. }) => {
            return Check::warn(
                NAME,
                error.to_string(),
                "`chandler import FILE`, or `chandler demo` to try it",
            );
        }
        Err(error) => return describe(NAME, &error),
    };
    let checked = if deep { every_block(&store, context, progress) } else { sample(&store) };
    match checked {
        Err(error) => describe(NAME, &error),
        Ok((says, problems)) if problems.is_empty() => Check::ok(NAME, format!("{place}: {says}")),
        Ok((_, problems)) => {
            damaged(NAME, &problems, "run `chandler check`, then import the named series again")
        }
    }
}

/// Describes why a database cannot be opened or read. The advice depends on the cause: for example,
/// a missing permission does not require a restore from a backup.
fn describe(name: &'static str, error: &StoreError) -> Check {
    let says = error.to_string();
    match error {
        StoreError::Outdated { place, found, known } => Check::warn(
            name,
            format!("{place} has an older schema ({found}, this program has {known})"),
            match place.path() {
                Some(_) => {
                    "run `chandler backup` first; the next `chandler import` migrates the candles, the next `chandler \
                    serve` the accounts"
                }
                None => {
                    "make a backup first; the next `chandler serve` migrates both, and nodes of the previous release \
                    keep working"
                }
            },
        ),
        StoreError::Interrupted { .. } => Check::warn(
            name,
            says,
            "any command that may write there rolls it back, such as `chandler check` or the interrupted import",
        ),
        StoreError::Emptied { .. } => {
            Check::fail(name, says, "`chandler restore DIR --only accounts --replace` (docs/operating.md)")
        }
        StoreError::Denied { .. } => Check::fail(name, says, AS_SERVICE),
        StoreError::TooOld { .. } => Check::fail(
            name,
            says,
            "make a backup first; then run a command of that commit that may write there",
        ),
        StoreError::Newer { .. } | StoreError::Changed { .. } => {
            Check::fail(name, says, "use the release that wrote it, or a newer one")
        }
        StoreError::Locked { .. } | StoreError::Busy { .. } => Check::warn(name, says, "retry in a moment"),
        StoreError::Full { .. } => Check::fail(name, says, "free some space"),
        StoreError::Disk { .. } | StoreError::Io { .. } => {
            Check::fail(name, says, "check the system log and the disk")
        }
        StoreError::Foreign { .. } => Check::fail(name, says, "name a store with --store"),
        StoreError::HalfRestored { .. } => Check::fail(name, says, "run that restore again"),
        StoreError::HalfMoved { .. } => Check::fail(name, says, "run that move again, or empty its target"),
        error => {
            let otherwise = "restore a backup, or import again (docs/operating.md)";
            Check::fail(name, says, super::server::advice(error).unwrap_or(otherwise))
        }
    }
}

fn damaged(name: &'static str, problems: &[String], advice: &str) -> Check {
    let report: Vec<&str> = problems.iter().take(SHOWN_MAX).map(String::as_str).collect();
    let more = problems.len().saturating_sub(SHOWN_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Check::fail(name, format!("{}{more}", report.join("; ")), advice)
}

type Checked = Result<(String, Vec<String>), StoreError>;

fn every_block(store: &Store, context: &CommandContext, progress: progress::Flags) -> Checked {
    let report = check::watched(store, context.history.venues(), progress)?;
    let problems = report.damage.into_iter().map(|damage| damage.problem).collect();
    Ok((format!("whole, {}", output::count(report.blocks, "block")), problems))
}

/// Checks the tables, and the newest block of each series in a sample.
fn sample(store: &Store) -> Checked {
    let mut reader = store.checker()?;
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
    Ok((
        format!("tables intact, {read} of {} newest blocks verified; --deep verifies all", series.len()),
        problems,
    ))
}

/// Checks the accounts. Returns no checks if the accounts database does not exist, and does not
/// create it.
fn accounts(context: &CommandContext, deep: bool) -> Vec<Check> {
    const NAME: &str = "accounts";
    let Ok(place) = context.url() else { return Vec::new() };
    let look = || -> Result<Option<(Vec<Finding>, bool)>, StoreError> {
        if !Accounts::is_there(place)? {
            return Ok(None);
        }
        let all = Accounts::look(place)?;
        let depth = if deep { Depth::Full } else { Depth::Quick };
        Ok(Some((all.check(depth)?, all.is_empty()?)))
    };
    let (findings, is_empty) = match look() {
        Err(error) => return vec![describe(NAME, &error)],
        Ok(None) => return Vec::new(),
        Ok(Some(found)) => found,
    };
    let database = match (findings.is_empty(), place.path()) {
        (true, Some(_)) => Check::ok(NAME, "accounts.db is intact"),
        (true, None) => Check::ok(NAME, "all references between the tables are valid"),
        (false, at) => damaged(
            NAME,
            &findings.iter().map(Finding::to_string).collect::<Vec<_>>(),
            match at {
                Some(_) => "restore a copy of accounts.db (docs/operating.md)",
                None => "restore a backup of the database (docs/scaling.md)",
            },
        ),
    };
    // The key file is created with the first account.
    if is_empty { vec![database] } else { vec![database, key(place, context)] }
}

/// Checks that the key file exists, is readable only by its owner, and decrypts the stored secrets.
fn key(place: &StoreUrl, context: &CommandContext) -> Check {
    let name = if place.path().is_some() { KEY } else { KEY_OF_NODE };
    let access = access::Access::look_at(place, context.key_file().as_deref());
    match access.and_then(|access| access.check_key()) {
        Ok(opened) => {
            Check::ok(name, format!("readable only by its owner, and decrypts every app secret ({opened})"))
        }
        Err(error) => key_told(name, &error),
    }
}

const KEY: &str = "secret.key";
const KEY_OF_NODE: &str = "key file";

fn key_told(name: &'static str, error: &AccessError) -> Check {
    let says = error.to_string();
    match error {
        AccessError::KeyExposed { path } => Check::fail(name, says, format!("chmod 600 {}", path.display())),
        AccessError::KeyFile { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Check::fail(name, format!("{says}: {source}"), AS_SERVICE)
        }
        AccessError::KeyFile { source, .. } => {
            Check::fail(name, format!("{says}: {source}"), "check the system log and the disk")
        }
        AccessError::Store(error) => describe(name, error),
        AccessError::KeyUnnamed | AccessError::KeyElsewhere { .. } | AccessError::KeyDiffers { .. } => {
            Check::fail(
                name,
                says,
                "copy the key file of a node that works, with mode 0600 (docs/scaling.md)",
            )
        }
        _ => Check::fail(name, says, "restore the copy that belongs to the accounts, with mode 0600"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn the_advice_for_a_key_file_depends_on_its_error() {
        let path = || "store/secret.key".into();
        let advice = |error: &AccessError| key_told(KEY, error).advice.unwrap();
        assert_eq!(advice(&AccessError::KeyExposed { path: path() }), "chmod 600 store/secret.key");
        let denied = io::ErrorKind::PermissionDenied.into();
        let unreadable = AccessError::KeyFile { what: "read", path: path(), source: denied };
        assert_eq!(advice(&unreadable), AS_SERVICE);
        assert!(advice(&AccessError::KeyMissing { path: path() }).contains("restore"));
    }

    #[test]
    fn an_older_schema_is_a_warning() {
        let path = || "store/accounts.db".into();
        let older = describe("accounts", &StoreError::Outdated { place: path(), found: 1, known: 2 });
        assert_eq!(older.verdict, Verdict::Warn);
        let denied = StoreError::Denied { what: "open the database", place: path(), source: "no".into() };
        assert_eq!(describe("accounts", &denied).advice.as_deref(), Some(AS_SERVICE));
    }
}
