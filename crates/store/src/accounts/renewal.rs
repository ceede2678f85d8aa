//! Renewal of API access tokens. The old token remains valid for a short time, so that a client
//! whose response was lost can retry.

use market::Timestamp;

use super::changes::count_change;
use super::{Accounts, AuditNote, Credential, audit};
use crate::StoreError;
use crate::engine::small;

/// Maximum number of replaced tokens per key that are still valid. A client that renews more often
/// is broken.
const REPLACED_MAX: u32 = 5;

/// A request to replace a key's token.
#[derive(Clone, Copy, Debug)]
pub struct Renewal<'a> {
    pub app_key: &'a str,
    pub token_hash: [u8; 32],
    pub token_expires_at: Timestamp,
    /// Expiry of the old token, unless it expires earlier.
    pub former_until: Timestamp,
}

/// Result of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalOutcome {
    Done,
    /// The key was renewed too often; nothing was changed.
    TooOften,
    /// The key does not exist.
    Unknown,
}

impl Accounts {
    pub fn renew(&self, renewal: &Renewal<'_>, note: &AuditNote<'_>) -> Result<RenewalOutcome, StoreError> {
        let Renewal { app_key, token_hash, token_expires_at, former_until } = *renewal;
        self.change(|db| {
            let Some(former) = db.first(super::sql::CREDENTIAL_BY_KEY, [app_key], Credential::read)? else {
                return Ok(RenewalOutcome::Unknown);
            };
            db.run(sql::FORGET, [note.at.0])?;
            let stored = db.one(sql::COUNT, [app_key], |row| small(row, 0))?;
            if stored >= REPLACED_MAX {
                return Ok(RenewalOutcome::TooOften);
            }
            let until = former_until.min(former.token_expires_at);
            db.run(sql::KEEP, (former.token_hash.as_slice(), app_key, until.0))?;
            db.run(sql::RENEW, (token_hash.as_slice(), token_expires_at.0, app_key))?;
            audit::write(db, Some(former.account), "token.renewed", note)?;
            count_change(db, &[former.account])?;
            Ok(RenewalOutcome::Done)
        })
    }

    /// Returns the credential whose token was `hash` before a recent renewal.
    pub fn credential_by_replaced(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<Credential>, StoreError> {
        self.read().first(sql::CREDENTIAL, (hash.as_slice(), now.0), Credential::read)
    }
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        FORGET: "forget replaced tokens", "delete from replaced_token where good_until <= $1";
        COUNT: "count replaced tokens", "select count(*) from sealed_replaced_token where app_key = $1";
        KEEP: "keep a replaced token",
            "insert into replaced_token (hash, app_key, good_until) values ($1, $2, $3)";
        RENEW: "renew a token",
            "update credential set token_hash = $1, token_expires_at = $2 where app_key = $3";
        CREDENTIAL: "read the credential of a replaced token",
            "select c.app_key, c.account_id, c.app_secret, c.token_hash, c.token_expires_at, c.created_at \
             from sealed_replaced_token r join sealed_credential c on c.app_key = r.app_key where r.hash = $1 and r.good_until > $2";
    }
}
