//! Credentials by what a caller shows of them: from memory where the database is a server and they are known, otherwise as the database has them.

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
        // A token of OAuth that is known is none of these: then nothing is asked while the database is away.
        if self.credentials.token(self.health.learnt(version), hash).is_some() {
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
        if self.is_shared() {
            let learnt = self.health.learnt(self.current_version()?);
            if self.credentials.token(learnt, hash).is_some() {
                return Ok(None);
            }
        }
        self.asked(self.accounts.credential_by_replaced(hash, now))
    }

    /// A token of OAuth.
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
