//! `chandler account ingest-token`: tokens for programs that only add candles and trades, for all
//! symbols or some. They are OAuth tokens that do not require a browser sign-in.

use std::io::Write;

use access::{Access, Account, Actor, IngestSymbols, Present, Role, SignIn};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::context::shell_word;
use crate::failure::{Failure, usage};
use crate::local::named;
use crate::output::{self, Format, say};
use crate::remote::session::TOKEN_VARIABLE;

const DAY_S: i64 = 86_400;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a token and print it; it is shown only once
    Create(Create),
    /// List the valid tokens of an account
    List(Named),
    /// Revoke a token by its id
    Revoke(Revoke),
}

#[derive(Debug, Args)]
struct Create {
    /// The account, which must be an operator
    name: String,
    /// Symbols and regions for which the token is valid, such as *.HK,AAPL.US [default: all]
    #[arg(long, value_name = "SYMBOLS")]
    symbols: Option<String>,
    /// Name of the program, for lists of tokens and the audit log
    #[arg(long, value_name = "NAME", default_value = "ingest")]
    program: String,
    /// Lifetime of the token in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=3_650))]
    days: u16,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Named {
    /// The account
    name: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Revoke {
    /// The account
    name: String,
    /// The token's id, from the list
    id: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Arguments {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        match &self.action {
            Action::Create(arguments) => arguments.run(access, &named(access, &arguments.name)?, present),
            Action::List(Named { name, format }) => list(access, &named(access, name)?, *format, present),
            Action::Revoke(Revoke { name, id, format }) => {
                let account = named(access, name)?;
                if !access.end_sign_in(account.id, id, &Actor::Operator, present.machine)? {
                    return Err(usage(format!("account {:?} has no token with the id {id:?}", account.name)));
                }
                say(*format, &format!("token {id} is revoked"), json!({"id": id, "revoked": true}))
            }
        }
    }
}

impl Create {
    fn run(&self, access: &Access, account: &Account, present: Present) -> Result<(), Failure> {
        let symbols = match &self.symbols {
            None => IngestSymbols::All,
            Some(text) => text.parse().map_err(|error| usage(format!("--symbols: {error}")))?,
        };
        if account.role != Role::Operator {
            return Err(usage(format!(
                "account {:?} is not an operator: create one with chandler account create NAME --role operator",
                account.name
            )));
        }
        let life_s = i64::from(self.days) * DAY_S;
        let (program, by) = (&self.program, (&Actor::Operator, present.machine));
        let token = access.issue_ingest_token(account.id, program, &symbols, life_s, by);
        let token = token.map_err(|error| anyhow::anyhow!(error))?;
        let token = token.ok_or_else(|| usage(format!("account {:?} is revoked", account.name)))?;
        if self.format == Format::Json {
            let document = json!({
                "id": token.sign_in, "account_id": account.id.0, "name": account.name, "program": self.program,
                "scope": token.scope, "expires_at": token.expires_at.to_string(),
                "access_token": token.access_token.expose(),
            });
            return Ok(output::json(&document)?);
        }
        let mut out = output::stdout();
        writeln!(out, "# token {} of account {:?}: {}", token.sign_in, account.name, token.scope)?;
        writeln!(out, "# Valid until {}. Store it now: it is not shown again.", token.expires_at)?;
        writeln!(out, "export {TOKEN_VARIABLE}={}", shell_word(token.access_token.expose()))?;
        Ok(out.flush()?)
    }
}

fn list(access: &Access, account: &Account, format: Format, present: Present) -> Result<(), Failure> {
    let mut tokens = access.sign_ins(account.id, present.machine)?;
    tokens.retain(|token| IngestSymbols::of_scope(&token.scope).is_some());
    if format == Format::Json {
        let tokens: Vec<Value> = tokens.iter().map(as_json).collect();
        return Ok(output::json(&json!({"tokens": tokens}))?);
    }
    let mut out = output::stdout();
    for SignIn { id, client, scope, expires_at, .. } in &tokens {
        let program = output::printable(&client.name);
        writeln!(out, "{id}  {program}  {scope}  until {expires_at}")?;
    }
    Ok(out.flush()?)
}

fn as_json(token: &SignIn) -> Value {
    json!({
        "id": token.id, "program": token.client.name, "scope": token.scope,
        "since": token.since.to_string(), "expires_at": token.expires_at.to_string(),
    })
}
