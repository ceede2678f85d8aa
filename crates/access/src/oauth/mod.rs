//! OAuth 2.0: dynamic client registration (RFC 7591), device flow (RFC 8628), authorization codes
//! with optional PKCE (RFC 6749 and RFC 7636), refresh token rotation and revocation (RFC 7009).
//!
//! Tokens are opaque. All tokens that descend from one approval form a *family*. The whole family
//! is revoked when one of its tokens is revoked, when its authorization code is used twice, or when
//! a refresh token is reused after its grace period.
//!
//! Start with `grant.rs`, where tokens are issued. This file contains the errors, scopes, token
//! families and rate limits that all flows share.

mod client;
mod code;
mod device;
mod grant;
mod pkce;
mod redirect;

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use zeroize::Zeroizing;

use crate::scope::{Scope, Scopes};
use crate::secret::{hex, random};
use crate::{AccessError, IngestSymbols, Pace, RateLimit, Secret};

pub use client::{AUTH_METHODS, NewClient, PresentedClient, Registered, Registration};
pub use code::{AUTHORIZATION_CODE_LIFE_S, AuthorizationError, AuthorizationRequest, BadRequest};
pub use device::{DEVICE_CODE_LIFE_S, DeviceRequest, DeviceStart};
pub use grant::{
    ACCESS_TOKEN_LIFE_S, Grant, IngestToken, REFRESH_GRACE_S, REFRESH_TOKEN_LIFE_S, SignIn, Tokens,
};
pub use pkce::{ParsePkceRuleError, PkceRule};

/// Values of the parameter `grant_type`.
pub mod grant_type {
    pub const CODE: &str = "authorization_code";
    pub const REFRESH: &str = "refresh_token";
    pub const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";
    pub const ALL: [&str; 3] = [CODE, REFRESH, DEVICE];
}

/// Maximum length of a code, token or secret in bytes. Longer values are rejected before hashing.
const SECRET_TEXT_MAX: usize = 1_024;

/// Client details shown on the consent page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    pub id: String,
    /// Name chosen by the client, which must not be trusted.
    pub name: String,
    pub created_at: Timestamp,
}

/// Id of a token family: all tokens that descend from one approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Family(pub(crate) [u8; 16]);

impl Family {
    fn new() -> Result<Family, AccessError> {
        random().map(Family)
    }

    /// Returns the id as hexadecimal text, as stored in the database.
    pub(crate) fn text(self) -> String {
        hex(&self.0)
    }

    pub(crate) fn of(text: &str) -> Option<Family> {
        let mut bytes = [0; 16];
        if text.len() != 2 * bytes.len() || !text.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Family(bytes))
    }
}

/// Returns 256 random bits as URL-safe text with a prefix.
fn opaque(prefix: &str) -> Result<Secret, AccessError> {
    let bytes = Zeroizing::new(random::<32>()?);
    Ok(Secret::new(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes.as_slice()))))
}

/// Why a client gets no token, with one variant per error code that clients can distinguish. The
/// error message may be sent to the client.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("{0}")]
    InvalidRequest(&'static str),
    #[error("{0}")]
    InvalidClient(&'static str),
    #[error("{0}")]
    InvalidGrant(&'static str),
    #[error("{0}")]
    UnauthorizedClient(&'static str),
    #[error("only authorization codes, device codes and refresh tokens are supported as grants")]
    UnsupportedGrantType,
    #[error("the scope is ingest, which may be bound to symbols as in ingest:*.HK, or openapi")]
    InvalidScope,
    #[error("the user has not decided yet: poll again after the interval")]
    AuthorizationPending,
    #[error("polled too early: the interval is now five seconds longer")]
    SlowDown,
    #[error("the request was denied")]
    AccessDenied,
    #[error("the device code has expired: start again")]
    ExpiredToken,
    #[error("{0}")]
    InvalidRedirectUri(&'static str),
    #[error("{0}")]
    InvalidClientMetadata(&'static str),
    /// A rate limit was exceeded, or there are too many clients or pending devices.
    #[error("{text}")]
    Unavailable { text: &'static str, retry_after: Duration },
    #[error("the service failed: try again")]
    Failed(#[source] AccessError),
}

impl OAuthError {
    /// Returns the error code defined by the OAuth RFCs.
    pub fn code(&self) -> &'static str {
        match self {
            OAuthError::InvalidRequest(_) => "invalid_request",
            OAuthError::InvalidClient(_) => "invalid_client",
            OAuthError::InvalidGrant(_) => "invalid_grant",
            OAuthError::UnauthorizedClient(_) => "unauthorized_client",
            OAuthError::UnsupportedGrantType => "unsupported_grant_type",
            OAuthError::InvalidScope => "invalid_scope",
            OAuthError::AuthorizationPending => "authorization_pending",
            OAuthError::SlowDown => "slow_down",
            OAuthError::AccessDenied => "access_denied",
            OAuthError::ExpiredToken => "expired_token",
            OAuthError::InvalidRedirectUri(_) => "invalid_redirect_uri",
            OAuthError::InvalidClientMetadata(_) => "invalid_client_metadata",
            OAuthError::Unavailable { .. } => "temporarily_unavailable",
            OAuthError::Failed(_) => "server_error",
        }
    }
}

impl<E: Into<AccessError>> From<E> for OAuthError {
    fn from(error: E) -> OAuthError {
        OAuthError::Failed(error.into())
    }
}

/// The only scope that clients request. It permits everything that an account may do, except
/// operator functions.
pub const SCOPE: &str = "openapi";
/// Name of the scope [`SCOPE`] in the public API documentation.
const ALIAS: &str = "3";

/// Parses a requested scope: empty, `openapi` or its alias, or [`IngestSymbols`] for a program that
/// only adds candles and trades, which has an effect only for operators. Returns it in canonical
/// form.
fn parse_scope(text: &str) -> Result<String, OAuthError> {
    if let Some(symbols) = IngestSymbols::of_requested_scope(text) {
        return Ok(symbols.scope());
    }
    let all_known =
        text.split(' ').filter(|word| !word.is_empty()).all(|word| word == SCOPE || word == ALIAS);
    if all_known { Ok(SCOPE.to_owned()) } else { Err(OAuthError::InvalidScope) }
}

/// Returns the scopes granted by a token's scope text: the union of the scopes of its words.
/// Unknown words grant nothing, and no word grants the operator scope.
fn granted(scope: &str) -> Scopes {
    let ingest = IngestSymbols::of_scope(scope).map_or(Scopes::NONE, |_| Scopes::NONE.with(Scope::Ingest));
    scope.split(' ').fold(ingest, |all, word| match word {
        SCOPE => all.or(Scopes::PROGRAM),
        "quote" => all.with(Scope::Quote),
        "trade" => all.with(Scope::Trade),
        "account" => all.with(Scope::Account),
        _ => all,
    })
}

const REGISTRATIONS: RateLimit = RateLimit { requests: 20, within: Duration::from_secs(3_600) };
const STARTS: RateLimit = RateLimit { requests: 60, within: Duration::from_secs(600) };
/// Limit on token refreshes per account. Each refresh is written to disk and to the audit before
/// the response, and a client needs only one refresh a month.
const REFRESHES: RateLimit = RateLimit { requests: 100, within: Duration::from_secs(600) };

/// Rate limits of the OAuth endpoints.
#[derive(Debug)]
pub(crate) struct Limiters {
    registrations: Pace<IpAddr>,
    devices: Pace<IpAddr>,
    /// Token refreshes by account id.
    refreshes: Pace<i64>,
}

impl Default for Limiters {
    fn default() -> Limiters {
        Limiters {
            registrations: Pace::of_addresses("registration", REGISTRATIONS),
            devices: Pace::of_addresses("device", STARTS),
            refreshes: Pace::of_accounts("refresh", REFRESHES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_text_is_parsed_and_unknown_words_are_ignored() {
        for (scope, wanted) in [
            ("openapi", "quote trade account"),
            ("quote", "quote"),
            ("account trade", "trade account"),
            ("quote openapi", "quote trade account"),
            ("", ""),
            ("operator", ""),
            ("profile email", ""),
            ("ingest", "ingest"),
            ("ingest:*.HK ingest:AAPL.US", "ingest"),
            ("ingest:", ""),
        ] {
            assert_eq!(granted(scope).to_string(), wanted, "{scope:?}");
        }
    }
}
