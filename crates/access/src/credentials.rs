//! Credential lookup: through the cache if the database is a server, otherwise directly.

use store::{Credential, Hash, TokenRow};

use crate::{Access, AccessError};

impl Access {
    pub(crate) fn credential_by_key(&self, app_key: &str) -> Result<Option<Credential>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.credential_by_key(app_key)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.identity.credentials.by_key(self.cluster.health.learnt(version), app_key) {
            return Ok(Some(known));
        }
        let found = self.cluster.asked(self.accounts.credential_by_key(app_key))?;
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
        // A known OAuth token cannot be an API-key token. Skipping the query lets OAuth callers in
        // while the database is unreachable.
        if self.identity.credentials.token(self.cluster.health.learnt(version), hash).is_some() {
            return Ok(None);
        }
        let found = self.cluster.asked(self.accounts.credential_by_token(hash))?;
        if let Some(found) = &found {
            self.identity.credentials.learn_token(version, found);
        }
        Ok(found)
    }

    /// Returns the credential of a recently replaced API-key token; `None` for a known OAuth token.
    pub(crate) fn credential_by_replaced(
        &self,
        hash: &Hash,
        now: market::Timestamp,
    ) -> Result<Option<Credential>, AccessError> {
        if self.is_shared() {
            let learnt = self.cluster.health.learnt(self.current_version()?);
            if self.identity.credentials.token(learnt, hash).is_some() {
                return Ok(None);
            }
        }
        self.cluster.asked(self.accounts.credential_by_replaced(hash, now))
    }

    pub(crate) fn oauth_token(&self, hash: &Hash) -> Result<Option<TokenRow>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.token(hash)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.identity.credentials.token(self.cluster.health.learnt(version), hash) {
            return Ok(Some(known));
        }
        let found = self.cluster.asked(self.accounts.token(hash))?;
        if let Some(found) = &found {
            self.identity.credentials.learn(version, hash, found);
        }
        Ok(found)
    }
}
