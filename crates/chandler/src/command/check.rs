//! `chandler check`: reads the whole store and verifies every checksum.

use std::io::Write;

use clap::Args;
use history::{CheckReport, Remedy};
use market::Venues;
use serde_json::{Value, json};
use store::{Access, Accounts, Depth, Store, StoreError, StoreUrl};

use crate::context::CommandContext;
use crate::failure::{self, Failure};
use crate::output::{self, Format};
use crate::progress;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    progress: progress::Flags,
}

/// Verifies every block, with a progress bar.
pub(crate) fn watched(
    store: &Store,
    venues: &Venues,
    progress: progress::Flags,
) -> Result<CheckReport, StoreError> {
    // The block count is used only for the progress bar. The check itself reports series that
    // cannot be listed.
    let blocks =
        store.reader()?.snapshot()?.all_series().unwrap_or_default().iter().map(|info| info.blocks).sum();
    let bar = progress.count(blocks, "blocks");
    history::check_watched(store, venues, |report| bar.set(report.blocks))
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open(Access::Read)?;
    let report = watched(&store, context.history.venues(), arguments.progress)?;
    let accounts = accounts(context.url()?);
    let pages = Pages::of(&store)?;
    let reported = arguments.note(&report, &accounts, pages);
    if matches!(&accounts, AccountsReport::Damaged(_)) {
        output::note(
            "chandler: the accounts are damaged: restore them from a backup with --only accounts --replace",
        );
    }
    if report.damage.is_empty() {
        return if accounts.is_well() { reported } else { failure::found(reported, Err(Failure::Reported)) };
    }
    let has = |remedy| report.damage.iter().any(|damage| damage.remedy == remedy);
    if has(Remedy::RemoveLog) {
        output::note(
            "chandler: the log of ingested batches is damaged: remove ingest.db (docs/operating.md, Repairing)",
        );
    }
    if has(Remedy::Restore) {
        output::note(
            "chandler: the store is damaged around its blocks: restore a backup, or import the files into a new store",
        );
    } else if has(Remedy::ImportAgain) {
        output::note(
            "chandler: the store is damaged: import the files of the named series again with --again",
        );
    }
    failure::found(reported, Err(Failure::Reported))
}

/// How the database's pages were verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pages {
    /// This program has read and verified the pages of the SQLite files.
    Checked,
    /// The pages belong to a database server. `has_checksums` is whether the server uses page
    /// checksums, or `None` if the server does not report it.
    OfServer { has_checksums: Option<bool> },
}

impl Pages {
    fn of(store: &Store) -> Result<Pages, StoreError> {
        match store.dir() {
            Some(_) => Ok(Pages::Checked),
            None => Ok(Pages::OfServer { has_checksums: store.has_page_checksums()? }),
        }
    }

    fn note(self) -> Option<&'static str> {
        match self {
            Pages::Checked => None,
            Pages::OfServer { has_checksums: Some(true) } => Some("checked by PostgreSQL, with checksums"),
            Pages::OfServer { has_checksums: Some(false) } => Some(
                "not checked by PostgreSQL: checksums are off; `pg_checksums --enable` while the server is stopped",
            ),
            Pages::OfServer { has_checksums: None } => {
                Some("the server does not report whether checksums are on")
            }
        }
    }
}

/// State of a store's accounts.
enum AccountsReport {
    /// The store has no accounts.
    Absent,
    Whole,
    /// The accounts have an older schema, which the next server start migrates.
    Outdated,
    Damaged(Vec<String>),
    /// The accounts could not be read, which is not evidence of damage.
    Unread(StoreError),
}

impl AccountsReport {
    fn is_well(&self) -> bool {
        matches!(self, AccountsReport::Absent | AccountsReport::Whole | AccountsReport::Outdated)
    }

    /// Returns the problems found, or `None` if the accounts were not checked.
    fn problems(&self) -> Option<Vec<String>> {
        match self {
            AccountsReport::Absent | AccountsReport::Outdated => None,
            AccountsReport::Whole => Some(Vec::new()),
            AccountsReport::Damaged(problems) => Some(problems.clone()),
            AccountsReport::Unread(error) => Some(vec![error.to_string()]),
        }
    }

    /// Returns a note about the accounts, or `None` if there are no accounts or their problems are
    /// printed instead.
    fn note(&self) -> Option<&'static str> {
        match self {
            AccountsReport::Whole => Some("no damage found"),
            AccountsReport::Outdated => Some("older schema, not checked"),
            AccountsReport::Absent | AccountsReport::Damaged(_) | AccountsReport::Unread(_) => None,
        }
    }
}

/// Checks a store's accounts. Errors become part of the report, so that the result for the candles
/// is still printed.
fn accounts(place: &StoreUrl) -> AccountsReport {
    let found = Accounts::is_there(place).and_then(|is_there| match is_there {
        true => Accounts::look(place)?.check(Depth::Full).map(Some),
        false => Ok(None),
    });
    match found {
        Ok(None) => AccountsReport::Absent,
        Ok(Some(findings)) if findings.is_empty() => AccountsReport::Whole,
        Ok(Some(findings)) => AccountsReport::Damaged(findings.iter().map(ToString::to_string).collect()),
        Err(StoreError::Outdated { .. }) => AccountsReport::Outdated,
        // These errors are evidence of damage. After any other error the state is unknown.
        Err(
            error @ (StoreError::Damaged { .. }
            | StoreError::Emptied { .. }
            | StoreError::Foreign { .. }
            | StoreError::Changed { .. }
            | StoreError::Value { .. }),
        ) => AccountsReport::Damaged(vec![error.to_string()]),
        Err(error) => AccountsReport::Unread(error),
    }
}

impl Arguments {
    fn note(&self, report: &CheckReport, accounts: &AccountsReport, pages: Pages) -> Result<(), Failure> {
        if self.format == Format::Json {
            let damage: Vec<Value> = report
                .damage
                .iter()
                .map(|damage| {
                    let series = damage.series.as_ref().map(ToString::to_string);
                    json!({"series": series, "time": damage.at.map(|at| at.to_string()), "problem": damage.problem})
                })
                .collect();
            let mut reported = json!({
                "blocks": report.blocks, "candles": report.rows, "trades": report.trades, "bytes": report.bytes,
                "damage": damage, "accounts": accounts.problems(), "accounts_note": accounts.note(),
            });
            if let (Pages::OfServer { has_checksums }, Some(reported)) = (pages, reported.as_object_mut()) {
                reported.insert("page_checksums".to_owned(), has_checksums.into());
            }
            return Ok(output::json(&reported)?);
        }
        let mut out = output::stdout();
        for damage in &report.damage {
            writeln!(out, "{}", output::printable(&damage.problem))?;
        }
        let verdict = match report.damage.len() {
            0 => "no damage found".to_owned(),
            problems => output::count(problems as u64, "problem"),
        };
        let (candles, blocks) = (output::count(report.rows, "candle"), output::count(report.blocks, "block"));
        let trades = match report.trades {
            0 => String::new(),
            trades => format!(" and {}", output::count(trades, "trade")),
        };
        writeln!(out, "{candles}{trades} in {blocks}: {verdict}")?;
        let problems = accounts.problems().unwrap_or_default();
        for reported in problems.iter().map(String::as_str).chain(accounts.note()) {
            let name = if pages == Pages::Checked { "accounts.db" } else { "accounts" };
            writeln!(out, "{name}: {}", output::printable(reported))?;
        }
        if let Some(note) = pages.note() {
            writeln!(out, "pages: {note}")?;
        }
        Ok(out.flush()?)
    }
}
