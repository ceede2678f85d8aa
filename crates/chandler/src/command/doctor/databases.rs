//! The store and the accounts: whether SQLite finds its pages whole, blocks their checksums, and the key its locks.

use std::ops::ControlFlow;

use access::AccessError;
use block::Block;
use market::{Candles, Timestamp};
use store::{Access, Accounts, Depth, Finding, Store, StoreError};

use super::Check;
use crate::clock::Clock;
use crate::command::serve::open_accounts;
use crate::surroundings::Surroundings;

/// Series whose newest block is read: enough to notice a disk that loses things, quick enough not to be waited for.
const SAMPLE: usize = 64;
/// Findings that are told; `chandler check` tells all.
const TOLD: usize = 3;

pub(super) fn all(surroundings: &Surroundings, deep: bool) -> Vec<Check> {
    let mut checks = vec![store(surroundings, deep)];
    checks.extend(accounts(surroundings, deep));
    checks
}

fn store(surroundings: &Surroundings, deep: bool) -> Check {
    const NAME: &str = "store";
    let looked = surroundings.directory().display();
    let store = match Store::open(surroundings.directory(), Access::Read) {
        Ok(store) => store,
        Err(error @ StoreError::Absent { .. }) => {
            return Check::warn(
                NAME,
                error.to_string(),
                "`chandler import FILE`, or `chandler demo` to try it",
            );
        }
        Err(error) => return Check::fail(NAME, error.to_string(), "see docs/operating.md"),
    };
    let checked = if deep { every_block(&store, surroundings) } else { sample(&store) };
    match checked {
        Err(error) => {
            Check::fail(NAME, error.to_string(), "run `chandler check`, then restore a copy or import again")
        }
        Ok((says, problems)) if problems.is_empty() => Check::ok(NAME, format!("{looked}: {says}")),
        Ok((_, problems)) => {
            damaged(NAME, &problems, "run `chandler check`, then import the named series again")
        }
    }
}

fn damaged(name: &'static str, problems: &[String], advice: &str) -> Check {
    let told: Vec<&str> = problems.iter().take(TOLD).map(String::as_str).collect();
    let more = problems.len().saturating_sub(TOLD);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Check::fail(name, format!("{}{more}", told.join("; ")), advice)
}

type Checked = Result<(String, Vec<String>), StoreError>;

fn every_block(store: &Store, surroundings: &Surroundings) -> Checked {
    let report = history::check(store, surroundings.history.venues())?;
    let problems = report.damage.into_iter().map(|damage| damage.problem).collect();
    Ok((format!("whole, {} blocks", report.blocks), problems))
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

/// Nothing where there are no accounts yet; looking must not make them.
fn accounts(surroundings: &Surroundings, deep: bool) -> Vec<Check> {
    const NAME: &str = "accounts";
    if !surroundings.directory().join("accounts.db").exists() {
        return Vec::new();
    }
    let depth = if deep { Depth::Full } else { Depth::Quick };
    let advice = "restore a copy of accounts.db (docs/operating.md)";
    let opened = Accounts::open(surroundings.directory(), Clock::Machine.now());
    let found = opened.and_then(|all| Ok((all.check(depth)?, all.is_empty()?)));
    let (findings, is_empty) = match found {
        Err(error) => return vec![Check::fail(NAME, error.to_string(), advice)],
        Ok(found) => found,
    };
    let database = match findings.is_empty() {
        true => Check::ok(NAME, "accounts.db is whole"),
        false => damaged(NAME, &findings.iter().map(Finding::to_string).collect::<Vec<_>>(), advice),
    };
    // The key is made with the first account.
    if is_empty { vec![database] } else { vec![database, key(surroundings)] }
}

/// The key file: there, its owner's alone, and the one that secrets were sealed with.
fn key(surroundings: &Surroundings) -> Check {
    const NAME: &str = "secret.key";
    let opened = open_accounts(surroundings)
        .map_err(|failure| failure.to_string())
        .and_then(|access| access.check_key().map_err(|error: AccessError| error.to_string()));
    match opened {
        Ok(opened) => Check::ok(NAME, format!("its owner's alone, and opens every app secret ({opened})")),
        Err(error) => {
            Check::fail(NAME, error, "restore the copy that belongs to accounts.db, with mode 0600")
        }
    }
}
