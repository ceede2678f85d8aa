use std::fmt;

use crate::{RateLimit, RateLimiter};

/// How often a key may ask, over all nodes.
#[derive(Debug)]
pub struct Pace<K> {
    pub(crate) kind: &'static str,
    pub(crate) limit: RateLimit,
    pub(crate) here: RateLimiter<K>,
}

impl<K: Eq + std::hash::Hash + fmt::Display> Pace<K> {
    /// For accounts, and other keys of which there cannot be arbitrarily many. `kind` names it among all nodes.
    pub fn of_accounts(kind: &'static str, limit: RateLimit) -> Pace<K> {
        Pace { kind, limit, here: RateLimiter::of_accounts() }
    }

    /// For addresses, and other keys that a client can choose.
    pub fn of_addresses(kind: &'static str, limit: RateLimit) -> Pace<K> {
        Pace { kind, limit, here: RateLimiter::of_addresses() }
    }
}
