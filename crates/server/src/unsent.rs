//! Limits unsent responses, which are memory that a client could make the server hold by not
//! reading. The bytes are counted across all transports per account, or per address before sign-in.
//! A caller at its limit gets no further responses until some are sent. HTTP request bodies in
//! memory are counted and limited in the same way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

use crate::workers::Who;

/// Number of tallies above which unused tallies are evicted.
const SWEEP: usize = 4_096;

/// Unsent bytes of all callers, with one tally per caller.
#[derive(Debug)]
pub(crate) struct Unsent {
    each_max: usize,
    all: Mutex<HashMap<Who, Weak<Tally>>>,
}

/// Counter of one caller's unsent bytes.
#[derive(Debug)]
pub(crate) struct Tally {
    max: usize,
    bytes: AtomicUsize,
    freed: Notify,
}

/// Guard that charges bytes to a tally until dropped.
#[derive(Debug)]
pub(crate) struct Held {
    tally: Arc<Tally>,
    bytes: usize,
}

impl Unsent {
    pub(crate) fn new(each_max: usize) -> Unsent {
        Unsent { each_max, all: Mutex::default() }
    }

    pub(crate) fn of(&self, who: Who) -> Arc<Tally> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tally) = all.get(&who).and_then(Weak::upgrade) {
            return tally;
        }
        if all.len() >= SWEEP {
            all.retain(|_, tally| tally.strong_count() > 0);
        }
        let tally = Tally::new(self.each_max);
        all.insert(who, Arc::downgrade(&tally));
        tally
    }

    /// Returns the total number of bytes of all callers.
    pub(crate) fn bytes(&self) -> usize {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().filter_map(Weak::upgrade).map(|tally| tally.bytes.load(Ordering::Relaxed)).sum()
    }
}

impl Tally {
    pub(crate) fn new(max: usize) -> Arc<Tally> {
        Arc::new(Tally { max, bytes: AtomicUsize::new(0), freed: Notify::new() })
    }

    pub(crate) fn hold(self: &Arc<Tally>, bytes: usize) -> Held {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Held { tally: self.clone(), bytes }
    }

    /// Returns whether the limit is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.max
    }

    /// Waits until the tally is below its limit.
    pub(crate) async fn room(&self) {
        loop {
            // The waiter is registered before the check, so that a release right after the check is
            // not missed.
            let freed = self.freed.notified();
            if !self.is_full() {
                return;
            }
            freed.await;
        }
    }
}

impl Held {
    /// Returns whether the caller has reached its limit.
    pub(crate) fn is_full(&self) -> bool {
        self.tally.is_full()
    }

    /// Sets the number of bytes charged.
    pub(crate) fn set(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.tally.bytes.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else if bytes < self.bytes {
            self.tally.bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            self.tally.freed.notify_waiters();
        }
        self.bytes = bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Maximum number of bytes of request bodies in memory per address.
const OF_ADDRESS_MAX: usize = 1 << 20;
/// Maximum number of bytes of unauthenticated request bodies in memory, for all addresses together.
const OF_STRANGERS_MAX: usize = 16 << 20;
/// Maximum number of bytes of request bodies in memory per account.
const OF_ACCOUNT_MAX: usize = 8 << 20;

/// Counts the bytes of HTTP request bodies in memory: per account and, before authentication, per
/// address and for all addresses together.
#[derive(Debug)]
pub(crate) struct Bodies {
    addresses: Unsent,
    accounts: Unsent,
    strangers: Arc<Tally>,
}

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies {
            addresses: Unsent::new(OF_ADDRESS_MAX),
            accounts: Unsent::new(OF_ACCOUNT_MAX),
            strangers: Tally::new(OF_STRANGERS_MAX),
        }
    }
}

impl Bodies {
    /// Returns the total number of bytes of all bodies.
    pub(crate) fn bytes(&self) -> usize {
        self.addresses.bytes() + self.accounts.bytes()
    }

    /// Returns the counters for a request body that exceeds the limit of unauthenticated clients
    /// and whose sender has a valid token.
    pub(crate) fn tallies_of_batch(&self, who: Who) -> Vec<Held> {
        match who {
            Who::Account(_) => self.tallies(who),
            Who::Address(_) => vec![self.strangers.hold(0)],
        }
    }

    /// Returns the counters that a caller's body is charged to.
    pub(crate) fn tallies(&self, who: Who) -> Vec<Held> {
        match who {
            Who::Account(_) => vec![self.accounts.of(who).hold(0)],
            Who::Address(_) => vec![self.addresses.of(who).hold(0), self.strangers.hold(0)],
        }
    }
}

#[cfg(test)]
mod tests {
    use access::AccountId;

    use super::*;

    const ANN: Who = Who::Account(AccountId(1));
    const BOB: Who = Who::Account(AccountId(2));

    #[tokio::test]
    async fn only_a_caller_at_its_limit_waits_for_room() {
        let unsent = Unsent::new(100);
        let (tally, again) = (unsent.of(ANN), unsent.of(ANN));
        let first = tally.hold(60);
        let mut second = again.hold(50);
        assert!(tally.is_full() && again.is_full() && !unsent.of(BOB).is_full());
        let waits = tokio::spawn(async move { again.room().await });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        second.set(45);
        tokio::task::yield_now().await;
        assert!(!waits.is_finished(), "a hundred and five are still too many");
        drop(first);
        waits.await.unwrap();
        assert_eq!(unsent.bytes(), 45);
        drop(second);
        assert_eq!((unsent.bytes(), tally.is_full()), (0, false));
    }

    #[test]
    fn unused_tallies_are_evicted() {
        let unsent = Unsent::new(100);
        let _kept = unsent.of(ANN);
        for number in 10..100_000 {
            unsent.of(Who::Account(AccountId(number)));
        }
        assert!(unsent.all.lock().unwrap().len() <= SWEEP);
    }
}
