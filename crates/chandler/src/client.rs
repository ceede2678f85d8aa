//! Client for the commands that act on an account. The client sends HTTP API requests to a server,
//! or calls the same endpoints in this process on the local store.
//!
//! Both transports return the same JSON documents, and all output is formatted from these
//! documents, so a script gets the same output from both transports.

use access::Actor;
use anyhow::anyhow;
use clap::Args;
use market::Symbol;
use serde_json::Value;

use crate::clock::Clock;
use crate::context::{self, CommandContext};
use crate::failure::{Failure, usage};
use crate::field_flags::in_flags;
use crate::local::{Effect, LocalAccount, Purpose, open_accounts};
use crate::output::printable;
use crate::remote::http::Method;
use crate::remote::session::{ApiError, Session};
use crate::remote::{self, field};

/// Selects an account and its transport.
#[derive(Debug, Args)]
pub(crate) struct AccountFlags {
    /// The account in the local store, by name or number [default: the only one]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    #[command(flatten)]
    remote: remote::ServerFlags,
}

pub(crate) enum Client {
    Local(Box<LocalAccount>),
    Remote(Session),
}

impl AccountFlags {
    pub(crate) fn client(&self, purpose: Purpose, context: &CommandContext) -> Result<Client, Failure> {
        match self.remote.session(context)? {
            Some(_) if self.account.is_some() => Err(usage(
                "--account is for the local store: a server uses the account that has signed in to it",
            )),
            Some(session) => Ok(Client::Remote(session)),
            None => {
                let local = LocalAccount::open(context, self.account.as_deref(), purpose)?;
                Ok(Client::Local(Box::new(local)))
            }
        }
    }

    /// Opens a client like [`client`](Self::client). If the local store has no account, creates the
    /// local user's account, as `chandler open` does.
    pub(crate) fn client_or_local_user(
        &self,
        purpose: Purpose,
        context: &CommandContext,
    ) -> Result<Client, Failure> {
        if self.account.is_none() && self.remote.session(context)?.is_none() {
            // Without a store, nothing is created.
            drop(context.open(store::Access::Read)?);
            let access = open_accounts(context)?;
            if access.list()?.iter().all(|account| account.revoked_at.is_some() || account.is_world) {
                access.local_account(&Actor::Operator, Clock::Machine.now())?;
            }
        }
        self.client(purpose, context)
    }

    /// Opens a client for trading with a paper account.
    pub(crate) fn trader(&self, context: &CommandContext) -> Result<Client, Failure> {
        self.client(Purpose::Trade, context)
    }
}

impl Client {
    pub(crate) fn get(&self, path: &str, parameters: &[(&str, String)]) -> Result<Value, ApiError> {
        let path = if parameters.is_empty() {
            path.to_owned()
        } else {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(parameters);
            format!("{path}?{}", query.finish())
        };
        self.send(Method::Get, &path, None, Effect::Read)
    }

    /// Sends a GET request and converts an error into a message for the user.
    pub(crate) fn read(&self, path: &str, parameters: &[(&str, String)]) -> Result<Value, Failure> {
        self.get(path, parameters).map_err(|error| self.to_failure(error))
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Result<Value, ApiError> {
        self.send(Method::Post, path, Some(body), Effect::Change)
    }

    /// Sends a POST request that has no side effects, such as an order preview.
    pub(crate) fn preview_of(&self, path: &str, body: Value) -> Result<Value, ApiError> {
        self.send(Method::Post, path, Some(body), Effect::Preview)
    }

    pub(crate) fn put(&self, path: &str, body: Value) -> Result<Value, ApiError> {
        self.send(Method::Put, path, Some(body), Effect::Change)
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Value, ApiError> {
        self.send(Method::Delete, path, None, Effect::Change)
    }

    fn send(
        &self,
        method: Method,
        target: &str,
        body: Option<Value>,
        effect: Effect,
    ) -> Result<Value, ApiError> {
        match self {
            Client::Local(local) => local.send(method, target, body.as_ref(), effect),
            Client::Remote(session) => session.request(method, target, body),
        }
    }

    /// Downloads a statement by its key in the statement list.
    pub(crate) fn statement_file(&self, key: String) -> Result<Vec<u8>, Failure> {
        let session = match self {
            Client::Local(local) => return local.statement(&key).map_err(|error| self.to_failure(error)),
            Client::Remote(session) => session,
        };
        let answer = self.read("/v1/statement/download", &[("file_key", key)])?;
        let url = field(&answer, "url").as_str().unwrap_or_default();
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err(
                anyhow!("{}: the response has no address for the statement", session.url.as_str()).into()
            );
        }
        session.fetch(url).map_err(|error| session.to_failure(error))
    }

    /// Converts an API error into a message for the user. For local requests the message includes
    /// the detail that a server omits.
    pub(crate) fn to_failure(&self, error: ApiError) -> Failure {
        match (self, error) {
            (Client::Remote(session), error) => session.to_failure(error),
            (_, ApiError::NotSent(failure)) => failure,
            (_, ApiError::Refused { message, detail, .. }) => {
                anyhow!(in_flags(&detail.unwrap_or(message))).into()
            }
            (Client::Local(_), error) => error.into(),
        }
    }

    /// Converts an API error into a message for the user. A server's 400 message is rewritten to
    /// name command-line flags instead of JSON fields.
    pub(crate) fn refused(&self, error: ApiError) -> Failure {
        match (self, &error) {
            (Client::Remote(session), ApiError::Refused { status: 400, message, .. }) => {
                anyhow!("{}: {}", session.url.as_str(), in_flags(&printable(message))).into()
            }
            _ => self.to_failure(error),
        }
    }

    /// Returns the subject for a message about the account: the local account's name, or the
    /// server's URL.
    pub(crate) fn whose(&self) -> String {
        match self {
            Client::Local(local) => format!("account {:?}", local.account.name),
            Client::Remote(session) => format!("{}: the account", session.url.as_str()),
        }
    }

    /// Parses a symbol. With the local store, the error for an unknown symbol includes suggestions.
    pub(crate) fn symbol(&self, text: &str, context: &CommandContext) -> Result<Symbol, Failure> {
        match self {
            Client::Local(_) => context.symbol(text),
            Client::Remote(_) => context::symbol(text),
        }
    }

    /// Returns `; did you mean 700.HK?` for a symbol that is missing from the local store,
    /// otherwise an empty string.
    pub(crate) fn symbol_hint(&self, symbol: &Symbol, context: &CommandContext) -> String {
        match self {
            Client::Local(_) => context.symbol_hint(symbol),
            Client::Remote(_) => String::new(),
        }
    }
}
