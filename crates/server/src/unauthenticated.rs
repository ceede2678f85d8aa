//! Limits on unauthenticated connections. Each address has a few slots; some more connections wait
//! briefly for a slot, and all others are closed immediately. A client that opens a hundred
//! connections and signs in on all of them is not affected. One that never signs in gets only its
//! few slots.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::places::{Place, Places};

/// Time that a connection waits for a slot before it is closed.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Waiters per slot: enough for a program that opens hundreds of connections concurrently and signs
/// in on each.
const WAITING: usize = 4;
/// Minimum number of slots per address, however few connections the server allows.
const EACH_MIN: usize = 4;

/// Slots of all addresses.
#[derive(Debug)]
pub(crate) struct UnauthenticatedLimits {
    places: Places<IpAddr>,
    turned_away: AtomicU64,
}

/// Slot of one connection until it is authenticated. Clones share the slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnauthenticatedSlot(Arc<Mutex<Option<Place>>>);

impl UnauthenticatedLimits {
    /// Allows `each` slots per address. One address gets at most half of `all` connections,
    /// including waiters, which are open as well.
    pub(crate) fn new(each: usize, all: usize) -> UnauthenticatedLimits {
        let each = each.min(all / 4).max(EACH_MIN);
        let waiting = each.saturating_mul(WAITING).min((all / 2).saturating_sub(each)).max(EACH_MIN);
        UnauthenticatedLimits { places: Places::new(each, waiting), turned_away: AtomicU64::new(0) }
    }

    /// Waits for a slot. Returns `None` if none becomes free in time.
    pub(crate) async fn enter(&self, address: IpAddr) -> Option<UnauthenticatedSlot> {
        let place = self.places.take(access::network_of(address), WAIT_MAX).await;
        if place.is_none() {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
        }
        place.map(|place| UnauthenticatedSlot(Arc::new(Mutex::new(Some(place)))))
    }

    /// Returns the number of connections that got no slot since server start.
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
            // By then all connections have tried to enter, and none has timed out.
            tokio::time::sleep(WAIT_MAX / 2).await;
            let turned_away = usize::try_from(places.turned_away()).unwrap();
            assert_eq!(waiting.len() - turned_away, open, "{each} of {all}");
        }
    }
}
