//! `chandler auth status`: shows the signed-in account, its rights, and when its token expires.

use std::io::Write;

use access::Secret;
use clap::{Args, Subcommand};
use market::Timestamp;
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::remote::files::{Logins, Registration, TokenFile, UserFiles};
use crate::remote::http::Network;
use crate::remote::oauth::{Provider, region};
use crate::remote::session::{ApiError, Credentials, Session, fresh_token, not_signed_in};
use crate::remote::{self, field};
use crate::sdk::Url;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the signed-in account, its packages and quota, and the expiry of its token
    Status {
        #[command(flatten)]
        remote: remote::Flags,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Action::Status { remote, format } = &arguments.action;
    let status = match Credentials::find(remote)? {
        Credentials::Environment { url, variable, token } => Status::of_variable(url, variable, token),
        Credentials::Login { url, home, logins } => Status::of_login(&home, &logins, url)?,
    };
    match format {
        Format::Json => Ok(output::json(&status.json())?),
        Format::Table => status.print(),
    }
}

/// Status for output: the token in use and the server's responses.
struct Status {
    url: Url,
    token: Token,
    server: Result<Answers, ApiError>,
}

/// Token that authenticates the requests.
enum Token {
    Login {
        client_id: String,
        client_name: String,
        file: TokenFile,
    },
    /// Token from an environment variable, which all commands prefer to a login.
    Environment {
        variable: String,
        token: Secret,
    },
}

/// The server's responses about the account. Fields that the server does not support are null.
struct Answers {
    account: Value,
    packages: Vec<String>,
    quota: Value,
}

impl Status {
    fn of_variable(url: Url, variable: String, token: Secret) -> Status {
        let server = Answers::of(&Session::of_variable(url.clone(), variable.clone(), token.clone()));
        Status { url, token: Token::Environment { variable, token }, server }
    }

    fn of_login(home: &UserFiles, logins: &Logins, url: Url) -> Result<Status, Failure> {
        let Some(registration) = logins.servers.get(url.as_str()) else { return Err(not_signed_in(&url)) };
        let (file, server) = Status::ask(home, &url, registration)?;
        let Registration { client_id, client_name, .. } = registration.clone();
        Ok(Status { url, token: Token::Login { client_id, client_name, file }, server })
    }

    fn ask(
        home: &UserFiles,
        url: &Url,
        registration: &Registration,
    ) -> Result<(TokenFile, Result<Answers, ApiError>), Failure> {
        let network = Network::to(url);
        let provider = Provider { server: url, http: &network };
        let token = match fresh_token(home, provider, registration, Clock::Machine.now()) {
            Ok(token) => token,
            // The token file is shown even if the token cannot be renewed.
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
        Ok((token, Answers::of(&session)))
    }

    fn region(&self) -> &'static str {
        region(match &self.token {
            Token::Login { file, .. } => &file.access_token,
            Token::Environment { token, .. } => token,
        })
    }

    fn json(&self) -> Value {
        let (reachable, answers) = match &self.server {
            Ok(answers) => (Value::Null, Some(answers)),
            Err(error) => (error.to_string().into(), None),
        };
        let (login, variable) = match &self.token {
            Token::Login { client_id, client_name, file } => (Some((client_id, client_name, file)), None),
            Token::Environment { variable, .. } => (None, Some(variable)),
        };
        json!({
            "server": self.url.as_str(),
            "token_from": variable.map_or("login", String::as_str),
            "client_id": login.map(|(id, ..)| id),
            "client_name": login.map(|(_, name, _)| name),
            "region": self.region(),
            "expires_at": login.map(|(.., file)| Timestamp(file.expires_at).to_string()),
            "renewable": login.is_some_and(|(.., file)| file.refresh_token.is_some()),
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
        let region = self.region();
        match &self.server {
            Ok(Answers { account, packages, quota }) => {
                let name = output::printable(field(account, "account").as_str().unwrap_or("?"));
                writeln!(out, "account      {} {name:?}, region {region}", field(account, "account_id"))?;
                writeln!(out, "packages     {}", packages.join(", "))?;
                if let (Some(used), Some(limit)) =
                    (field(quota, "used").as_u64(), field(quota, "limit").as_u64())
                {
                    let resets = output::printable(field(quota, "resets").as_str().unwrap_or("next month"));
                    writeln!(out, "quota        {used} of {limit} securities, resets on {resets}")?;
                }
                writeln!(out, "connections  {} of {}", field(account, "online"), field(account, "limit"))?;
            }
            Err(error) => {
                writeln!(out, "region       {region}")?;
                writeln!(out, "problem      {error}")?;
            }
        }
        match &self.token {
            Token::Login { client_id, client_name, file } => {
                writeln!(out, "client       {client_id} ({})", output::printable(client_name))?;
                let renewed = if file.refresh_token.is_some() { ", renewed automatically" } else { "" };
                writeln!(out, "token        until {}{renewed}", Timestamp(file.expires_at))?;
            }
            Token::Environment { variable, .. } => writeln!(out, "token        from {variable}")?,
        }
        Ok(out.flush()?)
    }
}

impl Answers {
    fn of(session: &Session) -> Result<Answers, ApiError> {
        session.get("/v1/connections").map(|account| Answers {
            account,
            packages: packages(session.get("/v1/quote/my-quotes?market=ALL").ok().as_ref()),
            quota: session.get("/v1/quota").unwrap_or_default(),
        })
    }
}

/// Returns the names of the account's packages.
fn packages(data: Option<&Value>) -> Vec<String> {
    let held = data.and_then(|data| field(data, "activated_lists").as_array());
    let names = held.into_iter().flatten().filter_map(|package| field(package, "name").as_str());
    names.map(output::printable).collect()
}
