//! Access tokens of API keys that take the place of others. The token before stays good for a moment, so that a client
//! whose answer was lost can ask again.

use market::Timestamp;

use super::changes::count_change;
use super::{Accounts, AuditNote, Credential, audit, renewal_sql};
use crate::StoreError;
use crate::count::small;

/// Replaced tokens of one key that may be good at a time. A client that renews more often than that is broken.
const REPLACED_MAX: u32 = 5;

/// A token in the place of another.
#[derive(Clone, Copy, Debug)]
pub struct Renewal<'a> {
    pub app_key: &'a str,
    pub token_hash: [u8; 32],
    pub token_expires_at: Timestamp,
    /// How long the token before stays good, if it does not end by itself earlier.
    pub former_until: Timestamp,
}

/// What became of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalOutcome {
    Done,
    /// Too many in too short a time; nothing was changed.
    TooOften,
    /// There is no such key.
    Unknown,
}

impl Accounts {
    pub fn renew(&self, renewal: &Renewal<'_>, note: &AuditNote<'_>) -> Result<RenewalOutcome, StoreError> {
        let Renewal { app_key, token_hash, token_expires_at, former_until } = *renewal;
        self.change(|db| {
            let Some(former) = db.first(super::sql::CREDENTIAL_BY_KEY, [app_key], Credential::read)? else {
                return Ok(RenewalOutcome::Unknown);
            };
            db.run(renewal_sql::FORGET, [note.at.0])?;
            let kept = db.one(renewal_sql::COUNT, [app_key], |row| small(row, 0))?;
            if kept >= REPLACED_MAX {
                return Ok(RenewalOutcome::TooOften);
            }
            let until = former_until.min(former.token_expires_at);
            db.run(renewal_sql::KEEP, (former.token_hash.as_slice(), app_key, until.0))?;
            db.run(renewal_sql::RENEW, (token_hash.as_slice(), token_expires_at.0, app_key))?;
            audit::write(db, Some(former.account), "token.renewed", note)?;
            count_change(db, &[former.account])?;
            Ok(RenewalOutcome::Done)
        })
    }

    /// The credential of a token that has been replaced a moment ago.
    pub fn credential_by_replaced(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<Credential>, StoreError> {
        self.read().first(renewal_sql::CREDENTIAL, (hash.as_slice(), now.0), Credential::read)
    }
}
