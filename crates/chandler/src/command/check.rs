//! `chandler check`: reads everything, trusts nothing.

use std::io::Write;
use std::path::Path;

use clap::Args;
use history::{CheckReport, Remedy};
use market::Venues;
use serde_json::{Value, json};
use store::{Access, Accounts, Depth, Store, StoreError};

use crate::failure::{self, Failure};
use crate::output::{self, Format};
use crate::progress;
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    progress: progress::Flags,
}

/// Reads every block, with a bar for whoever waits.
pub(crate) fn watched(
    store: &Store,
    venues: &Venues,
    progress: progress::Flags,
) -> Result<CheckReport, StoreError> {
    // Only for the bar: what cannot be listed is what is being looked for.
    let blocks =
        store.reader()?.snapshot()?.all_series().unwrap_or_default().iter().map(|info| info.blocks).sum();
    let bar = progress.count(blocks, "blocks");
    history::check_watched(store, venues, |report| bar.set(report.blocks))
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    let store = surroundings.open(Access::Read)?;
    let report = watched(&store, surroundings.history.venues(), arguments.progress)?;
    let accounts = accounts(store.dir())?;
    let told = arguments.tell(&report, accounts.as_deref());
    let has_lost_accounts = accounts.is_some_and(|findings| !findings.is_empty());
    if has_lost_accounts {
        output::tell(
            "chandler: the accounts are damaged: restore them from a backup with --only accounts --replace",
        );
    }
    if report.damage.is_empty() {
        return if has_lost_accounts { failure::found(told, Err(Failure::Reported)) } else { told };
    }
    let around = report.damage.iter().any(|damage| damage.remedy == Remedy::Restore);
    output::tell(match around {
        false => "chandler: the store is damaged: import the files of the named series again with --again",
        true => {
            "chandler: the store is damaged around its blocks: restore a backup, or import the files into a new store"
        }
    });
    failure::found(told, Err(Failure::Reported))
}

/// What is wrong with the accounts of a store; nothing where there are none. One that cannot be opened is a finding too.
fn accounts(dir: &Path) -> Result<Option<Vec<String>>, Failure> {
    if !dir.join("accounts.db").exists() {
        return Ok(None);
    }
    let found = Accounts::look(dir).and_then(|accounts| accounts.check(Depth::Full));
    match found {
        Ok(findings) => Ok(Some(findings.iter().map(ToString::to_string).collect())),
        // Brought forward, or made, by the next server.
        Err(StoreError::Outdated { .. }) => Ok(None),
        Err(
            error @ (StoreError::Damaged { .. }
            | StoreError::Emptied { .. }
            | StoreError::Foreign { .. }
            | StoreError::Changed { .. }
            | StoreError::Value { .. }),
        ) => Ok(Some(vec![error.to_string()])),
        Err(error) => Err(error.into()),
    }
}

impl Arguments {
    fn tell(&self, report: &CheckReport, accounts: Option<&[String]>) -> Result<(), Failure> {
        if self.format == Format::Json {
            let damage: Vec<Value> = report
                .damage
                .iter()
                .map(|damage| {
                    let series = damage.series.as_ref().map(ToString::to_string);
                    json!({"series": series, "time": damage.at.map(|at| at.to_string()), "problem": damage.problem})
                })
                .collect();
            return Ok(output::json(&json!({
                "blocks": report.blocks, "candles": report.rows, "bytes": report.bytes,
                "damage": damage, "accounts": accounts,
            }))?);
        }
        let mut out = output::stdout();
        for damage in &report.damage {
            writeln!(out, "{}", output::printable(&damage.problem))?;
        }
        let verdict = match report.damage.len() {
            0 => "all whole".to_owned(),
            problems => output::count(problems as u64, "problem"),
        };
        let (candles, blocks) = (output::count(report.rows, "candle"), output::count(report.blocks, "block"));
        writeln!(out, "{candles} in {blocks}: {verdict}")?;
        for problem in accounts.unwrap_or_default() {
            writeln!(out, "accounts.db: {}", output::printable(problem))?;
        }
        if accounts.is_some_and(<[String]>::is_empty) {
            writeln!(out, "accounts.db: all whole")?;
        }
        Ok(out.flush()?)
    }
}
