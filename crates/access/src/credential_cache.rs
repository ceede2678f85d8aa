//! Cache of credentials by database version, used only if the database is a server. Known callers
//! are authenticated without a query, even while the database is unreachable.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash as StdHash;
use std::sync::{Mutex, PoisonError};

use store::{AccountId, Credential, Hash, TokenRow};

use crate::health::Learnt;

/// Maximum number of cached credentials of each kind: by app key, by token and OAuth tokens.
const KEPT_MAX: usize = 16_384;

#[derive(Debug, Default)]
pub(crate) struct CredentialCache {
    inner: Mutex<Known>,
}

/// Cached credentials, each with the database version at which it was read.
#[derive(Debug, Default)]
struct Known {
    /// Credentials read before this version are not cached, because they may have been withdrawn
    /// since.
    floor: i64,
    by_key: HashMap<String, (i64, Credential)>,
    by_token: HashMap<Hash, (i64, Credential)>,
    tokens: HashMap<Hash, (i64, TokenRow)>,
}

/// Returns the cached value of a key, or `None` if it is not cached or `learnt` does not accept its
/// version.
fn find<K: Eq + StdHash + Borrow<Q>, Q: Eq + StdHash + ?Sized, V: Clone>(
    known: &HashMap<K, (i64, V)>,
    key: &Q,
    learnt: Learnt,
) -> Option<V> {
    known.get(key).filter(|(at, _)| learnt.takes(*at)).map(|(_, value)| value.clone())
}

/// Caches a value. If the cache is full, evicts the values of other versions and, if that frees no
/// space, all values.
fn remember_row<K: Eq + StdHash, V>(known: &mut HashMap<K, (i64, V)>, version: i64, key: K, value: V) {
    if known.len() >= KEPT_MAX && !known.contains_key(&key) {
        known.retain(|_, (at, _)| *at == version);
        if known.len() >= KEPT_MAX {
            known.clear();
        }
    }
    known.insert(key, (version, value));
}

impl CredentialCache {
    pub(crate) fn by_key(&self, learnt: Learnt, app_key: &str) -> Option<Credential> {
        find(&self.lock().by_key, app_key, learnt)
    }

    pub(crate) fn by_token(&self, learnt: Learnt, hash: &Hash) -> Option<Credential> {
        find(&self.lock().by_token, hash, learnt)
    }

    pub(crate) fn token(&self, learnt: Learnt, hash: &Hash) -> Option<TokenRow> {
        find(&self.lock().tokens, hash, learnt)
    }

    pub(crate) fn learn_key(&self, version: i64, credential: &Credential) {
        let mut known = self.lock();
        if version >= known.floor {
            remember_row(&mut known.by_key, version, credential.app_key.clone(), credential.clone());
        }
    }

    pub(crate) fn learn_token(&self, version: i64, credential: &Credential) {
        let mut known = self.lock();
        if version >= known.floor {
            remember_row(&mut known.by_token, version, credential.token_hash, credential.clone());
        }
    }

    pub(crate) fn learn(&self, version: i64, hash: &Hash, row: &TokenRow) {
        let mut known = self.lock();
        if version >= known.floor {
            remember_row(&mut known.tokens, version, *hash, row.clone());
        }
    }

    /// Drops the cached credentials of `accounts`, or of all accounts if `None`, after a withdrawal
    /// at `version`.
    pub(crate) fn forget(&self, accounts: Option<&HashSet<AccountId>>, version: i64) {
        let mut known = self.lock();
        known.floor = known.floor.max(version);
        let stays = |account: &AccountId| accounts.is_some_and(|accounts| !accounts.contains(account));
        known.by_key.retain(|_, (_, credential)| stays(&credential.account));
        known.by_token.retain(|_, (_, credential)| stays(&credential.account));
        known.tokens.retain(|_, (_, token)| stays(&token.account));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use market::Timestamp;

    use super::*;

    #[test]
    fn credentials_cached_at_another_version_are_not_used() {
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
        let (then, later) = (Learnt::At(3), Learnt::At(4));
        assert!(cache.by_key(then, "key").is_some() && cache.by_token(then, &[7; 32]).is_some());
        assert!(cache.by_key(then, "other").is_none() && cache.token(then, &[7; 32]).is_none());
        assert!(cache.by_key(later, "key").is_none());
        assert!(cache.by_key(Learnt::Ever, "key").is_some(), "unless nothing newer can be had");
        cache.forget(Some(&HashSet::from([AccountId(2)])), 4);
        assert!(cache.by_key(Learnt::Ever, "key").is_some(), "nothing was taken from this one");
        cache.forget(Some(&HashSet::from([AccountId(1)])), 4);
        assert!(
            cache.by_key(Learnt::Ever, "key").is_none() && cache.by_token(Learnt::Ever, &[7; 32]).is_none()
        );
        cache.learn_key(3, &credential);
        assert!(cache.by_key(Learnt::Ever, "key").is_none(), "it was read before something was taken");
        cache.learn_key(4, &credential);
        for number in 0..KEPT_MAX {
            let app_key = number.to_string();
            cache.learn_key(4, &Credential { app_key, ..credential.clone() });
        }
        assert!(cache.lock().by_key.len() <= KEPT_MAX);
        assert!(cache.by_key(Learnt::Ever, "key").is_none(), "what is old makes room");
    }
}
