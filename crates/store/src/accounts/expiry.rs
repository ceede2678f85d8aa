//! Rows that are good for nothing any more: tokens and codes of OAuth, devices that wait, sessions of browsers, replaced
//! tokens of API keys. Some go whenever a new one comes; where none comes, they go here. Both keep them equally long, so that
//! no client can tell who has removed a row.

use market::Timestamp;

use super::oauth::{CODE_KEPT_S, DEVICE_KEPT_S, TOKEN_KEPT_S};
use super::{Accounts, oauth_sql, people_sql, renewal_sql};
use crate::StoreError;

/// Rows of a kind that one transaction removes: whoever wants to write meanwhile waits a few milliseconds.
const PORTION: u32 = 500;

impl Accounts {
    /// Removes a portion of what has expired; how many rows that were. Those that expired first are not always the first to go.
    pub fn remove_expired(&self, now: Timestamp) -> Result<u64, StoreError> {
        let before = |kept_s: i64| now.0.saturating_sub(kept_s);
        self.change(|db| {
            let mut removed = db.run(renewal_sql::FORGET, [now.0])?;
            for (sql, expired_before) in [
                (oauth_sql::FORGET_DEVICES, before(DEVICE_KEPT_S)),
                (oauth_sql::FORGET_CODES, before(CODE_KEPT_S)),
                (oauth_sql::FORGET_TOKENS, before(TOKEN_KEPT_S)),
                (people_sql::FORGET_EXPIRED, now.0),
            ] {
                removed = removed.saturating_add(db.run(sql, (expired_before, PORTION))?);
            }
            Ok(u64::try_from(removed).unwrap_or(u64::MAX))
        })
    }
}
