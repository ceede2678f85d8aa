//! Predicts the account of a request before the request is authenticated, to select its queue and
//! the limit on its body. A claim is a keyed hash of a secret that was valid recently, so a client
//! cannot forge a claim for another account. A claim does not authenticate: every request still
//! needs valid credentials.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::workers::Share;

/// Maximum number of claims. At this size expired claims are evicted, or all claims if none has
/// expired. Only valid credentials add a claim.
const KEPT_MAX: usize = 16_384;
/// Age at which a claim is renewed, because the account's share can change.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// Age at which a claim expires.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// Keyed hash of the secret in a request's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim(u64);

/// Claims of recent requests, each with its account's share and the uptime at which it was stored.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    keys: RandomState,
    known: Mutex<HashMap<Claim, (Share, Duration)>>,
}

impl Claims {
    /// Returns the claim for a secret.
    pub(super) fn of(&self, secret: &str) -> Claim {
        Claim(self.keys.hash_one(secret))
    }

    /// Returns the share of the account that last used this secret, or `None` if the claim is
    /// unknown or expired.
    pub(crate) fn find(&self, claim: Claim, uptime: Duration) -> Option<Share> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&claim).filter(|(_, since)| uptime < *since + KEPT_FOR).map(|(share, _)| *share)
    }

    /// Returns whether the claim is too recent to need renewal.
    pub(super) fn is_fresh(&self, claim: Claim, uptime: Duration) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&claim).is_some_and(|(_, since)| uptime < *since + FRESH_FOR)
    }

    /// Stores a claim for valid credentials.
    pub(super) fn learn(&self, claim: Claim, share: Share, uptime: Duration) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT_MAX && !known.contains_key(&claim) {
            known.retain(|_, (_, since)| uptime < *since + KEPT_FOR);
            if known.len() >= KEPT_MAX {
                known.clear();
            }
        }
        known.insert(claim, (share, uptime));
    }
}
