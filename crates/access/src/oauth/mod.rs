//! OAuth 2.0: dynamic client registration (RFC 7591), device flow (RFC 8628), authorization codes
//! with optional PKCE (RFC 6749, 7636), refresh token rotation, revocation (RFC 7009).
//!
//! Tokens are opaque. All tokens that descend from one approval form a *family*, which ends as a
//! whole: when one of its tokens is revoked, when its authorization code is used twice, or when a
//! refresh token is reused after its grace period.
//!
//! Start with `grant.rs`, where tokens are issued.

mod client;
mod code;
mod device;
mod error;
mod grant;
mod limiters;
mod pkce;
mod redirect;
mod scope;
mod user_code;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use zeroize::Zeroizing;

use crate::random::{hex, random};
use crate::{AccessError, Secret};

pub use client::{AUTH_METHODS, NewClient, PresentedClient, Registered, Registration};
pub use code::{AUTHORIZATION_CODE_LIFE_S, AuthorizationError, AuthorizationRequest, BadRequest};
pub use device::{DEVICE_CODE_LIFE_S, DeviceRequest, DeviceStart};
pub use error::OAuthError;
pub use grant::{ACCESS_TOKEN_LIFE_S, Grant, REFRESH_GRACE_S, REFRESH_TOKEN_LIFE_S, SignIn, Tokens};
pub use pkce::{ParsePkceRuleError, PkceRule};
pub use scope::SCOPE;

pub(crate) use limiters::Limiters;
pub(crate) use scope::granted;

/// Grant types as sent by clients.
pub mod grant_type {
    pub const CODE: &str = "authorization_code";
    pub const REFRESH: &str = "refresh_token";
    pub const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";
    pub const ALL: [&str; 3] = [CODE, REFRESH, DEVICE];
}

/// Maximum length of a code, token or secret. Longer text is rejected without hashing.
const SECRET_TEXT_MAX: usize = 1_024;

/// Client details shown on the consent page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    pub id: String,
    /// Chosen by the client, so not trustworthy.
    pub name: String,
    pub created_at: Timestamp,
}

/// All tokens that descend from one approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Family(pub(crate) [u8; 16]);

impl Family {
    fn new() -> Result<Family, AccessError> {
        random().map(Family)
    }

    /// Returns the form stored in the database.
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
