//! `chandler account`: who may sign in. Works while a server runs; what changes holds from the next request on.

use std::io::Write;

use access::{Access, Account, Level, NewAccount, RateRule, Rights, Terms};
use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::serve::open_accounts;
use crate::clock::Clock;
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};
use crate::sdk::{self, Credentials, Url};
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create an account and print its credentials, this once
    Create(Create),
    /// List the accounts, revoked ones included
    List {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show the limits of an account and what it has used this month
    Show {
        name: String,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// End an account: its token, its sessions and its connections
    Revoke { name: String },
}

#[derive(Debug, Args)]
struct Create {
    /// What to call it: 1 to 64 characters
    name: String,
    /// Markets it may see: some of HK, US, CN, SG, or all, or none
    #[arg(long, default_value = "all", value_name = "MARKETS")]
    markets: String,
    /// Let it see candles of the US overnight session
    #[arg(long)]
    overnight: bool,
    /// Its step on the ladder of quotas, 1 to 6: 100, 400, 600, 1000, 2000, 3000 securities a month
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=6))]
    level: u32,
    /// Securities a month, instead of what its level has
    #[arg(long, value_name = "N")]
    quota: Option<u32>,
    /// How often it may ask for history: requests/seconds, or unlimited [default: 60/30]
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Long connections it may have open at once
    #[arg(long, value_name = "N", default_value_t = Terms::default().connections)]
    connections: u32,
    /// Where its clients find the server
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
    url: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    // An account beside a mistyped store would be one that nobody serves.
    surroundings.open(store::Access::Read)?;
    let access = open_accounts(surroundings)?;
    match &arguments.action {
        Action::Create(arguments) => arguments.run(&access),
        Action::List { format } => list(&access, *format, surroundings),
        Action::Show { name, format } => show(&access, &named(&access, name)?, *format, surroundings),
        Action::Revoke { name } => revoke(&access, &named(&access, name)?),
    }
}

impl Create {
    fn run(&self, access: &Access) -> Result<(), Failure> {
        let terms = self.terms()?;
        let url = Url::parse(&self.url)?;
        let (account, credentials) = create(access, &self.name, terms)?;
        if self.format == Format::Json {
            return Ok(output::json(&created_json(&account, &credentials, &url))?);
        }
        let mut out = output::stdout();
        writeln!(out, "# account {} {:?}: {}", account.id.0, account.name, in_words(&account.terms))?;
        writeln!(out, "# Keep the secret and the token: they are not shown again.")?;
        write!(out, "{}", sdk::exports(&url, &credentials))?;
        out.flush()?;
        Ok(())
    }

    fn terms(&self) -> Result<Terms, Failure> {
        let rights: Rights = self.markets.parse().map_err(usage)?;
        let level = Level::new(self.level).ok_or_else(|| usage("a level is a number from 1 to 6"))?;
        let rate: Option<RateRule> = self.rate.as_deref().map(str::parse).transpose().map_err(usage)?;
        Ok(Terms {
            rights,
            overnight: self.overnight,
            level,
            quota: self.quota,
            rate,
            connections: self.connections,
        })
    }
}

/// A new account and what to sign in with.
pub(crate) fn create(access: &Access, name: &str, terms: Terms) -> Result<(Account, Credentials), Failure> {
    let new = NewAccount { name: name.to_owned(), terms, token_expires_at: None };
    let created = access.create(&new, Clock::Machine.now()).map_err(|error| match error {
        error @ (access::AccessError::Name { .. } | access::AccessError::Terms(_)) => usage(error),
        error => error.into(),
    })?;
    let credentials = Credentials {
        app_key: created.app_key,
        app_secret: created.app_secret,
        access_token: created.access_token,
    };
    Ok((named(access, name)?, credentials))
}

fn created_json(account: &Account, credentials: &Credentials, url: &Url) -> Value {
    let environment: Map<String, Value> =
        sdk::environment(url, credentials).into_iter().map(|(name, value)| (name, value.into())).collect();
    json!({
        "account_id": account.id.0, "name": account.name, "terms": terms_json(&account.terms),
        "app_key": credentials.app_key, "app_secret": credentials.app_secret.expose(),
        "access_token": credentials.access_token.expose(), "environment": environment,
    })
}

fn named(access: &Access, name: &str) -> Result<Account, Failure> {
    let found = access.account_named(name)?;
    found.ok_or_else(|| anyhow!("there is no account {name:?}: `chandler account list` shows them").into())
}

fn list(access: &Access, format: Format, surroundings: &Surroundings) -> Result<(), Failure> {
    let accounts = access.list()?;
    let used = |account: &Account| -> Result<u32, Failure> {
        Ok(access.usage(account.id, surroundings.now())?.map_or(0, |usage| usage.used))
    };
    if format == Format::Json {
        let accounts: Result<Vec<Value>, Failure> = accounts
            .iter()
            .map(|account| {
                let mut value = account_json(account);
                value.insert("used".to_owned(), used(account)?.into());
                Ok(Value::Object(value))
            })
            .collect();
        return Ok(output::json(&accounts?)?);
    }
    if accounts.is_empty() {
        let mut out = output::stdout();
        writeln!(out, "there are no accounts: `chandler account create NAME` makes one")?;
        return Ok(out.flush()?);
    }
    let columns = [
        Column::Right("account"),
        Column::Left("name"),
        Column::Left("markets"),
        Column::Left("overnight"),
        Column::Right("used"),
        Column::Right("quota"),
        Column::Left("rate"),
        Column::Right("connections"),
        Column::Left("state"),
    ];
    let mut rows = Vec::new();
    for account in &accounts {
        let Terms { rights, overnight, connections, .. } = &account.terms;
        rows.push(vec![
            account.id.0.to_string(),
            account.name.clone(),
            rights.to_string(),
            yes_or_no(*overnight).to_owned(),
            used(account)?.to_string(),
            account.terms.quota_limit().to_string(),
            account.terms.rate_rule().to_string(),
            connections.to_string(),
            state(account),
        ]);
    }
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    out.flush()?;
    Ok(())
}

fn show(
    access: &Access,
    account: &Account,
    format: Format,
    surroundings: &Surroundings,
) -> Result<(), Failure> {
    let now = surroundings.now();
    let keys = access.app_keys(account.id)?;
    let usage =
        access.usage(account.id, now)?.ok_or_else(|| anyhow!("account {:?} has gone", account.name))?;
    let charged = access.charged(account.id, now)?;
    if format == Format::Json {
        let mut value = account_json(account);
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
        value.extend([("usage".to_owned(), usage), ("app_keys".to_owned(), keys)]);
        return Ok(output::json(&value)?);
    }
    let mut out = output::stdout();
    writeln!(out, "account      {} {:?}, {}", account.id.0, account.name, state(account))?;
    writeln!(out, "created      {}", account.created_at)?;
    for (key, ends) in &keys {
        writeln!(out, "app key      {key}, token until {ends}")?;
    }
    writeln!(out, "terms        {}", in_words(&account.terms))?;
    writeln!(
        out,
        "used         {} of {} securities in {}; begins anew on {}",
        usage.used, usage.limit, usage.month, usage.resets
    )?;
    for (symbol, at) in &charged {
        writeln!(out, "             {symbol} since {at}")?;
    }
    out.flush()?;
    Ok(())
}

fn revoke(access: &Access, account: &Account) -> Result<(), Failure> {
    let mut out = output::stdout();
    match access.revoke(account.id, Clock::Machine.now())? {
        true => writeln!(out, "account {:?} is revoked", account.name)?,
        false => writeln!(out, "account {:?} had been revoked before", account.name)?,
    }
    out.flush()?;
    Ok(())
}

fn in_words(terms: &Terms) -> String {
    let Terms { rights, overnight, level, quota, connections, .. } = terms;
    let overnight = if *overnight { " with overnight" } else { "" };
    let of = if quota.is_some() { String::new() } else { format!(" (level {level})") };
    let rate = match terms.rate_rule() {
        RateRule::Unlimited => "as often as it likes".to_owned(),
        RateRule::Window { requests, seconds } => format!("{requests} requests in {seconds} s"),
    };
    let limit = terms.quota_limit();
    format!("markets {rights}{overnight}, {limit} securities a month{of}, {rate}, {connections} connections")
}

fn state(account: &Account) -> String {
    account.revoked_at.map_or_else(|| "active".to_owned(), |at| format!("revoked {at}"))
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn terms_json(terms: &Terms) -> Value {
    let markets: Vec<&str> = terms.rights.iter().map(access::Right::as_str).collect();
    json!({
        "markets": markets, "overnight": terms.overnight, "level": terms.level.number(),
        "quota": terms.quota_limit(), "rate": terms.rate_rule().to_string(), "connections": terms.connections,
    })
}

fn account_json(account: &Account) -> Map<String, Value> {
    let fields = [
        ("account_id", account.id.0.into()),
        ("name", account.name.as_str().into()),
        ("created_at", account.created_at.to_string().into()),
        ("revoked_at", account.revoked_at.map(|at| at.to_string()).into()),
        ("terms", terms_json(&account.terms)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
