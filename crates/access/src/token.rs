//! Access and refresh tokens, and their stored hashes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use sha2::{Digest, Sha256};
use store::AccountId;
use zeroize::Zeroizing;

use crate::random::random;
use crate::{AccessError, Region, Secret};

/// The channel by which clients recognise a paper account.
const CHANNEL: &str = "lb_papertrading";
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// The claims that clients read in a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claims<'a> {
    pub(crate) region: Region,
    pub(crate) account: AccountId,
    /// In API-key mode only.
    pub(crate) app_key: Option<&'a str>,
    pub(crate) issued_at: Timestamp,
    pub(crate) expires_at: Timestamp,
}

impl Claims<'_> {
    /// An access token: it begins with its region and has the form of a JSON Web Token, because
    /// clients decode its claims. They verify nothing, and neither do we: the last part is random,
    /// and the hash of the whole token is looked up. No right follows from a claim.
    pub(crate) fn access_token(&self) -> Result<Secret, AccessError> {
        self.token("")
    }

    /// An OAuth refresh token, in the same form. The region comes first here too: clients recognize
    /// the region by the prefix of any of their secrets.
    pub(crate) fn refresh_token(&self) -> Result<Secret, AccessError> {
        self.token("rt_")
    }

    fn token(&self, kind: &str) -> Result<Secret, AccessError> {
        let bytes = Zeroizing::new(random::<32>()?);
        let [header, claims] = [HEADER, &self.json()].map(|part| URL_SAFE_NO_PAD.encode(part));
        let random = URL_SAFE_NO_PAD.encode(bytes.as_slice());
        Ok(Secret::new(format!("{}_{kind}{header}.{claims}.{random}", self.region)))
    }

    /// Numbers, hexadecimal digits and constants: nothing needs escaping. The subject is itself a
    /// JSON text.
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

/// A token has 256 random bits, so a plain hash protects it as well as a slow one would, and the
/// time of a hash lookup reveals nothing about the token.
pub(crate) fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
