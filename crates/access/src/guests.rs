//! Sessions of guests, in the order of their last use. When an account has too many sessions the database ends the oldest,
//! and among guests that may be one in use. So the least recently used session is evicted before it comes to that.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Concurrent guests: fewer than the 20 sessions that the database allows one account.
const GUESTS_MAX: usize = 16;

/// Hashes of session cookies, the most recently used at the end.
#[derive(Debug, Default)]
pub(crate) struct Guests(Mutex<VecDeque<[u8; 32]>>);

impl Guests {
    /// Adds a session; returns the one that is evicted for it, if any.
    pub(crate) fn come(&self, hash: [u8; 32]) -> Option<[u8; 32]> {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guests.push_back(hash);
        if guests.len() > GUESTS_MAX { guests.pop_front() } else { None }
    }

    /// A session was used, a guest's or not.
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
