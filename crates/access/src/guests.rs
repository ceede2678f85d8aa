//! Guests who are signed in, in the order in which they were last seen. The database signs out whoever came first when an
//! account is signed in too often; among guests that may be the one who is looking at the page. So the guest who has not
//! been seen for longest makes room before it comes to that.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Guests at once: fewer than the browsers that the database lets one account be signed in with, which is 20.
const GUESTS_MAX: usize = 16;

/// Hashes of cookies, that of whoever was seen last at the end.
#[derive(Debug, Default)]
pub(crate) struct Guests(Mutex<VecDeque<[u8; 32]>>);

impl Guests {
    /// One more, and who has to go for that.
    pub(crate) fn come(&self, hash: [u8; 32]) -> Option<[u8; 32]> {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guests.push_back(hash);
        if guests.len() > GUESTS_MAX { guests.pop_front() } else { None }
    }

    /// Somebody asks, a guest or not.
    pub(crate) fn seen(&self, hash: &[u8; 32]) {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = guests.iter().position(|guest| guest == hash);
        if let Some(guest) = place.and_then(|place| guests.remove(place)) {
            guests.push_back(guest);
        }
    }

    pub(crate) fn go(&self, hash: &[u8; 32]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|guest| guest != hash);
    }
}
