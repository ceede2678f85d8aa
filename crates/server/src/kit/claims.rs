//! Guesses the account of a request before it is authenticated, which selects its queue and how
//! much of its body is read. A claim is a hash of a secret that was valid a short time ago, so no
//! client can forge one for another account. It does not authenticate: every request still needs
//! valid credentials.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::workers::Share;

/// At this size expired claims are evicted, or all of them if that is not enough. Only valid
/// credentials add one.
const KEPT_MAX: usize = 16_384;
/// How long a claim is used before it is renewed: the share of an account can change.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// How long a claim is valid.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// A keyed hash of the secret in a request's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim(u64);

/// The claims of recent requests, with the share of their account.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    keys: RandomState,
    known: Mutex<HashMap<Claim, (Share, Duration)>>,
}

impl Claims {
    /// The claim of a secret.
    pub(super) fn of(&self, secret: &str) -> Claim {
        Claim(self.keys.hash_one(secret))
    }

    /// The share of the account that last used this secret.
    pub(crate) fn find(&self, claim: Claim, uptime: Duration) -> Option<Share> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&claim).filter(|(_, since)| uptime < *since + KEPT_FOR).map(|(share, _)| *share)
    }

    /// Whether a claim was renewed within the last seconds.
    pub(super) fn is_fresh(&self, claim: Claim, uptime: Duration) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&claim).is_some_and(|(_, since)| uptime < *since + FRESH_FOR)
    }

    /// Stores the claim of valid credentials.
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
