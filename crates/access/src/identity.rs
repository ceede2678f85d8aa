//! In-memory state for authentication: keys, credentials and the account cache.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::AccountId;

use crate::credential_cache::CredentialCache;
use crate::health::Learnt;
use crate::keys::Keys;
use crate::oauth::Family;
use crate::otp::Otps;
use crate::replay::Replays;
use crate::sign_in_guards::SignInGuards;
use crate::{AccessError, Account, PkceRule};

/// Maximum number of cached accounts, and of cached OAuth token families.
const CACHE_MAX: usize = 4_096;
/// Sentinel for "no version seen yet". Database versions start at 0.
const UNSEEN: i64 = i64::MIN;

#[derive(Debug)]
pub(crate) struct Identity {
    /// Identifies this process in links that no other process accepts.
    pub(crate) instance: String,
    pub(crate) keys: Keys,
    pub(crate) credentials: CredentialCache,
    pub(crate) replays: Replays,
    pub(crate) otps: Otps,
    pub(crate) pkce: PkceRule,
    pub(crate) guards: SignInGuards,
    cache: Mutex<AccountCache>,
    /// Database version of the cache, readable without the lock; [`UNSEEN`] before the first check.
    seen: AtomicI64,
}

/// Cached accounts, each with the database version at which it was read. Entries of earlier
/// versions are used only while the database is unreachable.
#[derive(Debug, Default)]
struct AccountCache {
    version: i64,
    accounts: HashMap<AccountId, (i64, Arc<Account>)>,
    /// OAuth token families, each with its database version, its account and whether it is still
    /// valid.
    families: HashMap<Family, (i64, AccountId, bool)>,
    filled: bool,
}

impl AccountCache {
    /// Evicts entries if the cache is full: entries of earlier versions first and, if that is not
    /// enough, all accounts.
    fn make_room(&mut self) {
        let version = self.version;
        if self.accounts.len() >= CACHE_MAX {
            self.accounts.retain(|_, (at, _)| *at == version);
            if self.accounts.len() >= CACHE_MAX {
                self.accounts.clear();
            }
        }
        if self.families.len() >= CACHE_MAX {
            self.families.retain(|_, (at, ..)| *at == version);
        }
    }

    fn seen(&self) -> Option<i64> {
        self.filled.then_some(self.version)
    }
}

impl Identity {
    pub(crate) fn of(instance: String, keys: Keys) -> Identity {
        Identity {
            instance,
            keys,
            credentials: CredentialCache::default(),
            replays: Replays::default(),
            otps: Otps::default(),
            pkce: PkceRule::default(),
            guards: SignInGuards::default(),
            cache: Mutex::default(),
            seen: AtomicI64::new(UNSEEN),
        }
    }

    /// Returns the database version at the last check, or `None` before the first check.
    pub(crate) fn seen(&self) -> Option<i64> {
        Some(self.seen.load(Ordering::Acquire)).filter(|version| *version != UNSEEN)
    }

    /// Stores a database version unless a newer version is known, and returns the version in
    /// effect. Values cached at other versions become stale. If `found` is `None`, the last known
    /// version stays in effect. Fails with [`AccessError::Lost`] if no version is known.
    pub(crate) fn note_version(&self, found: Option<i64>) -> Result<i64, AccessError> {
        let mut cache = self.lock_cache();
        match (found, cache.seen()) {
            (None, None) => return Err(AccessError::Lost),
            // Another thread sent its query later but received its result first.
            (Some(version), Some(seen)) if version <= seen => {}
            (None, Some(_)) => {}
            (Some(version), _) => self.set_version(&mut cache, version),
        }
        Ok(cache.version)
    }

    fn set_version(&self, cache: &mut AccountCache, version: i64) {
        (cache.version, cache.filled) = (version, true);
        // The version is stored under the cache lock, so that it never decreases.
        self.seen.store(version, Ordering::Release);
    }

    /// Drops the cached state of `accounts`, or of all accounts if `None`, after a withdrawal at
    /// `version`. Otherwise withdrawn rights would apply again while the database is unreachable.
    pub(crate) fn forget(&self, accounts: Option<&HashSet<AccountId>>, version: i64) {
        let stays = |account: &AccountId| accounts.is_some_and(|accounts| !accounts.contains(account));
        let mut cache = self.lock_cache();
        if cache.seen().is_none_or(|seen| seen < version) {
            // A thread that read an account before the withdrawal must not cache the account under
            // this version.
            self.set_version(&mut cache, version);
        }
        cache.accounts.retain(|account, _| stays(account));
        cache.families.retain(|_, (_, account, _)| stays(account));
        drop(cache);
        self.credentials.forget(accounts, version);
    }

    /// Returns a cached account, or `None` if it is not cached or `learnt` does not accept its
    /// version.
    pub(crate) fn account(&self, id: AccountId, learnt: Learnt) -> Option<Arc<Account>> {
        let cache = self.lock_cache();
        let known = cache.accounts.get(&id).filter(|(at, _)| learnt.takes(*at));
        known.map(|(_, account)| Arc::clone(account))
    }

    /// Caches an account read at `version`, unless the version of the cache has changed since.
    pub(crate) fn learn_account(&self, id: AccountId, account: &Arc<Account>, version: i64) {
        let mut cache = self.lock_cache();
        if cache.seen() == Some(version) {
            cache.make_room();
            cache.accounts.insert(id, (version, Arc::clone(account)));
        }
    }

    /// Returns whether a cached OAuth token family is still valid, or `None` if it is not cached or
    /// `learnt` does not accept its version.
    pub(crate) fn family(&self, family: Family, learnt: Learnt) -> Option<bool> {
        let cache = self.lock_cache();
        cache.families.get(&family).filter(|(at, ..)| learnt.takes(*at)).map(|(.., is_valid)| *is_valid)
    }

    pub(crate) fn learn_family(&self, family: Family, of: AccountId, is_valid: bool, version: i64) {
        let mut cache = self.lock_cache();
        cache.make_room();
        if cache.version == version && cache.families.len() < CACHE_MAX {
            cache.families.insert(family, (version, of, is_valid));
        }
    }

    fn lock_cache(&self) -> MutexGuard<'_, AccountCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
