//! Sends a local account's requests to the server's endpoints in this process. A server may use the
//! same store concurrently.

use std::sync::Arc;

use access::Account;
use anyhow::anyhow;
use history::History;
use serde_json::Value;
use server::{InProcess, InProcessAnswer, InProcessRefusal, InProcessRequest};

use super::account_clock::AccountClock;
use super::{open_accounts, selected};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::remote::http::{Headers, Method, taken};
use crate::remote::session::ApiError;

/// The kind of requests that a command sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Requests to a paper account, as of a market clock.
    Trade,
    Watchlists,
}

/// Effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Read,
    /// Changes nothing, but requires an account that may make changes.
    Preview,
    Change,
}

/// Account in the local store, with the in-process endpoints.
pub(crate) struct LocalAccount {
    pub(crate) account: Account,
    endpoints: InProcess,
    clock: AccountClock,
    purpose: Purpose,
}

impl LocalAccount {
    pub(crate) fn open(
        context: &CommandContext,
        name: Option<&str>,
        purpose: Purpose,
    ) -> Result<LocalAccount, Failure> {
        let store = context.open(store::Access::Read)?;
        let access = open_accounts(context)?;
        let tables = context.tables()?;
        let account = selected(&access, name)?;
        let history = History::new(context.history.venues().clone());
        let clock = AccountClock::of(context);
        let paper::Moment { as_of, machine } = clock.moment;
        let (market, machine) = (Arc::new(move || as_of), Arc::new(move || machine));
        let endpoints = InProcess::new(store, history, access, tables, market, machine);
        Ok(LocalAccount { account, endpoints, clock, purpose })
    }

    /// Sends a request and returns the `data` field of the response.
    pub(crate) fn send(
        &self,
        method: Method,
        target: &str,
        body: Option<&Value>,
        effect: Effect,
    ) -> Result<Value, ApiError> {
        if effect != Effect::Read {
            self.check_may_change().map_err(ApiError::NotSent)?;
        }
        let moves_account = effect == Effect::Change && self.purpose == Purpose::Trade;
        if moves_account {
            self.clock.check(&self.account, self.endpoints.paper()).map_err(ApiError::NotSent)?;
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let (account, body) = (self.account.id, body.as_bytes());
        let request = InProcessRequest { account, method: method.as_str(), target, body };
        let InProcessAnswer { body, is_repeated } = self.endpoints.call(&request).map_err(refused)?;
        if moves_account {
            self.clock.leave();
        }
        let mut data = serde_json::from_slice(&body).map(|body| taken(body, "data")).unwrap_or_default();
        if let Value::Object(fields) = &mut data
            && is_repeated
        {
            fields.insert("repeated".to_owned(), true.into());
        }
        Ok(data)
    }

    /// Returns the content of a statement by its key in the statement list.
    pub(crate) fn statement(&self, key: &str) -> Result<Vec<u8>, ApiError> {
        self.endpoints.statement(self.account.id, key).map_err(refused)
    }

    fn check_may_change(&self) -> Result<(), Failure> {
        let Account { id, name, revoked_at, terms, .. } = &self.account;
        let (changed, change) = match self.purpose {
            Purpose::Trade => ("traded", "trade"),
            Purpose::Watchlists => ("changed", "change things"),
        };
        if revoked_at.is_some() {
            return Err(anyhow!("account {name:?} is revoked: nothing can be {changed} with it").into());
        }
        if terms.read_only {
            let id = id.0;
            return Err(anyhow!(
                "account {name:?} is read-only: `chandler account set {id} --read-only off` allows it to {change}"
            )
            .into());
        }
        Ok(())
    }
}

fn refused(refusal: InProcessRefusal) -> ApiError {
    let InProcessRefusal { status, code, message, detail } = refusal;
    let code = i64::try_from(code).unwrap_or_default();
    ApiError::Refused { status, code, message, detail, headers: Headers::default() }
}
