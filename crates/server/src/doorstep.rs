//! Connections on which nobody has proved who they are: so many for each address, and the rest waits a moment outside. A client that
//! opens a hundred connections and signs in on all of them notices nothing; one that never says who it is has no more of
//! the server than its few places.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a connection waits for a place before it is closed.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Addresses remembered before those that nobody has any more are looked for.
const SWEEP: usize = 4_096;

/// The places of all addresses.
#[derive(Debug)]
pub(crate) struct Doorstep {
    each: usize,
    all: Mutex<HashMap<IpAddr, Weak<Semaphore>>>,
    turned_away: AtomicU64,
}

/// The place of one connection, until somebody has proved who they are on it. Clones are the same place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Doorstep {
    /// With so many places for each address.
    pub(crate) fn new(each: usize) -> Doorstep {
        Doorstep { each, all: Mutex::default(), turned_away: AtomicU64::new(0) }
    }

    /// A place for a connection; none if all of its address stay taken.
    pub(crate) async fn enter(&self, address: IpAddr) -> Option<Step> {
        let places = self.places(access::network_of(address));
        match timeout(WAIT_MAX, places.acquire_owned()).await {
            Ok(Ok(place)) => Some(Step(Arc::new(Mutex::new(Some(place))))),
            _ => {
                self.turned_away.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Connections that got no place, ever.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    fn places(&self, address: IpAddr) -> Arc<Semaphore> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = all.get(&address).and_then(Weak::upgrade) {
            return places;
        }
        if all.len() >= SWEEP {
            all.retain(|_, places| places.strong_count() > 0);
        }
        // Whoever holds a place holds the places of its address.
        let places = Arc::new(Semaphore::new(self.each));
        all.insert(address, Arc::downgrade(&places));
        places
    }
}

impl Step {
    /// Somebody has proved who they are: the place is free for the next.
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
    async fn an_address_has_few_places_and_who_proves_themselves_makes_room() {
        let doorstep = Arc::new(Doorstep::new(2));
        let one = doorstep.enter(address(1)).await.unwrap();
        let two = doorstep.enter(address(1)).await.unwrap();
        assert!(doorstep.enter(address(2)).await.is_some(), "another address has places of its own");
        let third = tokio::spawn({
            let doorstep = doorstep.clone();
            async move { doorstep.enter(address(1)).await }
        });
        tokio::task::yield_now().await;
        one.clone().leave();
        let third = third.await.unwrap().expect("there was room");
        assert!(doorstep.enter(address(1)).await.is_none(), "nobody made room within five seconds");
        assert_eq!(doorstep.turned_away(), 1);
        drop(two);
        assert!(doorstep.enter(address(1)).await.is_some(), "a connection that is gone has none");
        drop((one, third));
    }

    #[tokio::test]
    async fn addresses_that_are_gone_are_not_remembered() {
        let doorstep = Doorstep::new(2);
        for number in 0..20_000_u32 {
            drop(doorstep.enter(IpAddr::from(number.to_be_bytes())).await);
        }
        assert!(doorstep.all.lock().unwrap().len() <= SWEEP);
    }
}
