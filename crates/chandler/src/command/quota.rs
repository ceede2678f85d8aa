//! `chandler quota`: shows the accounts' usage this month, their levels with the reasons, and the
//! next change.

use std::io::Write;

use access::{Access, Quota};
use anyhow::anyhow;
use clap::Args;
use serde_json::Value;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local::{named, open_accounts};
use crate::output::{self, Column, Format};
use crate::remote::{self, field};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One account, by name or number [default: all accounts; on a server, the signed-in account]
    account: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    remote: remote::ServerFlags,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    if let Some(session) = arguments.remote.session(context)? {
        let mut path = "/v1/quota".to_owned();
        if let Some(name) = &arguments.account {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("account", name).finish();
            path = format!("{path}?{query}");
        }
        let document = session.get(&path).map_err(|error| session.to_failure(error))?;
        return print(&document, arguments.format);
    }
    context.open(store::Access::Read)?;
    let access = open_accounts(context)?;
    match &arguments.account {
        Some(name) => {
            let quota = quota(&access, named(&access, name)?.id, context)?;
            print(&server::quota_document(&quota, context.now()), arguments.format)?;
            if quota.usage.remaining() == 0 && arguments.format == Format::Table {
                let lift = context.hint(&format!("account set {} --unlimited", quota.account.id.0));
                output::note(format_args!("`{lift}` removes its limits"));
            }
            Ok(())
        }
        None => all(&access, arguments.format, context),
    }
}

fn quota(access: &Access, id: access::AccountId, context: &CommandContext) -> Result<Quota, Failure> {
    let quota = access.quota(id, context.now())?;
    quota.ok_or_else(|| anyhow!("account {} no longer exists", id.0).into())
}

/// Prints the quota of one account. The document has the same format for the local store and a
/// server.
fn print(document: &Value, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(document)?);
    }
    // Text from a server may contain control characters, which must not reach the terminal.
    let shown = |value: &Value| output::printable(value.as_str().unwrap_or(&value.to_string()));
    let text = |name: &str| shown(field(document, name));
    let level = field(document, "level");
    let of_level = |name: &str| shown(field(level, name));
    let mut out = output::stdout();
    writeln!(out, "account      {} {:?}", text("account_id"), text("account"))?;
    writeln!(out, "used         {} of {} securities in {}", text("used"), text("limit"), text("month"))?;
    writeln!(out, "level        {}: {}", of_level("number"), of_level("reason"))?;
    if field(level, "own_quota").as_bool() == Some(true) {
        writeln!(out, "limit        {}, set for this account", text("limit"))?;
    }
    let assets = field(level, "assets");
    match assets.is_null() {
        true => writeln!(out, "assets       none known")?,
        false => {
            let hkd = grouped(&shown(field(assets, "hkd")));
            let source = source(field(assets, "paper_hkd"));
            writeln!(out, "assets       HKD {hkd}{source} on {}", shown(field(assets, "day")))?;
        }
    }
    let orders = field(level, "orders");
    let source = source(field(orders, "paper"));
    writeln!(
        out,
        "orders       {}{source} in {}",
        shown(field(orders, "count")),
        shown(field(orders, "month"))
    )?;
    let next = field(document, "next_change");
    let of_next = |name: &str| shown(field(next, name));
    match next.is_null() {
        true => writeln!(out, "next         unchanged from {}, as far as known", text("next_trading_day"))?,
        false => writeln!(
            out,
            "next         level {} with {} securities a month from {}",
            of_next("level"),
            of_next("limit"),
            of_next("day")
        )?,
    }
    writeln!(out, "resets       {}", text("resets_at"))?;
    let securities = field(document, "securities").as_array().map(Vec::as_slice).unwrap_or_default();
    for one in securities {
        writeln!(
            out,
            "             {} since {}",
            shown(field(one, "symbol")),
            shown(field(one, "first_used_at"))
        )?;
    }
    if securities.is_empty() {
        writeln!(out, "             no securities yet")?;
    }
    // The next level is a forecast from the reports received so far.
    if !next.is_null() && field(next, "level") != field(level, "number") {
        writeln!(out, "             level {} because {}", of_next("level"), of_next("reason"))?;
    }
    Ok(out.flush()?)
}

/// Returns a note if the number comes from the paper account, otherwise an empty string.
fn source(paper: &Value) -> &'static str {
    if paper.is_null() { "" } else { " of the paper account" }
}

/// Formats `80000.00` as `80,000.00`.
fn grouped(plain: &str) -> String {
    let (whole, cents) = plain.split_once('.').unwrap_or((plain, "00"));
    match whole.parse() {
        Ok(whole) => format!("{}.{cents}", output::thousands(whole)),
        Err(_) => plain.to_owned(),
    }
}

fn outlook(quota: &Quota) -> String {
    let next = &quota.next.standing;
    format!("level {} with {} securities a month from {}", next.level, next.limit, next.day)
}

fn all(access: &Access, format: Format, context: &CommandContext) -> Result<(), Failure> {
    let mut quotas = Vec::new();
    for account in access.list()?.iter().filter(|account| account.revoked_at.is_none()) {
        quotas.push(quota(access, account.id, context)?);
    }
    if format == Format::Json {
        let document = |quota| server::quota_document(quota, context.now());
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
                "set for this account".to_owned()
            } else {
                usage.standing.reason.to_string()
            },
            if quota.next.changes { outlook(quota) } else { String::new() },
        ]
    });
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(output::table(&columns, rows).optional(&["next", "why", "month"])))?;
    Ok(out.flush()?)
}
