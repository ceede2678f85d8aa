//! Which account a request is probably of, before its proof is checked: that decides with whom it takes turns, and how much of it
//! is read. A claim is the secret of a proof that was good a moment ago, so that nobody can make one in another's
//! name; that it was good then is no proof, and each request is still asked for one.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::workers::Share;

/// Claims kept before those that have expired, and then all, are forgotten: only good proofs become any.
const KEPT_MAX: usize = 16_384;
/// How long a claim is not looked at again: what an account may have can be changed.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// How long it counts for anything.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// The secret of a request's proof, as a number with which it cannot be found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim(u64);

/// Claims and whose they are.
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

    /// Whose a claim was when it was last good.
    pub(crate) fn find(&self, claim: Claim, uptime: Duration) -> Option<Share> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&claim).filter(|(_, since)| uptime < *since + KEPT_FOR).map(|(share, _)| *share)
    }

    /// Whether a claim was good a moment ago.
    pub(super) fn is_fresh(&self, claim: Claim, uptime: Duration) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&claim).is_some_and(|(_, since)| uptime < *since + FRESH_FOR)
    }

    /// Remembers a claim that was good.
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
