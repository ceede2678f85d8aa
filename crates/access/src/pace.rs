use std::fmt;

use crate::{RateLimit, RateLimiter};

/// A rate limit by key, enforced across all nodes.
#[derive(Debug)]
pub struct Pace<K> {
    pub(crate) kind: &'static str,
    pub(crate) limit: RateLimit,
    pub(crate) here: RateLimiter<K>,
}

impl<K: Eq + std::hash::Hash + fmt::Display> Pace<K> {
    /// Creates a limit for accounts or another bounded set of keys. `kind` names the limit in the
    /// shared database.
    pub fn of_accounts(kind: &'static str, limit: RateLimit) -> Pace<K> {
        Pace { kind, limit, here: RateLimiter::of_accounts() }
    }

    /// Creates a limit for addresses or other keys that a client can choose.
    pub fn of_addresses(kind: &'static str, limit: RateLimit) -> Pace<K> {
        Pace { kind, limit, here: RateLimiter::of_addresses() }
    }
}
