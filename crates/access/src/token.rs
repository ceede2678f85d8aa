//! Access and refresh tokens, and the hashes under which they are stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use sha2::{Digest, Sha256};
use store::AccountId;
use zeroize::Zeroizing;

use crate::secret::random;
use crate::{AccessError, Region, Secret};

/// Account channel that identifies a paper account to clients.
const CHANNEL: &str = "lb_papertrading";
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// Token claims that clients decode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claims<'a> {
    pub(crate) region: Region,
    pub(crate) account: AccountId,
    /// App key of an API-key token; `None` for OAuth tokens.
    pub(crate) app_key: Option<&'a str>,
    pub(crate) issued_at: Timestamp,
    pub(crate) expires_at: Timestamp,
}

impl Claims<'_> {
    /// Creates an access token, which is a region prefix followed by a JSON Web Token, because
    /// clients decode its claims. The signature part is random and never verified. Instead, the
    /// hash of the whole token is looked up, so the claims grant nothing.
    pub(crate) fn access_token(&self) -> Result<Secret, AccessError> {
        self.token("")
    }

    /// Creates an OAuth refresh token in the same format. The token also starts with the region,
    /// because clients detect the region from the prefix of any of their secrets.
    pub(crate) fn refresh_token(&self) -> Result<Secret, AccessError> {
        self.token("rt_")
    }

    fn token(&self, kind: &str) -> Result<Secret, AccessError> {
        let bytes = Zeroizing::new(random::<32>()?);
        let [header, claims] = [HEADER, &self.json()].map(|part| URL_SAFE_NO_PAD.encode(part));
        let random = URL_SAFE_NO_PAD.encode(bytes.as_slice());
        Ok(Secret::new(format!("{}_{kind}{header}.{claims}.{random}", self.region)))
    }

    /// Formats the claims as JSON. All values are numbers, hex digits or constants, so nothing
    /// needs escaping. The subject is JSON text inside a JSON string.
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

/// Returns the hash under which a token is stored. A token has 256 random bits, so a fast hash is
/// as safe as a slow hash, and the timing of a lookup by hash reveals nothing about the token.
pub(crate) fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
