use std::fmt;

use crate::{RateLimit, RateLimiter};

/// A rate limit by key, over all nodes.
#[derive(Debug)]
pub struct Pace<K> {
    pub(crate) kind: &'static str,
    pub(crate) limit: RateLimit,
    pub(crate) here: RateLimiter<K>,
}

impl<K: Eq + std::hash::Hash + fmt::Display> Pace<K> {
    /// For accounts and other bounded sets of keys. `kind` names the limit in the shared database.
    pub fn of_accounts(kind: &'static str, limit: RateLimit) -> Pace<K> {
        Pace { kind, limit, here: RateLimiter::of_accounts() }
    }

    /// For addresses and other keys that a client can choose.
    pub fn of_addresses(kind: &'static str, limit: RateLimit) -> Pace<K> {
        Pace { kind, limit, here: RateLimiter::of_addresses() }
    }
}
