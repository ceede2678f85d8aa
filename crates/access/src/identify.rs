use market::Timestamp;
use sha2::{Digest, Sha256};
use store::{AccountId, Credential};

use crate::{Access, Denial, Look, SignedRequest, verify_signature};

/// Far more than any credential has.
const HEADER_BYTES_MAX: usize = 4_096;

/// Somebody who has proved to be an account. Only [`Access`] makes one; whether the account still stands is asked anew
/// each time it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    account: AccountId,
    epoch: u32,
}

impl Caller {
    pub(crate) fn new(account: AccountId, epoch: u32) -> Caller {
        Caller { account, epoch }
    }

    pub fn account(&self) -> AccountId {
        self.account
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }
}

impl Access {
    /// Who has sent a request. There are two ways to say so:
    ///
    /// * **signed**: app key, time and access token in their headers and a signature over them with the app secret.
    ///   This is what clients in API-key mode send. A request signed without an access token proves only who holds the
    ///   secret, and would outlive the token; it is refused.
    /// * **bearer**: `Authorization: Bearer <access token>` alone, for people without a client library, and the form
    ///   that OAuth tokens will have. The scheme word is the choice: it says that the token was meant to stand for
    ///   itself. The same token sent bare, as API-key mode sends it, but without a signature is a request whose
    ///   signature was lost or taken off, and is refused.
    ///
    /// In bearer mode the app key is not looked at: it is a client id there, or empty.
    pub fn identify(&self, request: &SignedRequest<'_>, now: Timestamp) -> Result<Caller, Denial> {
        let header = |name| (request.header)(name).filter(|value| value.len() <= HEADER_BYTES_MAX);
        let missing = Denial::TokenInvalid("the access token is missing: send it as authorization");
        let authorization = header("authorization").map(str::trim).filter(|value| !value.is_empty());
        let bearer = authorization.and_then(bearer);
        let credential = if header("x-api-signature").is_some() {
            let credential = self.signed(request, header("x-api-key").unwrap_or_default(), now)?;
            let token = bearer.or(authorization).ok_or(missing)?;
            if hash_token(token) != credential.token_hash {
                return Err(Denial::TokenInvalid("the access token does not belong to the app key"));
            }
            credential
        } else if let Some(token) = bearer {
            self.accounts.credential_by_token(&hash_token(token))?.ok_or(Denial::TokenInvalid(
                "the access token is unknown: check it, or ask the operator for one",
            ))?
        } else if authorization.is_some() {
            return Err(Denial::SignatureInvalid(
                "the request is not signed: sign it, or send the access token as Bearer",
            ));
        } else {
            return Err(missing);
        };
        if credential.token_expires_at <= now {
            return Err(Denial::TokenExpired("the access token has expired: ask the operator for a new one"));
        }
        match self.look(credential.account, Look::Fresh)? {
            Some((_, account)) if account.revoked_at.is_none() => Ok(Caller::new(account.id, account.epoch)),
            _ => Err(Denial::TokenInvalid("the account of this access token has been revoked")),
        }
    }

    /// The credential whose secret has signed a request.
    fn signed(
        &self,
        request: &SignedRequest<'_>,
        app_key: &str,
        now: Timestamp,
    ) -> Result<Credential, Denial> {
        let credential = self.accounts.credential_by_key(app_key)?.ok_or(Denial::KeyUnknown)?;
        let secret = self.keys.unseal(&credential.app_secret, credential.account, &credential.app_key)?;
        verify_signature(request, &secret, now)?;
        Ok(credential)
    }
}

/// A token has 256 random bits, so one round of a plain hash keeps it as well as a slow one would, and looking a hash up
/// tells nothing about the token by the time it takes.
pub(crate) fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// The token of `Bearer <token>`; the scheme word is read in any case.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
