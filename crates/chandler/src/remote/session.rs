//! Asking a server as the account that has signed in. A token that is about to end is renewed on the way.

use access::Secret;
use anyhow::anyhow;
use market::Timestamp;
use serde_json::Value;

use super::files::{Home, Registration, TokenFile};
use super::http::{Http, Method, Network, Request};
use super::oauth::Provider;
use super::{Flags, field};
use crate::clock::Clock;
use crate::failure::Failure;
use crate::output::printable;
use crate::sdk::Url;

/// A token for those who did not sign in from here: that of an API key, for instance.
const TOKEN_VARIABLE: &str = "CHANDLER_TOKEN";
/// A token that ends sooner is renewed first, whatever its life was.
const RENEW_BEFORE_S: i64 = 300;
const MESSAGE_CHARS_MAX: usize = 300;

/// A server, and the token to ask it with.
pub(crate) struct Session {
    pub(crate) url: Url,
    http: Box<dyn Http>,
    token: Secret,
}

/// Why a server gave no data.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("{0:#}")]
    Unreachable(anyhow::Error),
    #[error("{message} ({code})")]
    Refused { status: u16, code: i64, message: String },
    #[error("the answer is not one of Chandler's: status {status}")]
    Strange { status: u16 },
}

impl Session {
    /// With the token of the environment, or else that of the login.
    pub(crate) fn open(flags: &Flags) -> Result<Session, Failure> {
        let home = Home::of_user()?;
        let book = home.book()?;
        let url = flags.server(&book)?;
        let http = Box::new(Network::to(&url));
        let given = std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
        let token = match given {
            Some(token) => Secret::new(token),
            None => {
                let registration = book.servers.get(url.as_str()).ok_or_else(|| not_signed_in(&url))?;
                let provider = Provider { server: &url, http: &*http };
                fresh_token(&home, provider, registration, Clock::Machine.now())?.access_token
            }
        };
        Ok(Session { url, http, token })
    }

    pub(crate) fn new(url: Url, http: Box<dyn Http>, token: Secret) -> Session {
        Session { url, http, token }
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.ask(Method::Get, path)
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Value, ApiError> {
        self.ask(Method::Delete, path)
    }

    /// The data of an answer.
    fn ask(&self, method: Method, path: &str) -> Result<Value, ApiError> {
        let mut request = Request::new(method, format!("{}{path}", self.url.as_str()));
        request.bearer = Some(self.token.clone());
        let answer = self.http.send(&request).map_err(ApiError::Unreachable)?;
        let status = answer.status;
        let body = answer.json().ok_or(ApiError::Strange { status })?;
        match (field(&body, "code").as_i64(), field(&body, "message").as_str()) {
            (Some(0), _) => Ok(field(&body, "data").clone()),
            (Some(code), Some(message)) => {
                let message = printable(message).chars().take(MESSAGE_CHARS_MAX).collect();
                Err(ApiError::Refused { status, code, message })
            }
            _ => Err(ApiError::Strange { status }),
        }
    }

    /// A failure to tell the user, with the server's name and what to do.
    pub(crate) fn told(&self, error: ApiError) -> Failure {
        let server = self.url.as_str();
        match error {
            ApiError::Unreachable(error) => error.into(),
            ApiError::Refused { status: 401, .. } => {
                anyhow!("{server}: {error}: run `chandler login`").into()
            }
            error => anyhow!("{server}: {error}").into(),
        }
    }
}

pub(crate) fn not_signed_in(url: &Url) -> Failure {
    anyhow!(
        "nobody has signed in to {} from here: run `chandler login`, or set {TOKEN_VARIABLE} to an access token",
        url.as_str()
    )
    .into()
}

/// The token of a login, renewed if half of its life is over or it is about to end. Whoever comes by once in a while keeps
/// the login that way, and programs that read the file seldom find one that has expired.
pub(crate) fn fresh_token(
    home: &Home,
    provider: Provider<'_>,
    registration: &Registration,
    now: Timestamp,
) -> Result<TokenFile, Failure> {
    let token = home.token(&registration.client_id)?.ok_or_else(|| not_signed_in(provider.server))?;
    let left = token.expires_at.saturating_sub(now.0);
    // A file that seems to come from the future says nothing about the token's age.
    let filed_at = home.filed_at(&registration.client_id)?.filter(|at| *at <= now);
    let is_half_over = filed_at.is_some_and(|at| now.0.saturating_sub(at.0) > left);
    if left >= RENEW_BEFORE_S && !is_half_over {
        return Ok(token);
    }
    match provider.refresh(&token, &registration.client_id, now) {
        Ok(Some(renewed)) => {
            home.save_token(registration, &renewed)?;
            Ok(renewed)
        }
        // What is left of its life may still do; there is time to try again.
        Ok(None) if left > 0 => Ok(token),
        Err(_) if left >= RENEW_BEFORE_S => Ok(token),
        Err(failure) => Err(failure),
        Ok(None) => {
            Err(anyhow!("the login to {} has ended: run `chandler login`", provider.server.as_str()).into())
        }
    }
}
