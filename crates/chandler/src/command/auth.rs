//! `chandler auth status`: who is signed in where, until when, and what they may do.

use std::io::Write;

use clap::{Args, Subcommand};
use market::Timestamp;
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::remote::files::{Book, Home, Registration, TokenFile};
use crate::remote::http::Network;
use crate::remote::oauth::{Provider, region};
use crate::remote::session::{ApiError, Session, fresh_token, not_signed_in};
use crate::remote::{self, field};
use crate::sdk::Url;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show who is signed in, until when, and what they may do
    Status {
        #[command(flatten)]
        remote: remote::Flags,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Action::Status { remote, format } = &arguments.action;
    let home = Home::of_user()?;
    let book = home.book()?;
    let url = remote.server(&book)?;
    let status = Status::of(&home, &book, url)?;
    match format {
        Format::Json => Ok(output::json(&status.json())?),
        Format::Table => status.print(),
    }
}

/// What is known here, and what the server says.
struct Status {
    url: Url,
    client_id: String,
    client_name: String,
    token: TokenFile,
    server: Result<Answers, ApiError>,
}

/// What the server says of the account. The parts that a server does not have are null.
struct Answers {
    account: Value,
    packages: Vec<String>,
    quota: Value,
}

impl Status {
    fn of(home: &Home, book: &Book, url: Url) -> Result<Status, Failure> {
        let Some(registration) = book.servers.get(url.as_str()) else { return Err(not_signed_in(&url)) };
        let (token, server) = Status::ask(home, &url, registration)?;
        let Registration { client_id, client_name, .. } = registration.clone();
        Ok(Status { url, client_id, client_name, token, server })
    }

    fn ask(
        home: &Home,
        url: &Url,
        registration: &Registration,
    ) -> Result<(TokenFile, Result<Answers, ApiError>), Failure> {
        let network = Network::to(url);
        let provider = Provider { server: url, http: &network };
        let token = match fresh_token(home, provider, registration, Clock::Machine.now()) {
            Ok(token) => token,
            // What the file says is worth telling even if it cannot be renewed.
            Err(failure) => match home.token(&registration.client_id)? {
                Some(token) => {
                    let error = match failure {
                        Failure::Data(error) => error,
                        other => anyhow::anyhow!("{other}"),
                    };
                    return Ok((token, Err(ApiError::Unreachable(error))));
                }
                None => return Err(failure),
            },
        };
        let session = Session::new(url.clone(), Box::new(network), token.access_token.clone());
        let account = session.get("/v1/connections");
        let answers = account.map(|account| Answers {
            account,
            packages: packages(session.get("/v1/quote/my-quotes?market=ALL").ok().as_ref()),
            quota: session.get("/v1/quota").unwrap_or_default(),
        });
        Ok((token, answers))
    }

    fn json(&self) -> Value {
        let (reachable, answers) = match &self.server {
            Ok(answers) => (Value::Null, Some(answers)),
            Err(error) => (error.to_string().into(), None),
        };
        json!({
            "server": self.url.as_str(),
            "client_id": self.client_id,
            "client_name": self.client_name,
            "region": region(&self.token.access_token),
            "expires_at": Timestamp(self.token.expires_at).to_string(),
            "renewable": self.token.refresh_token.is_some(),
            "account": answers.map(|answers| field(&answers.account, "account")),
            "account_id": answers.map(|answers| field(&answers.account, "account_id")),
            "connections": answers.map(|answers| json!({
                "online": field(&answers.account, "online"), "limit": field(&answers.account, "limit"),
            })),
            "packages": answers.map(|answers| &answers.packages),
            "quota": answers.map(|answers| &answers.quota),
            "problem": reachable,
        })
    }

    fn print(&self) -> Result<(), Failure> {
        let mut out = output::stdout();
        writeln!(out, "server       {}", self.url.as_str())?;
        let region = region(&self.token.access_token);
        match &self.server {
            Ok(Answers { account, packages, quota }) => {
                let name = output::printable(field(account, "account").as_str().unwrap_or("?"));
                writeln!(out, "account      {} {name:?}, region {region}", field(account, "account_id"))?;
                writeln!(out, "packages     {}", packages.join(", "))?;
                if let (Some(used), Some(limit)) =
                    (field(quota, "used").as_u64(), field(quota, "limit").as_u64())
                {
                    let resets = output::printable(field(quota, "resets").as_str().unwrap_or("next month"));
                    writeln!(out, "quota        {used} of {limit} securities, full again on {resets}")?;
                }
                writeln!(out, "connections  {} of {}", field(account, "online"), field(account, "limit"))?;
            }
            Err(error) => {
                writeln!(out, "region       {region}")?;
                writeln!(out, "problem      {error}")?;
            }
        }
        writeln!(out, "client       {} ({})", self.client_id, output::printable(&self.client_name))?;
        let renewed = if self.token.refresh_token.is_some() { ", renewed by itself" } else { "" };
        writeln!(out, "token        until {}{renewed}", Timestamp(self.token.expires_at))?;
        Ok(out.flush()?)
    }
}

/// The names of what the account may see.
fn packages(data: Option<&Value>) -> Vec<String> {
    let held = data.and_then(|data| field(data, "activated_lists").as_array());
    let names = held.into_iter().flatten().filter_map(|package| field(package, "name").as_str());
    names.map(output::printable).collect()
}
