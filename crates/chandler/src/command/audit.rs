//! `chandler audit`: who did what to whom, and why. Reads the store, so it works without a server.

use std::collections::HashMap;
use std::io::Write;

use access::{Access, AccountId, AuditFilter, AuditRow};
use anyhow::anyhow;
use clap::Args;
use market::Timestamp;
use serde_json::{Value, json};

use super::serve::open_accounts;
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only what concerns this account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only events of this kind, as account.created or quota.spent
    #[arg(long, value_name = "KIND")]
    event: Option<String>,
    /// Only what happened since: a date in UTC, or an instant
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// How many, latest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    surroundings.open(store::Access::Read)?;
    let access = open_accounts(surroundings)?;
    let names: HashMap<AccountId, String> =
        access.list()?.into_iter().map(|account| (account.id, account.name)).collect();
    let rows = arguments.read(&access)?;
    let name = |row: &AuditRow| row.account.and_then(|id| names.get(&id)).cloned();
    if arguments.format == Format::Json {
        let rows: Vec<Value> = rows.iter().map(|row| row_json(row, name(row))).collect();
        return Ok(output::json(&rows)?);
    }
    let columns = [
        Column::Left("time"),
        Column::Left("actor"),
        Column::Left("account"),
        Column::Left("event"),
        Column::Left("reason"),
    ];
    let cells = rows.iter().map(|row| {
        let account = name(row).or_else(|| row.account.map(|id| id.0.to_string())).unwrap_or_default();
        vec![row.at.to_string(), row.actor.clone(), account, row.event.clone(), row.reason.clone()]
    });
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(&output::table(&columns, cells)))?;
    Ok(out.flush()?)
}

impl Arguments {
    fn read(&self, access: &Access) -> Result<Vec<AuditRow>, Failure> {
        let account = match &self.account {
            None => None,
            Some(name) => {
                let found = access.account_named(name)?;
                Some(
                    found
                        .ok_or_else(|| {
                            anyhow!("there is no account {name:?}: `chandler account list` shows them")
                        })?
                        .id,
                )
            }
        };
        let since = self.since.as_deref().map(instant).transpose()?;
        let event = self.event.as_deref();
        Ok(access.audit(&AuditFilter { account, event, since, before: None, limit: self.limit })?)
    }
}

/// `2026-11-13`, or an instant with its offset.
fn instant(text: &str) -> Result<Timestamp, Failure> {
    let midnight = || {
        let date: jiff::civil::Date = text.parse().ok()?;
        date.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|at| at.timestamp())
    };
    let at = text.parse::<jiff::Timestamp>().ok().or_else(midnight);
    at.map(|at| Timestamp(at.as_second())).ok_or_else(|| {
        usage(format!("--since {text:?} is not a time: write 2026-11-13 or 2026-11-13T01:30:00Z"))
    })
}

fn row_json(row: &AuditRow, name: Option<String>) -> Value {
    json!({
        "id": row.id.0, "at": row.at.to_string(), "actor": row.actor, "account_id": row.account.map(|id| id.0),
        "account": name, "event": row.event, "reason": row.reason,
    })
}
