//! Access and refresh tokens, and the hashes under which they are stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use sha2::{Digest, Sha256};
use store::AccountId;
use zeroize::Zeroizing;

use crate::random::random;
use crate::{AccessError, Region, Secret};

/// Account channel by which clients recognise a paper account.
const CHANNEL: &str = "lb_papertrading";
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// Token claims that clients read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claims<'a> {
    pub(crate) region: Region,
    pub(crate) account: AccountId,
    /// Set in API-key mode only.
    pub(crate) app_key: Option<&'a str>,
    pub(crate) issued_at: Timestamp,
    pub(crate) expires_at: Timestamp,
}

impl Claims<'_> {
    /// Creates an access token: a region prefix and a JSON Web Token, because clients decode its
    /// claims. No one verifies its signature, which is random; the hash of the whole token is
    /// looked up instead. Claims grant nothing.
    pub(crate) fn access_token(&self) -> Result<Secret, AccessError> {
        self.token("")
    }

    /// Creates an OAuth refresh token of the same form. It also starts with the region, because
    /// clients detect the region by the prefix of any of their secrets.
    pub(crate) fn refresh_token(&self) -> Result<Secret, AccessError> {
        self.token("rt_")
    }

    fn token(&self, kind: &str) -> Result<Secret, AccessError> {
        let bytes = Zeroizing::new(random::<32>()?);
        let [header, claims] = [HEADER, &self.json()].map(|part| URL_SAFE_NO_PAD.encode(part));
        let random = URL_SAFE_NO_PAD.encode(bytes.as_slice());
        Ok(Secret::new(format!("{}_{kind}{header}.{claims}.{random}", self.region)))
    }

    /// Formats the claims as JSON. The values are numbers, hex digits and constants, so nothing
    /// needs escaping. The subject is itself JSON text.
    fn json(&self) -> String {
        let Claims { account: AccountId(id), issued_at: Timestamp(iat), expires_at: Timestamp(exp), .. } =
            *self;
        let app_key = self.app_key.map(|key| format!(r#","ak":"{key}""#)).unwrap_or_default();
        let subject = format!(r#"{{\"account_channel\":\"{CHANNEL}\",\"member_id\":\"{id}\"}}"#);
        format!(
            r#"{{"sub":"{subject}","iat":{iat},"exp":{exp},"aid":"{id}","mid":"{id}","ac":"{CHANNEL}"{app_key}}}"#
        )
    }
}

/// Hashes a token. It has 256 random bits, so a fast hash is as safe as a slow one, and the timing
/// of a lookup by hash reveals nothing about the token.
pub(crate) fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
