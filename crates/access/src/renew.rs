use market::Timestamp;
use store::{AuditNote, Renewal, RenewalOutcome};

use crate::token::{Claims, hash_token};
use crate::{Access, Actor, Denial, Freshness, Secret, SignedRequest};

/// Default lifetime of a renewed token in seconds: 90 days, which is what clients request.
pub const RENEWED_LIFE_DEFAULT_S: i64 = 90 * 86_400;
/// Maximum lifetime of a renewed token in seconds: ten years, as for the first token of an account.
pub const RENEWED_LIFE_MAX_S: i64 = crate::TOKEN_LIFE_DEFAULT_S;
/// Minimum lifetime of a renewed token in seconds. A shorter-lived token would be useless.
pub const RENEWED_LIFE_MIN_S: i64 = 60;
/// Time in seconds for which a replaced token stays valid, long enough to retry if the response is
/// lost and to update the owner's other programs.
pub const FORMER_LIFE_S: i64 = 60;
const _: () =
    assert!(RENEWED_LIFE_MIN_S < RENEWED_LIFE_DEFAULT_S && RENEWED_LIFE_DEFAULT_S < RENEWED_LIFE_MAX_S);

/// Why a token was not renewed.
#[derive(Debug, thiserror::Error)]
pub enum RenewError {
    #[error(transparent)]
    Denied(#[from] Denial),
    #[error("invalid expiry: a token is valid for one minute to ten years")]
    Life,
    #[error("the token was renewed too often within a minute: use the latest one")]
    TooOften,
}

impl Access {
    /// Replaces the access token of a signed request with a new token for the same API key. The old
    /// token stays valid for [`FORMER_LIFE_S`] seconds. The request must be signed, so that a
    /// stolen token alone cannot be renewed. Connections and sessions are unaffected.
    pub fn renew(
        &self,
        request: &SignedRequest<'_>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Secret, RenewError> {
        let caller = self.identify(request, now)?;
        let (Some(_), Some(app_key)) = ((request.header)("x-api-signature"), (request.header)("x-api-key"))
        else {
            return Err(RenewError::Denied(Denial::SignatureInvalid(
                "only tokens of API keys can be renewed: sign the request with the app secret",
            )));
        };
        let credential = self.signed(request, app_key, now)?;
        if credential.account != caller.account() {
            return Err(RenewError::Denied(Denial::TokenInvalid(
                "the access token does not belong to the app key",
            )));
        }
        let life = |seconds: i64| Timestamp(now.0.saturating_add(seconds));
        if expires_at < life(RENEWED_LIFE_MIN_S) || expires_at > life(RENEWED_LIFE_MAX_S) {
            return Err(RenewError::Life);
        }
        let account = self.look(credential.account, Freshness::Fresh).map_err(Denial::from)?;
        let (_, account) = account.ok_or(Denial::TokenInvalid("the account has been revoked"))?;
        let claims = Claims {
            region: account.region,
            account: account.id,
            app_key: Some(&credential.app_key),
            issued_at: now,
            expires_at,
        };
        let token = claims.access_token().map_err(Denial::from)?;
        let renewal = Renewal {
            app_key,
            token_hash: hash_token(token.expose()),
            token_expires_at: expires_at,
            former_until: life(FORMER_LIFE_S),
        };
        let (actor, reason) =
            (Actor::Account(account.id).to_string(), format!("app key {app_key}, until {expires_at}"));
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        match self.accounts.renew(&renewal, &note).map_err(Denial::from)? {
            RenewalOutcome::Done => Ok(token),
            RenewalOutcome::TooOften => Err(RenewError::TooOften),
            RenewalOutcome::Unknown => Err(RenewError::Denied(Denial::KeyUnknown)),
        }
    }
}
