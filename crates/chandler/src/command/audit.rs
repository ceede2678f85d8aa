//! `chandler audit`: lists account changes with their actor and reason. Reads the store directly,
//! so it works without a server.

use std::collections::HashMap;
use std::io::Write;

use access::{Access, AccountId, Actor, AuditFilter, AuditRow, parse_instant};
use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::open_accounts;
use crate::output::{self, Column, Format};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only events of this account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only events of this kind, such as account.created or quota.spent
    #[arg(long, value_name = "KIND")]
    event: Option<String>,
    /// Only events since this time: a date (its start in Hong Kong), or an instant such as
    /// 2026-11-13T01:30:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Delete the events before --before instead of listing events; the audit log records how many
    /// were deleted
    #[arg(long, requires = "before", conflicts_with_all = ["account", "event", "since", "limit"])]
    prune: bool,
    /// With --prune: a date (its start in Hong Kong), or an instant
    #[arg(long, value_name = "TIME", requires = "prune")]
    before: Option<String>,
    /// Maximum number of events, newest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    context.open(store::Access::Read)?;
    let access = open_accounts(context)?;
    if let Some(before) = arguments.before.as_deref().filter(|_| arguments.prune) {
        return prune(before, arguments.format, &access);
    }
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
    writeln!(out, "{}", output::text(output::table(&columns, cells).optional(&["account", "actor"])))?;
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
        let since = self.since.as_deref().map(parse_instant).transpose().map_err(usage)?;
        let event = self.event.as_deref();
        Ok(access.audit(&AuditFilter { account, event, since, before: None, limit: self.limit })?)
    }
}

fn prune(before: &str, format: Format, access: &Access) -> Result<(), Failure> {
    let (before, now) = (parse_instant(before).map_err(usage)?, Clock::Machine.now());
    if before > now {
        return Err(usage(format!("--before {before} is in the future")));
    }
    let pruned = access.prune_audit(before, &Actor::Operator, now)?;
    if format == Format::Json {
        return Ok(output::json(&json!({"forgotten": pruned, "before": before.to_string()}))?);
    }
    let rows = if pruned == 1 { "row" } else { "rows" };
    let mut out = output::stdout();
    writeln!(out, "deleted {} {rows} from before {before}", output::thousands(pruned))?;
    Ok(out.flush()?)
}

fn row_json(row: &AuditRow, name: Option<String>) -> Value {
    json!({
        "id": row.id.0, "at": row.at.to_string(), "actor": row.actor, "account_id": row.account.map(|id| id.0),
        "account": name, "event": row.event, "reason": row.reason,
    })
}
