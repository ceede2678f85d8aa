//! OAuth 2.0 flows for a program without a browser: registration, device authorization, refresh and
//! revocation. All values from a server are validated before they are used, shown or stored.

use std::time::Duration;

use access::Secret;
use anyhow::anyhow;
use market::Timestamp;
use serde_json::{Value, json};

use super::Time;
use super::files::{Registration, TokenFile, check_client_id};
use super::http::{Answer, Body, Http, Method, Request, field};
use crate::failure::Failure;
use crate::output::printable;
use crate::sdk::Url;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Defaults, in seconds, for values that a server omits (RFC 8628, section 3.2, and common
/// practice).
const INTERVAL_DEFAULT_S: u64 = 5;
const EXPIRES_DEFAULT_S: u64 = 300;
const TOKEN_LIFE_DEFAULT_S: i64 = 3_600;
/// Upper limits, in seconds, for values from a server: a minute between polls, an hour for a code,
/// ten years for a token.
const INTERVAL_MAX_S: u64 = 60;
const EXPIRES_MAX_S: u64 = 3_600;
const TOKEN_LIFE_MAX_S: i64 = 10 * 366 * 86_400;
/// Additional delay in seconds after `slow_down` (RFC 8628, section 3.5) or after a failed request.
const SLOWER_S: u64 = 5;
const SECRET_MAX: usize = 4_096;
const URL_MAX: usize = 2_048;
const TEXT_MAX: usize = 200;

/// OAuth server, and the HTTP client for requests to the server.
#[derive(Clone, Copy)]
pub(crate) struct Provider<'a> {
    pub(crate) server: &'a Url,
    pub(crate) http: &'a dyn Http,
}

/// Pending device authorization: the codes and addresses for the user, and the expiry.
#[derive(Debug)]
pub(crate) struct Device {
    device_code: Secret,
    pub(crate) user_code: String,
    pub(crate) verification_uri: String,
    /// Verification address that already includes the user code.
    pub(crate) verification_uri_complete: Option<String>,
    pub(crate) expires_at: Timestamp,
    interval_s: u64,
}

/// OAuth error from the server, with its code and description.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OAuthRefusal {
    pub(crate) error: String,
    description: String,
}

/// Result of waiting for the user's decision.
pub(crate) enum Outcome {
    Approved(TokenFile),
    Denied,
    Expired,
    Interrupted,
}

/// Result of a device authorization request.
pub(crate) enum DeviceStart {
    Device(Device),
    /// The client is not registered on the server, for example because its registration was
    /// removed.
    Forgotten,
}

impl Provider<'_> {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.as_str())
    }

    /// Registers this machine as an OAuth client of the server.
    pub(crate) fn register(&self, client_name: &str) -> Result<Registration, Failure> {
        let mut request = Request::new(Method::Post, self.url("/oauth2/register"));
        request.body = Some(Body::Json(json!({
            "client_name": client_name,
            "redirect_uris": [],
            "grant_types": [DEVICE_GRANT, "refresh_token"],
            "token_endpoint_auth_method": "none",
        })));
        let answer = self.http.send(&request)?;
        let body = self.accepted(&answer, "register this machine")?;
        let client_id = text(&body, "client_id", SECRET_MAX).ok_or_else(|| self.strange("client_id"))?;
        check_client_id(client_id).map_err(|_| self.strange("client_id"))?;
        let token = text(&body, "registration_access_token", SECRET_MAX)
            .ok_or_else(|| self.strange("registration_access_token"))?;
        // The registration is removed only on the server that created it, so an address on another
        // host is ignored.
        let own = self.url(&format!("/oauth2/register/{client_id}"));
        let uri = text(&body, "registration_client_uri", URL_MAX)
            .filter(|uri| uri.strip_prefix(self.server.as_str()).is_some_and(|rest| rest.starts_with('/')))
            .map_or(own, str::to_owned);
        Ok(Registration {
            client_id: client_id.to_owned(),
            client_name: client_name.to_owned(),
            registration_access_token: Secret::new(token.to_owned()),
            registration_client_uri: uri,
            also: Vec::new(),
        })
    }

    /// Removes the registration from the server. Returns true if the server removed the
    /// registration or did not have it.
    pub(crate) fn unregister(&self, registration: &Registration) -> anyhow::Result<bool> {
        let mut request = Request::new(Method::Delete, registration.registration_client_uri.clone());
        request.bearer = Some(registration.registration_access_token.clone());
        let answer = self.http.send(&request)?;
        Ok(answer.is_success() || matches!(answer.status, 401 | 404))
    }

    /// Requests a device code and a user code.
    pub(crate) fn begin(&self, client_id: &str, now: Timestamp) -> Result<DeviceStart, Failure> {
        let request = Request::form(self.url("/oauth2/device/authorize"), &[("client_id", client_id)]);
        let answer = self.http.send(&request)?;
        if let Some(declined) = declined(&answer)
            && matches!(declined.error.as_str(), "invalid_client" | "unauthorized_client")
        {
            return Ok(DeviceStart::Forgotten);
        }
        let body = self.accepted(&answer, "begin to sign in")?;
        let device_code =
            text(&body, "device_code", SECRET_MAX).ok_or_else(|| self.strange("device_code"))?;
        let address =
            |name: &str| text(&body, name, URL_MAX).filter(|url| is_web_address(url)).map(str::to_owned);
        let complete = address("verification_uri_complete");
        let verification_uri = address("verification_uri")
            .or_else(|| complete.clone())
            .ok_or_else(|| self.strange("verification_uri"))?;
        let number =
            |name: &str, missing: u64, max: u64| field(&body, name).as_u64().unwrap_or(missing).clamp(1, max);
        let expires_in = number("expires_in", EXPIRES_DEFAULT_S, EXPIRES_MAX_S);
        Ok(DeviceStart::Device(Device {
            device_code: Secret::new(device_code.to_owned()),
            user_code: shown(field(&body, "user_code").as_str().unwrap_or_default()),
            verification_uri,
            verification_uri_complete: complete,
            expires_at: Timestamp(now.0.saturating_add_unsigned(expires_in)),
            interval_s: number("interval", INTERVAL_DEFAULT_S, INTERVAL_MAX_S),
        }))
    }

    /// Polls the server until the user has approved or denied the request, the code expires, or the
    /// user presses Ctrl-C.
    pub(crate) fn wait(&self, client_id: &str, device: &Device, time: &dyn Time) -> Result<Outcome, Failure> {
        let mut interval_s = device.interval_s;
        loop {
            let left = device.expires_at.0.saturating_sub(time.now().0);
            let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) else {
                return Ok(Outcome::Expired);
            };
            if !time.pause(Duration::from_secs(interval_s.min(left))) {
                return Ok(Outcome::Interrupted);
            }
            let code = device.device_code.expose();
            let fields = [("client_id", client_id), ("grant_type", DEVICE_GRANT), ("device_code", code)];
            let mut request = Request::form(self.url("/oauth2/token"), &fields);
            request.region = Some("ap");
            let slower = interval_s.saturating_add(SLOWER_S).min(INTERVAL_MAX_S);
            // A server that is unreachable or busy may recover.
            let answer = match self.http.send(&request) {
                Ok(answer) if answer.status != 429 && answer.status < 500 => answer,
                Ok(_) | Err(_) => {
                    interval_s = slower;
                    continue;
                }
            };
            match declined(&answer) {
                None => return self.token(&answer, client_id, time.now()).map(Outcome::Approved),
                Some(declined) => match declined.error.as_str() {
                    "authorization_pending" => {}
                    "slow_down" => interval_s = slower,
                    "access_denied" => return Ok(Outcome::Denied),
                    "expired_token" => return Ok(Outcome::Expired),
                    _ => return Err(self.refused(&declined, "sign in")),
                },
            }
        }
    }

    /// Exchanges a refresh token for a new token. `None` if there is no refresh token or the server
    /// no longer accepts it.
    pub(crate) fn refresh(
        &self,
        token: &TokenFile,
        client_id: &str,
        now: Timestamp,
    ) -> Result<Option<TokenFile>, Failure> {
        let Some(refresh) = &token.refresh_token else { return Ok(None) };
        let fields =
            [("grant_type", "refresh_token"), ("refresh_token", refresh.expose()), ("client_id", client_id)];
        let mut request = Request::form(self.url("/oauth2/token"), &fields);
        request.region = Some(region(&token.access_token));
        let answer = self.http.send(&request)?;
        if let Some(declined) = declined(&answer) {
            return match declined.error.as_str() {
                "invalid_grant" | "invalid_client" => Ok(None),
                _ => Err(self.refused(&declined, "renew the token")),
            };
        }
        let mut renewed = self.token(&answer, client_id, now)?;
        renewed.refresh_token = renewed.refresh_token.or_else(|| token.refresh_token.clone());
        Ok(Some(renewed))
    }

    /// Revokes a token. Returns whether the server confirmed the revocation.
    pub(crate) fn revoke(&self, token: &TokenFile, client_id: &str) -> anyhow::Result<bool> {
        // Revoking a refresh token also revokes its access tokens.
        let (secret, hint) = match &token.refresh_token {
            Some(refresh) => (refresh, "refresh_token"),
            None => (&token.access_token, "access_token"),
        };
        let fields = [("token", secret.expose()), ("token_type_hint", hint), ("client_id", client_id)];
        Ok(self.http.send(&Request::form(self.url("/oauth2/revoke"), &fields))?.is_success())
    }

    fn token(&self, answer: &Answer, client_id: &str, now: Timestamp) -> Result<TokenFile, Failure> {
        let body = self.accepted(answer, "sign in")?;
        let secret = |name: &str| text(&body, name, SECRET_MAX).map(|text| Secret::new(text.to_owned()));
        let access_token = secret("access_token").ok_or_else(|| self.strange("access_token"))?;
        if !field(&body, "token_type").as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err(self.strange("token_type"));
        }
        let life =
            field(&body, "expires_in").as_i64().unwrap_or(TOKEN_LIFE_DEFAULT_S).clamp(1, TOKEN_LIFE_MAX_S);
        Ok(TokenFile {
            client_id: client_id.to_owned(),
            access_token,
            refresh_token: secret("refresh_token"),
            expires_at: now.0.saturating_add(life),
        })
    }

    /// Returns the JSON body of a successful response, or the OAuth error.
    fn accepted(&self, answer: &Answer, what: &str) -> Result<Value, Failure> {
        if let Some(declined) = declined(answer) {
            return Err(self.refused(&declined, what));
        }
        answer.json().filter(Value::is_object).ok_or_else(|| {
            anyhow!("{} does not support sign-in: its response is not JSON", self.server.as_str()).into()
        })
    }

    fn refused(&self, declined: &OAuthRefusal, what: &str) -> Failure {
        let OAuthRefusal { error, description } = declined;
        let why = if description.is_empty() { error } else { description };
        anyhow!("cannot {what} at {}: {why}", self.server.as_str()).into()
    }

    fn strange(&self, field: &str) -> Failure {
        anyhow!("{} sent a response without a valid {field}", self.server.as_str()).into()
    }
}

/// Returns the region that a token's prefix indicates.
pub(crate) fn region(token: &Secret) -> &'static str {
    if token.expose().starts_with("us_") { "us" } else { "ap" }
}

/// Returns the error in a response, or `None` if the request succeeded.
fn declined(answer: &Answer) -> Option<OAuthRefusal> {
    if answer.is_success() {
        return None;
    }
    let body = answer.json().unwrap_or_default();
    let word = |name: &str| shown(field(&body, name).as_str().unwrap_or_default());
    let (error, description) = (word("error"), word("error_description"));
    if error.is_empty() {
        // The response is not an OAuth error, so a proxy or another program has sent it.
        return Some(OAuthRefusal {
            error: format!("status {}", answer.status),
            description: word("message"),
        });
    }
    Some(OAuthRefusal { error, description })
}

/// Returns a text field if it is neither empty nor too long and contains only printable ASCII
/// without spaces.
fn text<'a>(body: &'a Value, name: &str, max: usize) -> Option<&'a str> {
    let fits = |text: &&str| (1..=max).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic());
    field(body, name).as_str().filter(fits)
}

fn shown(text: &str) -> String {
    printable(text).chars().take(TEXT_MAX).collect()
}

/// Returns whether a URL may be opened in a browser. Only http and https are accepted, because the
/// system's opener runs other programs for other schemes.
fn is_web_address(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

#[cfg(test)]
#[path = "oauth_tests.rs"]
mod tests;
