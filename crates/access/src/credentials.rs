//! Looks credentials up: in the cache where the database is a server, otherwise in the database.

use store::{Credential, Hash, TokenRow};

use crate::{Access, AccessError};

impl Access {
    pub(crate) fn credential_by_key(&self, app_key: &str) -> Result<Option<Credential>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.credential_by_key(app_key)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.credentials.by_key(self.health.learnt(version), app_key) {
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
        if let Some(known) = self.credentials.by_token(self.health.learnt(version), hash) {
            return Ok(Some(known));
        }
        // A known OAuth token is not an API-key token, so no query is needed while the database is
        // unreachable.
        if self.credentials.token(self.health.learnt(version), hash).is_some() {
            return Ok(None);
        }
        let found = self.asked(self.accounts.credential_by_token(hash))?;
        if let Some(found) = &found {
            self.credentials.learn_token(version, found);
        }
        Ok(found)
    }

    /// A credential by a token that was replaced recently. `None` for a known OAuth token.
    pub(crate) fn credential_by_replaced(
        &self,
        hash: &Hash,
        now: market::Timestamp,
    ) -> Result<Option<Credential>, AccessError> {
        if self.is_shared() {
            let learnt = self.health.learnt(self.current_version()?);
            if self.credentials.token(learnt, hash).is_some() {
                return Ok(None);
            }
        }
        self.asked(self.accounts.credential_by_replaced(hash, now))
    }

    /// An OAuth token.
    pub(crate) fn oauth_token(&self, hash: &Hash) -> Result<Option<TokenRow>, AccessError> {
        if !self.is_shared() {
            return Ok(self.accounts.token(hash)?);
        }
        let version = self.current_version()?;
        if let Some(known) = self.credentials.token(self.health.learnt(version), hash) {
            return Ok(Some(known));
        }
        let found = self.asked(self.accounts.token(hash))?;
        if let Some(found) = &found {
            self.credentials.learn(version, hash, found);
        }
        Ok(found)
    }
}
