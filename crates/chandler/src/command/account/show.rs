//! `chandler account list` and `show`: print accounts with their limits and usage.

use std::io::Write;

use access::{Access, Account, Present, RateRule, Right, Usage};
use anyhow::anyhow;
use serde_json::{Map, Value, json};

use super::paper_account;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local::Books;
use crate::output::{self, Column, Format};

pub(super) fn list(
    access: &Access,
    format: Format,
    present: Present,
    context: &CommandContext,
) -> Result<(), Failure> {
    let accounts = access.list()?;
    if format == Format::Json {
        let accounts: Result<Vec<Value>, Failure> = accounts
            .iter()
            .map(|account| {
                let mut value = account_json(access, account, present)?;
                value.insert("used".to_owned(), usage(access, account, present)?.used.into());
                Ok(Value::Object(value))
            })
            .collect();
        return Ok(output::json(&accounts?)?);
    }
    if accounts.is_empty() {
        let mut out = output::stdout();
        let create = context.hint("account create NAME");
        writeln!(out, "there are no accounts: `{create}` creates one")?;
        return Ok(out.flush()?);
    }
    let columns = [
        Column::Right("account"),
        Column::Left("name"),
        Column::Left("role"),
        Column::Left("region"),
        Column::Left("rights"),
        Column::Right("level"),
        Column::Right("used"),
        Column::Right("quota"),
        Column::Left("rate"),
        Column::Right("connections"),
        Column::Right("subscriptions"),
        Column::Left("state"),
    ];
    let mut rows = Vec::new();
    for account in &accounts {
        let usage = usage(access, account, present)?;
        rows.push(vec![
            account.id.0.to_string(),
            account.name.clone(),
            account.role.as_str().to_owned(),
            account.region.to_string(),
            account.rights.to_string(),
            usage.standing.level.to_string(),
            usage.used.to_string(),
            usage.limit.to_string(),
            account.terms.rate_rule().to_string(),
            account.terms.connections.to_string(),
            account.terms.subscriptions.to_string(),
            state(account),
        ]);
    }
    let mut out = output::stdout();
    writeln!(
        out,
        "{}",
        output::text(output::table(&columns, rows).optional(&[
            "subscriptions",
            "connections",
            "rights",
            "rate",
            "region",
            "level"
        ]))
    )?;
    out.flush()?;
    Ok(())
}

pub(super) fn show(
    access: &Access,
    account: &Account,
    format: Format,
    (context, present): (&CommandContext, Present),
) -> Result<(), Failure> {
    let paper = paper_account::document(&Books::open(context)?, account)?;
    let keys = access.app_keys(account.id)?;
    let usage = usage(access, account, present)?;
    let charged = access.charged(account.id, present.market)?;
    if format == Format::Json {
        let mut value = account_json(access, account, present)?;
        let securities: Vec<Value> = charged
            .iter()
            .map(|(symbol, at)| json!({"symbol": symbol.as_str(), "at": at.to_string()}))
            .collect();
        let usage = json!({
            "month": usage.month.to_string(), "used": usage.used, "limit": usage.limit,
            "resets": usage.resets.to_string(), "securities": securities,
        });
        let keys = keys
            .iter()
            .map(|(key, ends)| json!({"app_key": key, "token_expires_at": ends.to_string()}))
            .collect();
        value.extend([
            ("usage".to_owned(), usage),
            ("app_keys".to_owned(), keys),
            ("paper".to_owned(), paper),
        ]);
        return Ok(output::json(&value)?);
    }
    let mut out = output::stdout();
    let Account { region, role, .. } = account;
    writeln!(out, "account      {} {:?}, {}", account.id.0, account.name, state(account))?;
    writeln!(out, "created      {}, region {region}, role {}", account.created_at, role.as_str())?;
    for (key, ends) in &keys {
        writeln!(out, "app key      {key}, token until {ends}")?;
    }
    for (right, validity) in account.rights.iter() {
        writeln!(out, "right        {right} {validity}")?;
    }
    writeln!(out, "terms        {}", in_words(access, account, present)?)?;
    writeln!(
        out,
        "used         {} of {} securities in {}; resets on {}",
        usage.used, usage.limit, usage.month, usage.resets
    )?;
    for (symbol, at) in &charged {
        writeln!(out, "             {symbol} since {at}")?;
    }
    paper_account::print(&mut out, &paper)?;
    out.flush()?;
    Ok(())
}

fn usage(access: &Access, account: &Account, present: Present) -> Result<Usage, Failure> {
    let usage = access.usage(account.id, present.market)?;
    usage.ok_or_else(|| anyhow!("account {:?} no longer exists", account.name).into())
}

/// Formats the current terms of an account as one line.
pub(super) fn in_words(access: &Access, account: &Account, present: Present) -> Result<String, Failure> {
    let usage = usage(access, account, present)?;
    let of = if usage.standing.own_quota {
        String::new()
    } else {
        format!(" (level {}: {})", usage.standing.level, usage.standing.reason)
    };
    let rate = match account.terms.rate_rule() {
        RateRule::Unlimited => "no rate limit".to_owned(),
        RateRule::Window { requests, seconds } => format!("{requests} requests in {seconds} s"),
    };
    let read_only = if account.terms.read_only { ", read-only" } else { "" };
    let as_of = account.terms.api_date.map(|date| format!(", answered as of {date}")).unwrap_or_default();
    if account.terms.is_unlimited() {
        return Ok(format!(
            "rights {}, unlimited (rate, quota, connections, subscriptions, floors){read_only}{as_of}",
            account.rights
        ));
    }
    let limit = usage.limit;
    let (connections, subscriptions) = (account.terms.connections, account.terms.subscriptions);
    let floors = account.terms.floors.map(|floors| format!(", floors {floors}")).unwrap_or_default();
    Ok(format!(
        "rights {}, {limit} securities a month{of}, {rate}, {connections} connections, \
         {subscriptions} subscriptions{floors}{read_only}{as_of}",
        account.rights
    ))
}

fn state(account: &Account) -> String {
    account.revoked_at.map_or_else(|| "active".to_owned(), |at| format!("revoked {at}"))
}

/// Returns the terms of an account. `level` and `quota` are the effective values; `own_level` and
/// `own_quota` are the values set by an operator.
pub(super) fn terms_json(access: &Access, account: &Account, present: Present) -> Result<Value, Failure> {
    let usage = usage(access, account, present)?;
    let granted = |right: Right| account.rights.validity(right).is_some();
    let markets: Vec<&str> =
        Right::MARKETS.into_iter().filter(|right| granted(*right)).map(Right::as_str).collect();
    Ok(json!({
        "markets": markets, "overnight": granted(Right::UsOvernight),
        "level": usage.standing.level.number(), "quota": usage.limit,
        "own_level": account.terms.level.map(access::Level::number), "own_quota": account.terms.quota,
        "rate": account.terms.rate_rule().to_string(), "connections": account.terms.connections,
        "subscriptions": account.terms.subscriptions,
        "floors": account.terms.floors.map(|floors| floors.to_string()), "read_only": account.terms.read_only,
        "api_date": account.terms.api_date.map(|date| date.to_string()),
        "unlimited": account.terms.is_unlimited(),
    }))
}

fn account_json(access: &Access, account: &Account, present: Present) -> Result<Map<String, Value>, Failure> {
    let rights: Vec<Value> = account
        .rights
        .iter()
        .map(|(right, validity)| {
            let [from, until] = [validity.starts_at, validity.ends_at].map(|at| at.map(|at| at.to_string()));
            json!({"package": right.as_str(), "from": from, "until": until})
        })
        .collect();
    let fields = [
        ("account_id", account.id.0.into()),
        ("name", account.name.as_str().into()),
        ("region", account.region.as_str().into()),
        ("role", account.role.as_str().into()),
        ("created_at", account.created_at.to_string().into()),
        ("revoked_at", account.revoked_at.map(|at| at.to_string()).into()),
        ("rights", rights.into()),
        ("terms", terms_json(access, account, present)?),
    ];
    Ok(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
