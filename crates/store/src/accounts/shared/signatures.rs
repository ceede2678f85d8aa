//! Signatures of changes: each is valid once, over all nodes.

use super::{Shared, signatures_sql as sql};
use crate::StoreError;

/// How many signatures of one key are stored, and for how long, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureLimits {
    pub each_max: u32,
    pub kept_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureOutcome {
    New,
    /// It was used before, first this many seconds ago.
    Used(i64),
    /// The key has too many stored signatures.
    NoRoom,
}

/// The signatures of a key are counted at about one in this many uses: counting costs more than the
/// rest.
const COUNTED_EVERY: u8 = 64;

impl Shared {
    /// Uses up a signature, durably.
    pub fn use_signature(
        &self,
        fingerprint: &[u8; 16],
        app_key: &[u8; 16],
        limits: SignatureLimits,
    ) -> Result<SignatureOutcome, StoreError> {
        let db = self.durable();
        // Chosen by the fingerprint, so that a client cannot choose when.
        let is_counted = fingerprint.first().is_some_and(|byte| byte % COUNTED_EVERY == 0);
        if is_counted {
            let most = i64::from(limits.each_max);
            let count: i64 = db.one(sql::COUNT, (app_key, most), |row| row.get(0))?;
            if count >= most {
                return Ok(SignatureOutcome::NoRoom);
            }
        }
        if db.run(sql::USE, (fingerprint, app_key, limits.kept_s))? > 0 {
            return Ok(SignatureOutcome::New);
        }
        let age: Option<i64> = db.first(sql::AGE, [fingerprint], |row| row.get(0))?;
        // It may just have been removed; then its first use was long ago.
        Ok(SignatureOutcome::Used(age.unwrap_or(i64::MAX)))
    }
}
