//! Removal of expired rows: OAuth tokens and codes, pending devices, browser sessions, one-time
//! links, replaced API tokens. Inserts also remove some expired rows; this job covers tables that
//! get no inserts. Both use the same retention times, so the difference is not visible to clients.

use market::Timestamp;

use super::oauth::{CODE_KEPT_S, DEVICE_KEPT_S, TOKEN_KEPT_S};
use super::links::LINK_KEPT_S;
use super::{Accounts, links, oauth, people, renewal};
use crate::StoreError;

/// Rows of each kind removed per transaction. Another writer waits only a few milliseconds.
const PORTION: u32 = 500;

impl Accounts {
    /// Removes one batch of expired rows, not necessarily the oldest. Returns the number of removed
    /// rows.
    pub fn remove_expired(&self, now: Timestamp) -> Result<u64, StoreError> {
        let before = |kept_s: i64| now.0.saturating_sub(kept_s);
        self.change(|db| {
            let mut removed = db.run(renewal::sql::FORGET, [now.0])?;
            for (statement, expired_before) in [
                (oauth::sql::FORGET_DEVICES, before(DEVICE_KEPT_S)),
                (oauth::sql::FORGET_CODES, before(CODE_KEPT_S)),
                (oauth::sql::FORGET_TOKENS, before(TOKEN_KEPT_S)),
                (people::sql::FORGET_EXPIRED, now.0),
                (links::sql::FORGET, before(LINK_KEPT_S)),
            ] {
                removed = removed.saturating_add(db.run(statement, (expired_before, PORTION))?);
            }
            Ok(u64::try_from(removed).unwrap_or(u64::MAX))
        })
    }
}
