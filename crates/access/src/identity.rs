//! Who a caller is: keys and credentials, and the cached accounts.

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

/// Cached accounts. When full, the cache is cleared.
const CACHE_MAX: usize = 4_096;
/// No version of a database: those are counted from 0 on.
const UNSEEN: i64 = i64::MIN;

#[derive(Debug)]
pub(crate) struct Identity {
    /// Identifies this process in the links that only it accepts.
    pub(crate) instance: String,
    pub(crate) keys: Keys,
    pub(crate) credentials: CredentialCache,
    pub(crate) replays: Replays,
    pub(crate) otps: Otps,
    pub(crate) pkce: PkceRule,
    pub(crate) guards: SignInGuards,
    cache: Mutex<AccountCache>,
    /// The version of the cache, to be compared without its lock; [`UNSEEN`] before the first look.
    seen: AtomicI64,
}

/// Accounts as read at a version of the database. Earlier versions are used only while the database
/// is unreachable.
#[derive(Debug, Default)]
struct AccountCache {
    version: i64,
    accounts: HashMap<AccountId, (i64, Arc<Account>)>,
    /// Families of tokens, and whether they have not been ended.
    families: HashMap<Family, (i64, AccountId, bool)>,
    filled: bool,
}

impl AccountCache {
    /// Makes room: evicts accounts of earlier versions first, and all of them if that is not
    /// enough.
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

    /// The version of the database at the last check, if there was one.
    pub(crate) fn seen(&self) -> Option<i64> {
        Some(self.seen.load(Ordering::Acquire)).filter(|version| *version != UNSEEN)
    }

    /// Notes a version of the database, unless a later one is known. Without one, the last known
    /// version is current. Values cached at another version are not used any more.
    pub(crate) fn note_version(&self, found: Option<i64>) -> Result<i64, AccessError> {
        let mut cache = self.lock_cache();
        match (found, cache.seen()) {
            (None, None) => return Err(AccessError::Lost),
            // Another thread has queried later, and was answered first.
            (Some(version), Some(seen)) if version <= seen => {}
            (None, Some(_)) => {}
            (Some(version), _) => self.set_version(&mut cache, version),
        }
        Ok(cache.version)
    }

    fn set_version(&self, cache: &mut AccountCache, version: i64) {
        (cache.version, cache.filled) = (version, true);
        // Stored while the cache is locked, so that it never goes back either.
        self.seen.store(version, Ordering::Release);
    }

    /// Drops cached accounts after a withdrawal at a version, so that withdrawn rights are not
    /// restored while the database is unreachable; all of them if none are given.
    pub(crate) fn forget(&self, accounts: Option<&HashSet<AccountId>>, version: i64) {
        let stays = |account: &AccountId| accounts.is_some_and(|accounts| !accounts.contains(account));
        let mut cache = self.lock_cache();
        if cache.seen().is_none_or(|seen| seen < version) {
            // A thread that read an account before this must not cache it under this version.
            self.set_version(&mut cache, version);
        }
        cache.accounts.retain(|account, _| stays(account));
        cache.families.retain(|_, (_, account, _)| stays(account));
        drop(cache);
        self.credentials.forget(accounts, version);
    }

    /// A cached account.
    pub(crate) fn account(&self, id: AccountId, learnt: Learnt) -> Option<Arc<Account>> {
        let cache = self.lock_cache();
        let known = cache.accounts.get(&id).filter(|(at, _)| learnt.takes(*at));
        known.map(|(_, account)| Arc::clone(account))
    }

    /// Caches an account that is at least as new as the version, under no other.
    pub(crate) fn learn_account(&self, id: AccountId, account: &Arc<Account>, version: i64) {
        let mut cache = self.lock_cache();
        if cache.seen() == Some(version) {
            cache.make_room();
            cache.accounts.insert(id, (version, Arc::clone(account)));
        }
    }

    /// Whether a cached family has not been ended.
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
