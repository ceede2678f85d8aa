//! LRU list of guest sessions. The database ends an account's oldest session above its limit, which
//! for guests may be one in use. This list evicts the least recently used one before that limit is
//! reached.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Maximum number of concurrent guests, below the 20 sessions that the database allows per account.
const GUESTS_MAX: usize = 16;

/// Hashes of session cookies, most recently used last.
#[derive(Debug, Default)]
pub(crate) struct Guests(Mutex<VecDeque<[u8; 32]>>);

impl Guests {
    /// Adds a session. Returns the session evicted for it, if any.
    pub(crate) fn come(&self, hash: [u8; 32]) -> Option<[u8; 32]> {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guests.push_back(hash);
        if guests.len() > GUESTS_MAX { guests.pop_front() } else { None }
    }

    /// Marks a session as used; ignores sessions that are not a guest's.
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
