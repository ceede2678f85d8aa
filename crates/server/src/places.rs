//! A limited number of slots per key, such as an address or an account, because open connections
//! cost memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Number of keys above which keys without a slot in use are evicted.
const SWEEP: usize = 4_096;

/// Slots of all keys.
#[derive(Debug)]
pub(crate) struct Places<K> {
    each: usize,
    /// Maximum number of waiters per key.
    waiting: usize,
    all: Mutex<HashMap<K, Weak<KeyPlaces>>>,
}

/// Slots of one key.
#[derive(Debug)]
struct KeyPlaces {
    free: Arc<Semaphore>,
    /// Permits for further waiters.
    waiting: Semaphore,
}

/// A slot, released when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
    /// Keeps the key's entry alive.
    _room: Arc<KeyPlaces>,
}

impl<K: Copy + Eq + Hash> Places<K> {
    /// Allows `each` slots per key, and `waiting` waiters per key.
    pub(crate) fn new(each: usize, waiting: usize) -> Places<K> {
        Places { each, waiting, all: Mutex::default() }
    }

    /// Takes a slot, or returns `None` if none is free.
    pub(crate) fn try_take(&self, key: K) -> Option<Place> {
        let room = self.room(key);
        let permit = room.free.clone().try_acquire_owned().ok()?;
        Some(Place { _permit: permit, _room: room })
    }

    /// Takes a slot, waiting up to `within` for one. Returns `None` on timeout or if too many are
    /// waiting: each waiter holds a connection open.
    pub(crate) async fn take(&self, key: K, within: Duration) -> Option<Place> {
        let room = self.room(key);
        let permit = match room.free.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waits = room.waiting.try_acquire().ok()?;
                timeout(within, room.free.clone().acquire_owned()).await.ok()?.ok()?
            }
        };
        Some(Place { _permit: permit, _room: room })
    }

    fn room(&self, key: K) -> Arc<KeyPlaces> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = all.get(&key).and_then(Weak::upgrade) {
            return room;
        }
        if all.len() >= SWEEP {
            all.retain(|_, room| room.strong_count() > 0);
        }
        let (free, waiting) = (Arc::new(Semaphore::new(self.each)), Semaphore::new(self.waiting));
        let room = Arc::new(KeyPlaces { free, waiting });
        all.insert(key, Arc::downgrade(&room));
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn slots_and_waiters_per_key_are_limited() {
        let places = Arc::new(Places::new(2, 2));
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
        let places = Places::new(2, 2);
        let _kept = places.try_take(0);
        for key in 1..20_000_u32 {
            drop(places.try_take(key));
        }
        assert!(places.all.lock().unwrap().len() <= SWEEP);
    }
}
