use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use market::{Calendar, Timestamp};
use store::{
    AccountId, Accounts, AuditFilter, AuditNote, AuditRow, Credential, NewAccountRow, NodeId, Revocation,
    VersionReader,
};
use zeroize::Zeroizing;

use crate::account::check_name;
use crate::cluster::Cluster;
use crate::health::{Learnt, briefly};
use crate::identity::Identity;
use crate::keys::Keys;
use crate::limits::Limits;
use crate::oauth::Family;
use crate::secret::{hex, random};
use crate::standing::{Levels, Standings};
use crate::token::{Claims, hash_token};
use crate::{
    AccessError, Account, Actor, Caller, ConnectionId, LevelsFrom, PkceRule, Present, Region, Right, Rights,
    Role, Secret, Terms, TermsChange, Validity, rights,
};

/// Default lifetime of an API-key token: ten years. The token is stored in a configuration file
/// next to its secret, so a short lifetime would add work for the owner and little security.
/// Revoking the account invalidates the token immediately.
pub const TOKEN_LIFE_DEFAULT_S: i64 = 10 * 365 * 86_400;
/// The accounts database and all access decisions: authentication, rate limits, levels and cluster
/// state. Each process has one instance, shared between threads.
#[derive(Debug)]
pub struct Access {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) identity: Identity,
    pub(crate) limits: Limits,
    pub(crate) levels: Levels,
    pub(crate) cluster: Cluster,
}

/// How current the account data must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Queries the database version first, so that changes made by other processes are visible.
    Fresh,
    /// Uses the database version of the last check. For connections that serve thousands of
    /// requests per second and have checked the version recently.
    Recent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccount {
    pub name: String,
    pub region: Region,
    pub role: Role,
    pub rights: Rights,
    pub terms: Terms,
    /// Expiry of the access token; if `None`, the token expires [`TOKEN_LIFE_DEFAULT_S`] seconds
    /// after creation.
    pub token_expires_at: Option<Timestamp>,
}

impl NewAccount {
    /// Returns the data of a new account with the default region, role and rights.
    pub fn named(name: impl Into<String>, terms: Terms) -> NewAccount {
        let (region, role, rights) = (Region::default(), Role::default(), Rights::default());
        NewAccount { name: name.into(), region, role, rights, terms, token_expires_at: None }
    }

    /// Validates the name and the terms. The error states what is invalid.
    pub fn check(&self) -> Result<(), AccessError> {
        check_name(&self.name)?;
        self.terms.row().map(drop)
    }
}

/// Credentials of a new account. They are shown only once, because the database stores the token as
/// a hash and no command returns the app secret.
#[derive(Debug)]
pub struct Created {
    pub account_id: AccountId,
    pub app_key: String,
    pub app_secret: Secret,
    pub access_token: Secret,
    pub token_expires_at: Timestamp,
}

/// A new account that is not stored yet.
pub(crate) struct DraftAccount {
    pub(crate) row: NewAccountRow,
    pub(crate) credential: Credential,
    pub(crate) created: Created,
}

impl Access {
    pub(crate) fn of(accounts: Accounts, keys: Keys) -> Result<Access, AccessError> {
        let instance = random::<16>()?;
        if let Some(shared) = accounts.shared() {
            shared.join(NodeId(instance));
        }
        let shared = accounts.shared().cloned();
        Ok(Access {
            accounts: Arc::new(accounts),
            identity: Identity::of(hex(&instance), keys),
            limits: Limits::of(shared.clone()),
            levels: Levels::built_in()?,
            cluster: Cluster::of(shared),
        })
    }

    /// Sets the offline window: how long this node serves from memory while the database is
    /// unreachable.
    #[must_use]
    pub fn with_grace(mut self, offline_window: Duration) -> Access {
        self.cluster.health.set_grace(offline_window);
        self
    }

    /// Returns the accounts database, which also holds the paper trading journals and the topics.
    pub fn database(&self) -> Arc<Accounts> {
        self.accounts.clone()
    }

    /// Replaces the built-in Hong Kong calendar, whose trading days determine when levels change.
    #[must_use]
    pub fn with_calendar(mut self, calendar: Calendar) -> Access {
        self.levels.standings = Standings::new(calendar);
        self
    }

    /// Sets which clients must use PKCE with the authorization code grant.
    #[must_use]
    pub fn with_pkce(mut self, rule: PkceRule) -> Access {
        self.identity.pkce = rule;
        self
    }

    /// Sets whether levels are based on reported numbers or on the paper accounts.
    #[must_use]
    pub fn with_levels_from(mut self, from: LevelsFrom) -> Access {
        self.levels.from = from;
        self
    }

    pub fn create(&self, new: &NewAccount, by: &Actor, now: Timestamp) -> Result<Created, AccessError> {
        check_name(&new.name)?;
        let DraftAccount { row, credential, created } = self.draft(new, now)?;
        let reason = format!(
            "{:?}, region {}, role {}, rights {}, {}",
            new.name,
            new.region,
            new.role.as_str(),
            new.rights,
            new.terms
        );
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        self.accounts.add(created.account_id, &row, &credential, &note)?;
        Ok(created)
    }

    /// Creates the id and the credentials of a new account. Stores nothing.
    pub(crate) fn draft(&self, new: &NewAccount, now: Timestamp) -> Result<DraftAccount, AccessError> {
        let terms = new.terms.row()?;
        let expires_at =
            new.token_expires_at.unwrap_or(Timestamp(now.0.saturating_add(TOKEN_LIFE_DEFAULT_S)));
        let (credential, created) =
            self.draft_key(self.accounts.take_id()?, new.region, (now, expires_at))?;
        let row = NewAccountRow {
            name: new.name.clone(),
            region: new.region.as_str().to_owned(),
            role: new.role.as_str().to_owned(),
            created_at: now,
            terms,
            rights: new.rights.rows(),
        };
        Ok(DraftAccount { row, credential, created })
    }

    /// Creates an API key with its access token, which is valid between two instants. Stores
    /// nothing.
    pub(crate) fn draft_key(
        &self,
        account_id: AccountId,
        region: Region,
        (issued_at, token_expires_at): (Timestamp, Timestamp),
    ) -> Result<(Credential, Created), AccessError> {
        let app_key = hex(&random::<16>()?);
        let app_secret = Secret::new(hex(Zeroizing::new(random::<32>()?).as_slice()));
        let claims = Claims {
            region,
            account: account_id,
            app_key: Some(&app_key),
            issued_at,
            expires_at: token_expires_at,
        };
        let access_token = claims.access_token()?;
        let credential = Credential {
            app_secret: self.identity.keys.seal(&app_secret, account_id, &app_key)?,
            app_key: app_key.clone(),
            account: account_id,
            token_hash: hash_token(access_token.expose()),
            token_expires_at,
            created_at: issued_at,
        };
        Ok((credential, Created { account_id, app_key, app_secret, access_token, token_expires_at }))
    }

    /// Returns all accounts, including revoked accounts, oldest first.
    pub fn list(&self) -> Result<Vec<Account>, AccessError> {
        self.accounts.accounts()?.into_iter().map(Account::of).collect()
    }

    pub fn account(&self, id: AccountId) -> Result<Option<Arc<Account>>, AccessError> {
        Ok(self.look(id, Freshness::Fresh)?.map(|(_, account)| account))
    }

    pub fn account_named(&self, name: &str) -> Result<Option<Account>, AccessError> {
        self.accounts.account_named(name)?.map(Account::of).transpose()
    }

    /// Returns an account's app keys, each with the expiry of its access token.
    pub fn app_keys(&self, id: AccountId) -> Result<Vec<(String, Timestamp)>, AccessError> {
        let credentials = self.accounts.credentials_of(id)?;
        Ok(credentials.into_iter().map(|one| (one.app_key, one.token_expires_at)).collect())
    }

    /// Checks that the key file decrypts every stored app secret. Returns the number of secrets, or
    /// the error of the first secret that cannot be decrypted.
    pub fn check_key(&self) -> Result<u64, AccessError> {
        let mut opened = 0;
        for account in self.list()? {
            for credential in self.accounts.credentials_of(account.id)? {
                self.identity.keys.unseal(&credential.app_secret, credential.account, &credential.app_key)?;
                opened += 1;
            }
        }
        Ok(opened)
    }

    /// Revokes an account, its token and its sessions in every process that serves this store. Open
    /// connections are refused at their next request. Returns `false` if the account does not exist
    /// or was already revoked.
    pub fn revoke(
        &self,
        id: AccountId,
        by: &Actor,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        let actor = by.to_string();
        Ok(self.accounts.revoke(id, &AuditNote { at: now, actor: &actor, reason })?)
    }

    /// Like [`Access::revoke`], but refuses to revoke the last operator, because only an operator
    /// can add another operator through the service.
    pub fn revoke_unless_last_operator(
        &self,
        id: AccountId,
        by: &Actor,
        reason: &str,
        now: Timestamp,
    ) -> Result<Revocation, AccessError> {
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason };
        Ok(self.accounts.revoke_unless_last(id, Role::Operator.as_str(), &note)?)
    }

    /// Changes some of an account's terms, effective from the next request in every process.
    /// Returns whether the account exists.
    pub fn change_terms(
        &self,
        id: AccountId,
        change: impl Into<TermsChange>,
        by: &Actor,
        present: Present,
    ) -> Result<bool, AccessError> {
        self.change_terms_if(id, None, change, by, present)
    }

    /// Like [`Access::change_terms`], but only if the current terms, as text, equal `was`;
    /// otherwise fails with [`AccessError::TermsChanged`] and changes nothing. `None` skips the
    /// comparison.
    pub fn change_terms_if(
        &self,
        id: AccountId,
        was: Option<&str>,
        change: impl Into<TermsChange>,
        by: &Actor,
        present: Present,
    ) -> Result<bool, AccessError> {
        let (change, actor) = (change.into(), by.to_string());
        let changed = self.accounts.change_terms(id, (present.machine, &actor), |row| {
            let terms = Terms::of(id, row)?;
            if was.is_some_and(|was| was != terms.to_string()) {
                return Err(AccessError::TermsChanged);
            }
            let terms = change.applied(&terms);
            Ok::<_, AccessError>((terms.row()?, terms.to_string()))
        })?;
        self.settle(id, by, present)?;
        Ok(changed)
    }

    /// Grants a right or changes its validity, effective from the next request in every process.
    /// Returns whether the account exists.
    pub fn grant(
        &self,
        id: AccountId,
        right: Right,
        validity: Validity,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        validity.check()?;
        let (actor, reason) = (by.to_string(), format!("{right} {validity}"));
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        Ok(self.accounts.grant(id, &rights::row(right, validity), &note)?)
    }

    /// Withdraws a right, effective from the next request. Returns whether the account had the
    /// right.
    pub fn withdraw(
        &self,
        id: AccountId,
        right: Right,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason: right.as_str() };
        Ok(self.accounts.withdraw(id, right.as_str(), &note)?)
    }

    /// Writes an audit row for a connection that the caller is about to close. Does not close the
    /// connection.
    pub fn note_closed(
        &self,
        connection: ConnectionId,
        of: AccountId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), AccessError> {
        let (actor, reason) = (by.to_string(), format!("connection {connection}"));
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        Ok(self.accounts.note(Some(of), "connection.closed", &note)?)
    }

    /// Returns the audit rows that match the filter, newest first.
    pub fn audit(&self, filter: &AuditFilter<'_>) -> Result<Vec<AuditRow>, AccessError> {
        Ok(self.accounts.audit(filter)?)
    }

    /// Deletes audit rows older than `before` and records the deletion in the audit. Returns the
    /// number of rows deleted.
    pub fn prune_audit(&self, before: Timestamp, by: &Actor, now: Timestamp) -> Result<u64, AccessError> {
        Ok(self.accounts.prune_audit(before, (now, &by.to_string()))?)
    }

    /// Like [`Access::prune_audit`], but deletes only one batch of the oldest rows, for background
    /// pruning. Returns the number of rows deleted, which is 0 when no row is older than `before`.
    pub fn prune_oldest_audit(
        &self,
        before: Timestamp,
        by: &Actor,
        now: Timestamp,
    ) -> Result<u64, AccessError> {
        Ok(self.accounts.prune_oldest_audit(before, (now, &by.to_string()))?)
    }

    /// Deletes one batch of expired tokens, codes, devices and browser sessions. Returns the number
    /// of rows deleted, which is 0 when no expired row is left.
    pub fn remove_expired(&self, now: Timestamp) -> Result<u64, AccessError> {
        Ok(self.accounts.remove_expired(now)?)
    }

    /// Subscribes to account changes if the database is a server. Only server processes call this.
    pub fn follow(&self) -> Result<(), AccessError> {
        Ok(self.accounts.follow()?)
    }

    /// Calls `listener` immediately after changes that may have ended sign-ins: those of this
    /// process, and if the database is a server those of other nodes. It must not block.
    pub fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.accounts.on_change(listener);
    }

    /// Opens a database connection for polling the database version.
    pub fn version_reader(&self) -> Result<VersionReader, AccessError> {
        Ok(self.accounts.version_reader()?)
    }

    /// Queries the database version, which every change of accounts and rights increments. Later
    /// [`Freshness::Recent`] requests include all changes up to this check.
    pub fn version_check(&self) -> Result<i64, AccessError> {
        self.current_version()
    }

    /// Checks that accounts can be read from disk, bypassing the cache. After one second the query
    /// times out and the database is marked as unreachable, so that a health check returns quickly.
    pub fn probe(&self) -> Result<(), AccessError> {
        self.cluster.check_query(briefly(|| self.accounts.probe()))
    }

    /// Returns the current database version, or the last known version while the database is
    /// unreachable. Values cached at any other version become stale.
    pub(crate) fn current_version(&self) -> Result<i64, AccessError> {
        // No lock is held during the query, because the query may take seconds and other threads
        // need the cache.
        let found = match self.cluster.goes_on_alone()? {
            false => match self.cluster.check_query(briefly(|| self.accounts.version())) {
                // This query found the database unreachable.
                Err(_) if self.cluster.goes_on_alone()? => None,
                // The connection pool is exhausted. Requests that can be served from the cache must
                // not fail.
                Err(error) if error.is_unanswered() && self.seen().is_some() => None,
                version => Some(version?),
            },
            true => None,
        };
        self.identity.note_version(found)
    }

    /// Drops the cached state of `accounts`, or of all accounts if `None`, after a withdrawal at
    /// `version`.
    pub(crate) fn forget_accounts(&self, accounts: Option<&HashSet<AccountId>>, version: i64) {
        self.identity.forget(accounts, version);
        self.levels.standings.forget(accounts, version);
    }

    /// Returns the database version at the last check, or `None` before the first check.
    pub(crate) fn seen(&self) -> Option<i64> {
        self.identity.seen()
    }

    /// Returns an account and the database version at which the account was read, or `None` if the
    /// account does not exist. [`Freshness::Fresh`] includes changes made by other processes.
    pub(crate) fn look(
        &self,
        id: AccountId,
        look: Freshness,
    ) -> Result<Option<(i64, Arc<Account>)>, AccessError> {
        let version = match self.seen().filter(|_| look == Freshness::Recent) {
            Some(version) => version,
            None => self.current_version()?,
        };
        if let Some(account) = self.identity.account(id, self.cluster.health.learnt(version)) {
            return Ok(Some((version, account)));
        }
        let Some(row) = self.cluster.check_query(self.accounts.account(id))? else { return Ok(None) };
        let account = Arc::new(Account::of(row)?);
        self.identity.learn_account(id, &account, version);
        Ok(Some((version, account)))
    }

    /// Returns the caller's account from the cache, possibly outdated, or `None` if it is not
    /// cached. Never queries the database.
    pub fn known_account(&self, caller: &Caller) -> Option<Arc<Account>> {
        self.identity.account(caller.account(), Learnt::Ever)
    }

    /// Returns the caller's account and the database version. Returns `None` if, since the caller
    /// was authenticated, the account was revoked, its sessions were ended or the OAuth token
    /// family was revoked.
    pub(crate) fn standing(&self, caller: &Caller) -> Result<Option<(i64, Arc<Account>)>, AccessError> {
        self.standing_at(caller, Freshness::Fresh)
    }

    pub(crate) fn standing_at(
        &self,
        caller: &Caller,
        look: Freshness,
    ) -> Result<Option<(i64, Arc<Account>)>, AccessError> {
        let is_valid = |account: &Account| account.revoked_at.is_none() && account.epoch == caller.epoch();
        let Some((version, account)) =
            self.look(caller.account(), look)?.filter(|(_, account)| is_valid(account))
        else {
            return Ok(None);
        };
        match caller.family() {
            Some(family) if !self.family_is_there(family, caller.account(), version)? => Ok(None),
            _ => Ok(Some((version, account))),
        }
    }

    /// Returns whether an OAuth token family is still valid at the given database version.
    fn family_is_there(&self, family: Family, account: AccountId, version: i64) -> Result<bool, AccessError> {
        if let Some(is_valid) = self.identity.family(family, self.cluster.health.learnt(version)) {
            return Ok(is_valid);
        }
        let is_valid = self.cluster.check_query(self.accounts.family_is_there(&family.text()))?;
        self.identity.learn_family(family, account, is_valid, version);
        Ok(is_valid)
    }
}
