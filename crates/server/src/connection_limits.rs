//! Limits the number of open connections per key, such as an address or an account, because open
//! connections cost memory. Unauthenticated connections are limited per address.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Number of keys above which keys with no slot in use are evicted.
const SWEEP: usize = 4_096;

/// Connection slots of all keys.
#[derive(Debug)]
pub(crate) struct ConnectionLimits<K> {
    each: usize,
    /// Maximum number of waiters per key.
    waiting: usize,
    all: Mutex<HashMap<K, Weak<KeySlots>>>,
}

/// Connection slots of one key.
#[derive(Debug)]
struct KeySlots {
    free: Arc<Semaphore>,
    /// Permits that bound the number of waiters.
    waiting: Semaphore,
}

/// A connection slot, released when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    _permit: OwnedSemaphorePermit,
    /// Keeps the key's entry alive.
    _room: Arc<KeySlots>,
}

impl<K: Copy + Eq + Hash> ConnectionLimits<K> {
    /// Creates limits with `each` slots and `waiting` waiters per key.
    pub(crate) fn new(each: usize, waiting: usize) -> ConnectionLimits<K> {
        ConnectionLimits { each, waiting, all: Mutex::default() }
    }

    /// Takes a slot, or returns `None` if none is free.
    pub(crate) fn try_take(&self, key: K) -> Option<ConnectionSlot> {
        let room = self.room(key);
        let permit = room.free.clone().try_acquire_owned().ok()?;
        Some(ConnectionSlot { _permit: permit, _room: room })
    }

    /// Takes a slot, waiting up to `within` for a slot to become free. Returns `None` on timeout,
    /// or immediately if too many callers wait already, because each waiter holds a connection
    /// open.
    pub(crate) async fn take(&self, key: K, within: Duration) -> Option<ConnectionSlot> {
        let room = self.room(key);
        let permit = match room.free.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waits = room.waiting.try_acquire().ok()?;
                timeout(within, room.free.clone().acquire_owned()).await.ok()?.ok()?
            }
        };
        Some(ConnectionSlot { _permit: permit, _room: room })
    }

    fn room(&self, key: K) -> Arc<KeySlots> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = all.get(&key).and_then(Weak::upgrade) {
            return room;
        }
        if all.len() >= SWEEP {
            all.retain(|_, room| room.strong_count() > 0);
        }
        let (free, waiting) = (Arc::new(Semaphore::new(self.each)), Semaphore::new(self.waiting));
        let room = Arc::new(KeySlots { free, waiting });
        all.insert(key, Arc::downgrade(&room));
        room
    }
}

/// Time that a connection waits for a slot before it is closed.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Number of waiters per slot: enough for a program that opens hundreds of connections concurrently
/// and signs in on each.
const WAITING: usize = 4;
/// Minimum number of slots per address, however few connections the server allows.
const EACH_MIN: usize = 4;

/// Limits on unauthenticated connections. Each address has a few slots. A few more connections wait
/// briefly for a slot, and further connections are closed immediately. A client that opens a
/// hundred connections and signs in on all of them is not affected, whereas a client that never
/// signs in is limited to its few slots.
#[derive(Debug)]
pub(crate) struct UnauthenticatedLimits {
    places: ConnectionLimits<IpAddr>,
    turned_away: AtomicU64,
}

/// Slot of one connection until it is authenticated. Clones share the slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnauthenticatedSlot(Arc<Mutex<Option<ConnectionSlot>>>);

impl UnauthenticatedLimits {
    /// Creates limits with `each` slots per address. One address gets at most half of `all`
    /// connections, including waiters, because waiting connections are open too.
    pub(crate) fn new(each: usize, all: usize) -> UnauthenticatedLimits {
        let each = each.min(all / 4).max(EACH_MIN);
        let waiting = each.saturating_mul(WAITING).min((all / 2).saturating_sub(each)).max(EACH_MIN);
        UnauthenticatedLimits { places: ConnectionLimits::new(each, waiting), turned_away: AtomicU64::new(0) }
    }

    /// Waits for a slot. Returns `None` if no slot becomes free within [`WAIT_MAX`].
    pub(crate) async fn enter(&self, address: IpAddr) -> Option<UnauthenticatedSlot> {
        let place = self.places.take(access::network_of(address), WAIT_MAX).await;
        if place.is_none() {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
        }
        place.map(|place| UnauthenticatedSlot(Arc::new(Mutex::new(Some(place)))))
    }

    /// Returns the number of connections closed for lack of a slot since server start.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}

impl UnauthenticatedSlot {
    /// Releases the slot after authentication.
    pub(crate) fn leave(&self) {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn slots_and_waiters_per_key_are_limited() {
        let places = Arc::new(ConnectionLimits::new(2, 2));
        let taken = [places.try_take(1).unwrap(), places.try_take(1).unwrap()];
        assert!(places.try_take(1).is_none() && places.try_take(2).is_some());
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let places = places.clone();
                tokio::spawn(async move { places.take(1, 5 * SECOND).await })
            })
            .collect();
        tokio::task::yield_now().await;
        let begun = tokio::time::Instant::now();
        assert!(places.take(1, 5 * SECOND).await.is_none(), "two wait already");
        assert_eq!(begun.elapsed(), Duration::ZERO, "so the third is told at once");
        let [one, two] = taken;
        drop(one);
        let mut got = Vec::new();
        for waits in waiting {
            got.extend(waits.await.unwrap());
        }
        assert_eq!(
            (got.len(), begun.elapsed()),
            (1, 5 * SECOND),
            "one place became free, and one waited in vain"
        );
        drop((two, got));
        assert!(places.try_take(1).is_some());
    }

    #[test]
    fn keys_without_a_slot_are_evicted() {
        let places = ConnectionLimits::new(2, 2);
        let _kept = places.try_take(0);
        for key in 1..20_000_u32 {
            drop(places.try_take(key));
        }
        assert!(places.all.lock().unwrap().len() <= SWEEP);
    }

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[tokio::test(start_paused = true)]
    async fn authentication_releases_the_slot() {
        let places = Arc::new(UnauthenticatedLimits::new(4, 1_000));
        let one = places.enter(address(1)).await.unwrap();
        let two = places.enter(address(1)).await.unwrap();
        let _others = (places.enter(address(1)).await.unwrap(), places.enter(address(1)).await.unwrap());
        assert!(places.enter(address(2)).await.is_some(), "another address has places of its own");
        let third = tokio::spawn({
            let places = places.clone();
            async move { places.enter(address(1)).await }
        });
        tokio::task::yield_now().await;
        one.clone().leave();
        let third = third.await.unwrap().expect("there was room");
        assert!(places.enter(address(1)).await.is_none(), "nobody made room within five seconds");
        assert_eq!(places.turned_away(), 1);
        drop(two);
        assert!(places.enter(address(1)).await.is_some(), "a connection that is gone has none");
        drop((one, third));
    }

    #[tokio::test(start_paused = true)]
    async fn one_address_gets_at_most_half_of_all_connections() {
        for (each, all, open) in
            [(128, 16_384, 640), (128, 400, 200), (128, 40, 20), (128, 1, 8), (4, 100, 20)]
        {
            let places = Arc::new(UnauthenticatedLimits::new(each, all));
            let waiting: Vec<_> = (0..2 * open)
                .map(|_| {
                    let places = places.clone();
                    tokio::spawn(async move { places.enter(address(1)).await })
                })
                .collect();
            // At this point all connections have tried to enter, and none has timed out.
            tokio::time::sleep(WAIT_MAX / 2).await;
            let turned_away = usize::try_from(places.turned_away()).unwrap();
            assert_eq!(waiting.len() - turned_away, open, "{each} of {all}");
        }
    }
}
