//! Authentication of requests, and lookup of credentials: in the cache if the database is a server,
//! otherwise directly in the database.

use market::Timestamp;
use store::{Credential, Hash, TokenRow};
use subtle::ConstantTimeEq;

use crate::replay::{self, Repetition, SignatureUse};
use crate::signature::{signature_of, verify_undated};
use crate::token::hash_token;
use crate::{Access, AccessError, Caller, Denial, Freshness, SignedRequest, verify_signature};

/// Maximum length of a header in bytes, far longer than any credential. Longer headers are ignored.
const HEADER_BYTES_MAX: usize = 4_096;

/// The credential that identifies a request whose signature has not been verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognized {
    /// The access token is known.
    Token,
    /// The access token is missing or unknown, but the app key is known.
    Key,
    Anonymous,
}

impl Access {
    /// Returns which credential of a request is known. Does not authenticate the caller, because
    /// the signature is not verified.
    pub fn recognize(
        &self,
        authorization: Option<&str>,
        app_key: Option<&str>,
        now: Timestamp,
    ) -> Result<Recognized, AccessError> {
        let fits = |text: &&str| !text.is_empty() && text.len() <= HEADER_BYTES_MAX;
        if let Some(text) = authorization.map(str::trim).filter(fits) {
            let token = bearer(text).unwrap_or(text);
            let hash = hash_token(token);
            if self.credential_by_token(&hash)?.is_some()
                || self.credential_by_replaced(&hash, now)?.is_some()
                || self.is_oauth_token(token)?
            {
                return Ok(Recognized::Token);
            }
        }
        let is_key = match app_key.filter(fits) {
            Some(key) => self.credential_by_key(key)?.is_some(),
            None => false,
        };
        Ok(if is_key { Recognized::Key } else { Recognized::Anonymous })
    }

    /// Authenticates a request in one of two modes:
    ///
    /// - **signed**: app key, timestamp and access token in headers, with a signature over them by
    ///   the app secret. Clients in API-key mode send signed requests. A signed request without an
    ///   access token is refused, because it proves only possession of the secret and would stay
    ///   valid after the token expires.
    /// - **bearer**: `Authorization: Bearer <access token>`, used by OAuth clients and by users
    ///   without a client library. The scheme states that the token is used without a signature. A
    ///   token sent without a scheme or a signature is refused, because it may come from an API-key
    ///   request whose signature was lost or removed.
    ///
    /// Bearer mode ignores the app key, which is a client id or empty in that mode, and any
    /// signature. OAuth tokens are accepted only in bearer mode.
    pub fn identify(&self, request: &SignedRequest<'_>, now: Timestamp) -> Result<Caller, Denial> {
        let header = |name| (request.header)(name).filter(|value| value.len() <= HEADER_BYTES_MAX);
        let missing = Denial::TokenInvalid("the access token is missing: send it as authorization");
        let authorization = header("authorization").map(str::trim).filter(|value| !value.is_empty());
        let bearer = authorization.and_then(bearer);
        let credential = if let Some(token) = bearer {
            let hash = hash_token(token);
            let found = match self.credential_by_token(&hash)? {
                Some(credential) => Some(credential),
                None => self.credential_by_replaced(&hash, now)?,
            };
            match found {
                Some(credential) => credential,
                None => return self.oauth_caller(token, now)?.ok_or(UNKNOWN),
            }
        } else if header("x-api-signature").is_some() {
            let credential = match self.signed(request, header("x-api-key").unwrap_or_default(), now) {
                Err(Denial::KeyUnknown) => return Err(self.bare(authorization, Denial::KeyUnknown)?),
                signed => signed?,
            };
            let token = authorization.ok_or(missing)?;
            let is_its = bool::from(hash_token(token).ct_eq(&credential.token_hash));
            if !is_its && !self.is_former(token, &credential, now)? {
                return Err(Denial::TokenInvalid("the access token does not belong to the app key"));
            }
            credential
        } else if authorization.is_some() {
            let unsigned = "the request is not signed: sign it, or send the access token as Bearer";
            return Err(self.bare(authorization, Denial::SignatureInvalid(unsigned))?);
        } else {
            return Err(missing);
        };
        if credential.token_expires_at <= now {
            return Err(Denial::TokenExpired("the access token has expired: ask the operator for a new one"));
        }
        match self.look(credential.account, Freshness::Fresh)? {
            Some((_, account)) if account.revoked_at.is_none() => {
                Ok(Caller::of(&account, credential.token_expires_at))
            }
            _ => Err(Denial::TokenInvalid("the account of this access token has been revoked")),
        }
    }

    /// Marks the signature of an authenticated write request as used, so that the request cannot be
    /// replayed. If `repetition` allows a retry, the signature stays valid for a short time.
    /// Requests in bearer mode have no signature and always succeed.
    pub fn use_once(
        &self,
        request: &SignedRequest<'_>,
        repetition: Repetition,
        now: Timestamp,
    ) -> Result<(), Denial> {
        let header = |name| (request.header)(name).filter(|value| value.len() <= HEADER_BYTES_MAX);
        if header("authorization").map(str::trim).and_then(bearer).is_some() {
            return Ok(());
        }
        let Some(signature) = signature_of(request) else { return Ok(()) };
        let app_key = header("x-api-key").unwrap_or_default();
        let taken = match self.cluster.shared() {
            None => self.identity.replays.take(app_key, &signature, repetition, now),
            Some(shared) => {
                let (key, fingerprint) = replay::fingerprint(app_key, &signature);
                let used = shared.use_signature(&fingerprint, &key, replay::LIMITS);
                replay::judged(self.cluster.check_query(used)?, repetition)
            }
        };
        match taken {
            SignatureUse::Good => Ok(()),
            SignatureUse::Again => Err(Denial::SignatureInvalid(
                "this signed request was already received: sign it again with the current time",
            )),
            SignatureUse::NoRoom => Err(Denial::SignatureInvalid(
                "too many signed changes within ten minutes: wait, or send the access token as Bearer",
            )),
        }
    }

    /// Returns the error for a token without a scheme: a hint to send the token as `Bearer` if it
    /// is an OAuth token, and `otherwise` for any other token.
    fn bare(&self, token: Option<&str>, otherwise: Denial) -> Result<Denial, Denial> {
        Ok(match token {
            Some(token) if self.is_oauth_token(token)? => {
                Denial::TokenInvalid("OAuth access tokens must be sent as Bearer")
            }
            _ => otherwise,
        })
    }

    /// Returns whether `token` is the recently replaced token of the credential.
    fn is_former(&self, token: &str, credential: &Credential, now: Timestamp) -> Result<bool, Denial> {
        let former = self.credential_by_replaced(&hash_token(token), now)?;
        Ok(former.is_some_and(|former| former.app_key == credential.app_key))
    }

    /// Verifies the signature of a request and returns the credential whose secret signed it.
    pub(crate) fn signed(
        &self,
        request: &SignedRequest<'_>,
        app_key: &str,
        now: Timestamp,
    ) -> Result<Credential, Denial> {
        let credential = self.credential_by_key(app_key)?.ok_or(Denial::KeyUnknown)?;
        let secret =
            self.identity.keys.unseal(&credential.app_secret, credential.account, &credential.app_key)?;
        // A program in a world may run with a clock that shows a past time.
        let account = self.look(credential.account, Freshness::Recent)?;
        match account.is_some_and(|(_, account)| account.is_world) {
            true => verify_undated(request, &secret)?,
            false => verify_signature(request, &secret, now)?,
        }
        Ok(credential)
    }

    pub(crate) fn credential_by_key(&self, app_key: &str) -> Result<Option<Credential>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.credential_by_key(app_key)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.identity.credentials.by_key(self.cluster.health.learnt(version), app_key) {
            return Ok(Some(known));
        }
        let found = self.cluster.check_query(self.accounts.credential_by_key(app_key))?;
        if let Some(found) = &found {
            self.identity.credentials.learn_key(version, found);
        }
        Ok(found)
    }

    pub(crate) fn credential_by_token(&self, hash: &Hash) -> Result<Option<Credential>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.credential_by_token(hash)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.identity.credentials.by_token(self.cluster.health.learnt(version), hash) {
            return Ok(Some(known));
        }
        // A known OAuth token cannot be an API-key token. Skipping the query admits OAuth callers
        // while the database is unreachable.
        if self.identity.credentials.token(self.cluster.health.learnt(version), hash).is_some() {
            return Ok(None);
        }
        let found = self.cluster.check_query(self.accounts.credential_by_token(hash))?;
        if let Some(found) = &found {
            self.identity.credentials.learn_token(version, found);
        }
        Ok(found)
    }

    /// Returns the credential of a recently replaced API-key token, or `None` if the token is
    /// unknown or a known OAuth token.
    pub(crate) fn credential_by_replaced(
        &self,
        hash: &Hash,
        now: Timestamp,
    ) -> Result<Option<Credential>, AccessError> {
        if self.is_shared() {
            let learnt = self.cluster.health.learnt(self.current_version()?);
            if self.identity.credentials.token(learnt, hash).is_some() {
                return Ok(None);
            }
        }
        self.cluster.check_query(self.accounts.credential_by_replaced(hash, now))
    }

    pub(crate) fn oauth_token(&self, hash: &Hash) -> Result<Option<TokenRow>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.token(hash)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.identity.credentials.token(self.cluster.health.learnt(version), hash) {
            return Ok(Some(known));
        }
        let found = self.cluster.check_query(self.accounts.token(hash))?;
        if let Some(found) = &found {
            self.identity.credentials.learn(version, hash, found);
        }
        Ok(found)
    }
}

const UNKNOWN: Denial = Denial::TokenInvalid(
    "the access token is unknown or was revoked: check it, sign in again or ask the operator for one",
);

/// Returns the token of `Bearer <token>`, or `None` for any other header value. The scheme is
/// case-insensitive.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
