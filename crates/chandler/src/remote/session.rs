//! Sends requests to a server as the signed-in account. A token that is about to expire is renewed
//! first.

use std::time::Duration;

use access::Secret;
use anyhow::anyhow;
use clap::Args;
use market::Timestamp;
use serde_json::Value;

use super::files::{Logins, Registration, TokenFile, UserFiles};
use super::http::{Answer, Body, Headers, Http, Method, Network, Request, field, is_token, taken};
use super::oauth::Provider;
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::printable;
use crate::sdk::Url;

/// Environment variable with a token, such as an API key's access token. The token is used instead
/// of a login.
pub(crate) const TOKEN_VARIABLE: &str = "CHANDLER_TOKEN";
/// Remaining lifetime of a token, in seconds, below which the token is always renewed.
const RENEW_BEFORE_S: i64 = 300;
/// Timeout for checking whether a server is reachable.
const PROBE_WITHIN: Duration = Duration::from_secs(5);
const MESSAGE_CHARS_MAX: usize = 300;
/// The server's message for a request for one-minute candles before an account's floor.
const BELOW_FLOOR: &str = "out of minute kline begin date";
/// Number of rows per page of a list (`docs/http.md`).
const ROWS_A_PAGE: usize = 200;

/// Server, and the token for requests to the server.
pub(crate) struct Session {
    pub(crate) url: Url,
    http: Box<dyn Http + Send>,
    token: Secret,
    /// Environment variable that contains the token. `None` if the token is from a login.
    variable: Option<String>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("{0:#}")]
    Unreachable(anyhow::Error),
    /// The request was rejected by a local check before it was sent.
    #[error("{0}")]
    NotSent(Failure),
    /// The server rejected the request. `detail` is the full reason, which only in-process
    /// endpoints provide.
    #[error("{message} ({code})")]
    Refused { status: u16, code: i64, message: String, detail: Option<String>, headers: Headers },
    #[error("the response is not from a Chandler server: status {status}")]
    Strange { status: u16 },
}

/// Server, and the source of the token for it.
pub(crate) enum Credentials {
    /// The token is from an environment variable.
    Environment {
        url: Url,
        variable: String,
        token: Secret,
    },
    Login {
        url: Url,
        home: UserFiles,
        logins: Logins,
    },
}

impl Credentials {
    /// Finds the server and its token. A token in the environment takes precedence over a stored
    /// login.
    pub(crate) fn find(flags: &Flags) -> Result<Credentials, Failure> {
        // If the server and its token are given, neither a home folder nor a readable login file is
        // needed.
        if let Some(text) = &flags.server {
            let url = Url::parse(text)?;
            if let Some((variable, token)) = environment_token(&url, flags)? {
                return Ok(Credentials::Environment { url, variable, token });
            }
        }
        // Without a home folder there is no login.
        let home = UserFiles::of_user();
        let logins = home.as_ref().map_or_else(|_| Ok(Logins::default()), UserFiles::logins)?;
        let url = flags.server(&logins)?;
        match environment_token(&url, flags)? {
            Some((variable, token)) => Ok(Credentials::Environment { url, variable, token }),
            None => Ok(Credentials::Login { url, home: home?, logins }),
        }
    }
}

impl Session {
    pub(crate) fn open(flags: &Flags) -> Result<Session, Failure> {
        match Credentials::find(flags)? {
            Credentials::Environment { url, variable, token } => {
                Ok(Session::of_variable(url, variable, token))
            }
            Credentials::Login { url, home, logins } => {
                let http = Box::new(Network::to(&url));
                let registration = match logins.servers.get(url.as_str()) {
                    Some(registration) => registration,
                    None => return Err(unknown(&url)),
                };
                let provider = Provider { server: &url, http: &*http };
                let token = fresh_token(&home, provider, registration, Clock::Machine.now())?.access_token;
                Ok(Session::new(url, http, token))
            }
        }
    }

    /// Creates a session with the token of a login.
    pub(crate) fn new(url: Url, http: Box<dyn Http + Send>, token: Secret) -> Session {
        Session { url, http, token, variable: None }
    }

    pub(crate) fn of_variable(url: Url, variable: String, token: Secret) -> Session {
        let http = Box::new(Network::to(&url));
        Session { url, http, token, variable: Some(variable) }
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.request(Method::Get, path, None)
    }

    /// Requests a CSV table instead of JSON. Returns the table and the response headers.
    pub(crate) fn get_table(&self, path: &str) -> Result<(Vec<u8>, Headers), ApiError> {
        let request = Request { accept: "text/csv", ..Request::new(Method::Get, self.address(path)) };
        let answer = self.send(request)?;
        if answer.is_success() { Ok((answer.body, answer.headers)) } else { Err(refused(answer)) }
    }

    /// Fetches a URL that needs no credentials. The token is not sent.
    pub(crate) fn fetch(&self, url: &str) -> Result<Vec<u8>, ApiError> {
        let request = Request::new(Method::Get, url.to_owned());
        let answer = self.http.send(&request).map_err(ApiError::Unreachable)?;
        if answer.is_success() { Ok(answer.body) } else { Err(refused(answer)) }
    }

    /// Reads up to `count` rows of a paged list. `onward` is the name of the parameter for the
    /// previous page's `next` value.
    pub(crate) fn rows(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
        list: &str,
        onward: &str,
        count: usize,
    ) -> Result<Vec<Value>, Failure> {
        let mut rows: Vec<Value> = Vec::new();
        let mut next: Option<String> = None;
        while rows.len() < count {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(parameters);
            query.append_pair("limit", &(count - rows.len()).min(ROWS_A_PAGE).to_string());
            query.extend_pairs(next.iter().map(|next| (onward, next)));
            let data =
                self.get(&format!("{path}?{}", query.finish())).map_err(|error| self.to_failure(error))?;
            let page = field(&data, list).as_array().map(Vec::as_slice).unwrap_or_default();
            rows.extend_from_slice(page);
            // An empty page ends the list.
            next = match field(&data, "next") {
                Value::String(text) if !page.is_empty() => Some(text.clone()),
                Value::Number(number) if !page.is_empty() => Some(number.to_string()),
                _ => break,
            };
        }
        rows.truncate(count);
        Ok(rows)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Result<Value, ApiError> {
        self.request(Method::Post, path, Some(body))
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Value, ApiError> {
        self.request(Method::Delete, path, None)
    }

    pub(crate) fn request(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, ApiError> {
        self.ask(Request { body: body.map(Body::Json), ..Request::new(method, self.address(path)) })
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.url.as_str())
    }

    fn send(&self, mut request: Request) -> Result<Answer, ApiError> {
        request.bearer = Some(self.token.clone());
        self.http.send(&request).map_err(ApiError::Unreachable)
    }

    /// Sends a request and returns the `data` field of the response.
    fn ask(&self, request: Request) -> Result<Value, ApiError> {
        let answer = self.send(request)?;
        match answer.json() {
            Some(body) if field(&body, "code").as_i64() == Some(0) => Ok(taken(body, "data")),
            _ => Err(refused(answer)),
        }
    }

    /// Converts an error into a message for the user, with the server's URL and advice.
    pub(crate) fn to_failure(&self, error: ApiError) -> Failure {
        let server = self.url.as_str();
        match error {
            ApiError::Unreachable(error) => error.into(),
            ApiError::NotSent(failure) => failure,
            ApiError::Refused { status: 401, .. } => match &self.variable {
                // A token in a variable takes precedence over any login, so a login would not help.
                Some(variable) => anyhow!(
                    "{server}: {error}: set {variable} to a valid access token for this server, or unset it and run \
                     `chandler login`"
                )
                .into(),
                None => anyhow!("{server}: {error}: run `chandler login`").into(),
            },
            ApiError::Refused { status: 429, ref headers, ref message, .. } => {
                let limit_hint = self.limit_hint(message);
                match headers.number("retry-after") {
                    Some(seconds) => anyhow!("{server}: {error}: try again in {seconds} s{limit_hint}").into(),
                    None => anyhow!("{server}: {error}: try again later{limit_hint}").into(),
                }
            }
            ApiError::Refused { ref message, .. } if message.contains(BELOW_FLOOR) => {
                anyhow!("{server}: {error}{}", self.limit_hint(message)).into()
            }
            error => anyhow!("{server}: {error}").into(),
        }
    }

    /// Returns advice on how to remove an account's limits. Empty if the server is on another
    /// machine, or if its message already contains the advice.
    pub(crate) fn limit_hint(&self, message: &str) -> &'static str {
        if self.url.is_loopback() && !message.contains("--unlimited") {
            "; the server's operator can remove the limits of an account with `chandler account set NAME --unlimited`"
        } else {
            ""
        }
    }
}

/// Returns the error for a server without a login. An unreachable server is reported as
/// unreachable, because a login would not help.
fn unknown(url: &Url) -> Failure {
    let request = Request::new(Method::Get, format!("{}/healthz", url.as_str()));
    match Network::within(url, PROBE_WITHIN).send(&request) {
        Err(error) => error.into(),
        Ok(_) => not_signed_in(url),
    }
}

/// The flags of commands that use the local store, unless a server is given.
#[derive(Debug, Args)]
pub(crate) struct ServerFlags {
    /// Use this server instead of the local store, as the signed-in account
    #[arg(long, env = "CHANDLER_SERVER", value_name = "URL")]
    server: Option<String>,
    /// Send tokens over plain http to another machine
    #[arg(long)]
    insecure_http: bool,
}

impl ServerFlags {
    /// Opens a session with the server given by a flag or a variable. `None` if no server is given,
    /// or if `--store` overrides a server from the environment.
    pub(crate) fn session(&self, context: &CommandContext) -> Result<Option<Session>, Failure> {
        let named = context.named;
        match (&self.server, named.store, named.server) {
            (None, ..) | (Some(_), true, false) => Ok(None),
            (Some(_), true, true) => Err(usage("--server and --store cannot be used together")),
            (Some(server), false, _) => {
                let flags = Flags { server: Some(server.clone()), insecure_http: self.insecure_http };
                Session::open(&flags).map(Some)
            }
        }
    }
}

/// Converts an error response into an [`ApiError`].
fn refused(answer: Answer) -> ApiError {
    let Answer { status, headers, .. } = &answer;
    let body = answer.json().unwrap_or_default();
    match (field(&body, "code").as_i64(), field(&body, "message").as_str()) {
        (Some(code), Some(message)) if code != 0 => {
            let message = printable(message).chars().take(MESSAGE_CHARS_MAX).collect();
            ApiError::Refused { status: *status, code, message, detail: None, headers: headers.clone() }
        }
        _ => ApiError::Strange { status: *status },
    }
}

/// Reads a token from an environment variable. `None` if the variable is unset or empty.
fn given(variable: &str) -> Result<Option<Secret>, Failure> {
    let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else { return Ok(None) };
    match value.into_string() {
        Ok(token) if is_token(&token) => Ok(Some(Secret::new(token))),
        _ => Err(usage(format!(
            "{variable} is not an access token: it contains a space, a line break or an invalid character; copy it again"
        ))),
    }
}

/// Returns the token for this server from the environment, with the name of its variable. The
/// user's consent to send a login's tokens over plain HTTP does not apply to a token from the
/// environment.
pub(crate) fn environment_token(url: &Url, flags: &Flags) -> Result<Option<(String, Secret)>, Failure> {
    let found = match given(TOKEN_VARIABLE)? {
        Some(token) => Some((TOKEN_VARIABLE.to_owned(), token)),
        None => sdk_token(url)?,
    };
    if found.is_some() {
        check_transport(url, flags.insecure_http)?;
    }
    Ok(found)
}

/// Returns the SDK access token from the environment, with the name of its variable. `None` unless
/// the SDK's variables name this server, because no other server may receive the token.
fn sdk_token(url: &Url) -> Result<Option<(String, Secret)>, Failure> {
    for prefix in ["LONGBRIDGE", "LONGPORT"] {
        let Ok(address) = std::env::var(format!("{prefix}_HTTP_URL")) else { continue };
        if Url::parse(&address).is_ok_and(|address| address == *url) {
            let variable = format!("{prefix}_ACCESS_TOKEN");
            if let Some(token) = given(&variable)? {
                return Ok(Some((variable, token)));
            }
        }
    }
    Ok(None)
}

pub(crate) fn not_signed_in(url: &Url) -> Failure {
    anyhow!(
        "not signed in to {}: run `chandler login`, or set {TOKEN_VARIABLE} to an access token",
        url.as_str()
    )
    .into()
}

/// Returns the token of a login. The token is renewed if half of its lifetime has passed or if it
/// is about to expire. Occasional use therefore prolongs the login, and programs that read the
/// token file rarely find an expired token.
pub(crate) fn fresh_token(
    home: &UserFiles,
    provider: Provider<'_>,
    registration: &Registration,
    now: Timestamp,
) -> Result<TokenFile, Failure> {
    let token = home.token(&registration.client_id)?.ok_or_else(|| not_signed_in(provider.server))?;
    let left = token.expires_at.saturating_sub(now.0);
    // A modification time in the future is not used as the token's age.
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
        // The old token is still valid, so the next command can retry.
        Ok(None) if left > 0 => Ok(token),
        Err(_) if left >= RENEW_BEFORE_S => Ok(token),
        Err(failure) => Err(failure),
        Ok(None) => {
            Err(anyhow!("the login to {} has expired: run `chandler login`", provider.server.as_str()).into())
        }
    }
}

/// Default address of `chandler serve`.
const SERVER_DEFAULT: &str = "http://127.0.0.1:8080";

/// The flags of every command that uses a server.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// The server [default: the one last signed in to, else http://127.0.0.1:8080]
    #[arg(long, env = "CHANDLER_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Send tokens over plain http to another machine
    #[arg(long)]
    pub(crate) insecure_http: bool,
}

impl Flags {
    /// Returns the URL of the server to use. A login over plain HTTP implies consent to send that
    /// login's tokens over plain HTTP.
    pub(crate) fn server(&self, logins: &Logins) -> Result<Url, Failure> {
        let text = self.server.as_deref().or(logins.current.as_deref()).unwrap_or(SERVER_DEFAULT);
        let url = Url::parse(text)?;
        let agreed = self.insecure_http || logins.servers.contains_key(url.as_str());
        check_transport(&url, agreed)?;
        Ok(url)
    }
}

/// Returns an error if a token would be sent to another machine over plain HTTP without the user's
/// consent. A token is equivalent to a password.
fn check_transport(url: &Url, agreed: bool) -> Result<(), Failure> {
    if url.as_str().starts_with("http://") && !url.is_loopback() && !agreed {
        return Err(usage(format!(
            "{} is plain http to another machine, so others on the network could read the token: use https, or add \
            --insecure-http",
            url.as_str()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str, agreed: bool) -> bool {
        Url::parse(text).is_ok_and(|url| check_transport(&url, agreed).is_ok())
    }

    #[test]
    fn plain_http_to_another_machine_requires_consent() {
        for here in ["http://127.0.0.1:8080", "http://127.3.2.1", "http://localhost:1", "http://[::1]:8080/x"]
        {
            assert!(allowed(here, false), "{here}");
        }
        assert!(allowed("https://quotes.example.org", false));
        for there in ["http://quotes.example.org", "http://10.0.0.1:80", "http://localhost.example.org"] {
            assert!(!allowed(there, false), "{there}");
            assert!(allowed(there, true), "{there}");
        }
    }

    #[test]
    fn an_address_with_a_user_name_is_rejected() {
        for text in
            ["http://127.0.0.1:80@example.org", "http://localhost@example.org/", "https://a@example.org"]
        {
            assert!(!allowed(text, true), "{text}");
        }
    }
}
