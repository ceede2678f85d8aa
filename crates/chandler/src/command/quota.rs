//! `chandler quota`: what accounts have used this month, at which level, why, and when that changes.

use std::io::Write;

use access::{Access, Quota, Standing};
use anyhow::anyhow;
use clap::Args;
use market::{Market, Zone};
use serde_json::Value;

use super::account::named;
use super::serve::open_accounts;
use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One account, by name or number [default: all of them]
    account: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    surroundings.open(store::Access::Read)?;
    let access = open_accounts(surroundings)?;
    match &arguments.account {
        Some(name) => {
            let quota = quota(&access, named(&access, name)?.id, surroundings)?;
            if arguments.format == Format::Json {
                return Ok(output::json(&server::quota_document(&quota, surroundings.now()))?);
            }
            one(&quota)
        }
        None => all(&access, arguments.format, surroundings),
    }
}

fn quota(access: &Access, id: access::AccountId, surroundings: &Surroundings) -> Result<Quota, Failure> {
    let quota = access.quota(id, surroundings.now())?;
    quota.ok_or_else(|| anyhow!("account {} has gone", id.0).into())
}

fn one(quota: &Quota) -> Result<(), Failure> {
    let Quota { account, usage, next, securities } = quota;
    let standing = &usage.standing;
    let zone = Zone::of(Market::Hk);
    let mut out = output::stdout();
    writeln!(out, "account      {} {:?}", account.id.0, account.name)?;
    writeln!(out, "used         {} of {} securities in {}", usage.used, usage.limit, usage.month)?;
    writeln!(out, "level        {}: {}", standing.level, standing.reason)?;
    if standing.own_quota {
        writeln!(out, "limit        {}, a number of its own", usage.limit)?;
    }
    writeln!(out, "assets       {}", assets(standing))?;
    let orders = &standing.grounds.orders;
    writeln!(out, "orders       {} in {}", orders.count, orders.month)?;
    writeln!(out, "next         {}", outlook(quota))?;
    writeln!(out, "full again   {}", zone.rfc3339(usage.resets_at))?;
    for (symbol, at) in securities {
        writeln!(out, "             {symbol} since {}", zone.rfc3339(*at))?;
    }
    if securities.is_empty() {
        writeln!(out, "             no security so far")?;
    }
    // What will hold is only as good as what was told.
    if next.changes && next.standing.level != standing.level {
        writeln!(out, "             level {} because {}", next.standing.level, next.standing.reason)?;
    }
    Ok(out.flush()?)
}

fn assets(standing: &Standing) -> String {
    match standing.grounds.assets {
        Some(worth) => format!("{} on {}", worth.total, worth.day),
        None => "none were told".to_owned(),
    }
}

fn outlook(quota: &Quota) -> String {
    let next = &quota.next.standing;
    if quota.next.changes {
        format!("level {} with {} securities a month from {}", next.level, next.limit, next.day)
    } else {
        format!("the same from {}, as far as is known", next.day)
    }
}

fn all(access: &Access, format: Format, surroundings: &Surroundings) -> Result<(), Failure> {
    let mut quotas = Vec::new();
    for account in access.list()?.iter().filter(|account| account.revoked_at.is_none()) {
        quotas.push(quota(access, account.id, surroundings)?);
    }
    if format == Format::Json {
        let document = |quota| server::quota_document(quota, surroundings.now());
        return Ok(output::json(&quotas.iter().map(document).collect::<Vec<Value>>())?);
    }
    let columns = [
        Column::Right("account"),
        Column::Left("name"),
        Column::Left("month"),
        Column::Right("used"),
        Column::Right("quota"),
        Column::Right("level"),
        Column::Left("why"),
        Column::Left("next"),
    ];
    let rows = quotas.iter().map(|quota| {
        let usage = &quota.usage;
        vec![
            quota.account.id.0.to_string(),
            quota.account.name.clone(),
            usage.month.to_string(),
            usage.used.to_string(),
            usage.limit.to_string(),
            usage.standing.level.to_string(),
            if usage.standing.own_quota {
                "a number of its own".to_owned()
            } else {
                usage.standing.reason.to_string()
            },
            if quota.next.changes { outlook(quota) } else { String::new() },
        ]
    });
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    Ok(out.flush()?)
}
