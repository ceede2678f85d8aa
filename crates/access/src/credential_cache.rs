//! Credentials as they were at one version of the database, where that is a server: a request need not ask it who its caller is, and callers that were seen
//! before are recognized while it is away.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use store::{Credential, Hash, TokenRow};

use crate::{Access, AccessError};

/// Credentials of each kind that are kept before all are forgotten and read again.
const KEPT_MAX: usize = 16_384;

#[derive(Debug, Default)]
pub(crate) struct CredentialCache {
    inner: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    version: i64,
    by_key: HashMap<String, Credential>,
    by_token: HashMap<Hash, Credential>,
    tokens: HashMap<Hash, TokenRow>,
}

impl Known {
    /// Empties it if it is of another version.
    fn at(&mut self, version: i64) -> &mut Known {
        let length = self.by_key.len().max(self.by_token.len()).max(self.tokens.len());
        if self.version != version || length >= KEPT_MAX {
            *self = Known { version, ..Known::default() };
        }
        self
    }
}

impl CredentialCache {
    pub(crate) fn by_key(&self, version: i64, app_key: &str) -> Option<Credential> {
        self.lock().at(version).by_key.get(app_key).cloned()
    }

    pub(crate) fn by_token(&self, version: i64, hash: &Hash) -> Option<Credential> {
        self.lock().at(version).by_token.get(hash).cloned()
    }

    pub(crate) fn token(&self, version: i64, hash: &Hash) -> Option<TokenRow> {
        self.lock().at(version).tokens.get(hash).cloned()
    }

    pub(crate) fn learn_key(&self, version: i64, credential: &Credential) {
        self.lock().at(version).by_key.insert(credential.app_key.clone(), credential.clone());
    }

    pub(crate) fn learn_token(&self, version: i64, credential: &Credential) {
        self.lock().at(version).by_token.insert(credential.token_hash, credential.clone());
    }

    pub(crate) fn learn(&self, version: i64, hash: &Hash, row: &TokenRow) {
        self.lock().at(version).tokens.insert(*hash, row.clone());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Access {
    pub(crate) fn credential_by_key(&self, app_key: &str) -> Result<Option<Credential>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.credential_by_key(app_key)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.credentials.by_key(version, app_key) {
            return Ok(Some(known));
        }
        let found = self.asked(self.accounts.credential_by_key(app_key))?;
        if let Some(found) = &found {
            self.credentials.learn_key(version, found);
        }
        Ok(found)
    }

    pub(crate) fn credential_by_token(&self, hash: &Hash) -> Result<Option<Credential>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.credential_by_token(hash)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.credentials.by_token(version, hash) {
            return Ok(Some(known));
        }
        // A token of OAuth that is known is none of these: then nothing is asked while the database is away.
        if self.credentials.token(version, hash).is_some() {
            return Ok(None);
        }
        let found = self.asked(self.accounts.credential_by_token(hash))?;
        if let Some(found) = &found {
            self.credentials.learn_token(version, found);
        }
        Ok(found)
    }

    /// A credential by a token that was replaced a moment ago. A token of OAuth that is known is none.
    pub(crate) fn credential_by_replaced(
        &self,
        hash: &Hash,
        now: market::Timestamp,
    ) -> Result<Option<Credential>, AccessError> {
        if self.is_shared() && self.credentials.token(self.current_version()?, hash).is_some() {
            return Ok(None);
        }
        self.asked(self.accounts.credential_by_replaced(hash, now))
    }

    /// A token of OAuth.
    pub(crate) fn oauth_token(&self, hash: &Hash) -> Result<Option<TokenRow>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.token(hash)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.credentials.token(version, hash) {
            return Ok(Some(known));
        }
        let found = self.asked(self.accounts.token(hash))?;
        if let Some(found) = &found {
            self.credentials.learn(version, hash, found);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use market::Timestamp;
    use store::AccountId;

    use super::*;

    #[test]
    fn what_was_learnt_at_one_version_says_nothing_at_another() {
        let cache = CredentialCache::default();
        let credential = Credential {
            app_key: "key".to_owned(),
            account: AccountId(1),
            app_secret: vec![1],
            token_hash: [7; 32],
            token_expires_at: Timestamp(1),
            created_at: Timestamp(0),
        };
        cache.learn_key(3, &credential);
        cache.learn_token(3, &credential);
        assert!(cache.by_key(3, "key").is_some() && cache.by_token(3, &[7; 32]).is_some());
        assert!(cache.by_key(3, "other").is_none() && cache.token(3, &[7; 32]).is_none());
        assert!(cache.by_key(4, "key").is_none());
        assert!(cache.by_key(3, "key").is_none(), "it does not come back");
    }
}
