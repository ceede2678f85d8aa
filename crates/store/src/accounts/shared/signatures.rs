//! Signatures of changes: each is good once, at whatever node.

use market::Timestamp;

use super::{Shared, signatures_sql as sql};
use crate::StoreError;

/// How many signatures of one key are remembered, and for how long, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureLimits {
    pub each_max: u32,
    pub kept_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureOutcome {
    New,
    /// It was used before, for the first time then.
    Used(Timestamp),
    /// There are too many of its key.
    NoRoom,
}

/// Every so many signatures of a key it is counted how many there are: counting costs more than the rest.
const COUNTED_EVERY: u8 = 64;

impl Shared {
    /// Takes a signature, on the disk before this returns. `now` is the node's, by which it was found to be valid.
    pub fn use_signature(
        &self,
        fingerprint: &[u8; 16],
        app_key: &[u8; 16],
        limits: SignatureLimits,
        now: Timestamp,
    ) -> Result<SignatureOutcome, StoreError> {
        let db = self.durable();
        // By the fingerprint, so that a client cannot choose when.
        let is_counted = fingerprint.first().is_some_and(|byte| byte % COUNTED_EVERY == 0);
        if is_counted {
            let most = i64::from(limits.each_max);
            let count: i64 = db.one(sql::COUNT, (app_key, now.0, most), |row| row.get(0))?;
            if count >= most {
                return Ok(SignatureOutcome::NoRoom);
            }
        }
        let until = now.0.saturating_add(limits.kept_s);
        if db.run(sql::USE, (fingerprint, app_key, now.0, until))? > 0 {
            return Ok(SignatureOutcome::New);
        }
        let first: Option<i64> = db.first(sql::FIRST, [fingerprint], |row| row.get(0))?;
        // It may have been forgotten just now; then its first use was long ago.
        Ok(SignatureOutcome::Used(Timestamp(first.unwrap_or(i64::MIN))))
    }
}
