//! Guards of sign-ins in memory: the guests, and which refused logins get an audit row.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::password::HashLimiter;

/// Limits on password hashing, guests, and audit rows of refused sign-ins.
#[derive(Debug, Default)]
pub(crate) struct SignInGuards {
    pub(crate) hashing: HashLimiter,
    pub(crate) guests: Guests,
    pub(crate) refusals: RefusalLog,
}

/// Maximum number of concurrent guests, below the 20 sessions that the database allows per account.
const GUESTS_MAX: usize = 16;

/// LRU list of guest sessions: hashes of session cookies, most recently used last. The database
/// ends an account's oldest session above its limit, which for guests may be one in use. This list
/// evicts the least recently used one before that limit is reached.
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

/// Maximum number of rows per minute; further refusals are only counted.
const ROWS_A_MINUTE: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Decides which refused logins get an audit row, so that they cannot fill the disk, and counts the
/// suppressed ones.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog {
    inner: Mutex<Minute>,
}

#[derive(Debug, Default)]
struct Minute {
    since: Duration,
    written: u32,
    suppressed: u64,
}

/// What to write for a refused login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefusalRows {
    /// Number of refusals suppressed in an earlier minute, to be written as one row.
    pub(crate) suppressed: Option<u64>,
    /// Whether this refusal gets a row.
    pub(crate) this: bool,
}

impl RefusalLog {
    pub(crate) fn refused(&self, uptime: Duration) -> RefusalRows {
        let mut minute = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let suppressed = minute.turn(uptime);
        let this = minute.written < ROWS_A_MINUTE;
        if this {
            minute.written += 1;
        } else {
            minute.suppressed += 1;
        }
        RefusalRows { suppressed, this }
    }

    /// Returns the number of refusals suppressed in an earlier minute. Called when a login
    /// succeeds.
    pub(crate) fn suppressed(&self, uptime: Duration) -> Option<u64> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).turn(uptime)
    }
}

impl Minute {
    /// Starts the next minute if the current one is over. Returns the number of refusals suppressed
    /// in it, if any.
    fn turn(&mut self, uptime: Duration) -> Option<u64> {
        if uptime < self.since + MINUTE {
            return None;
        }
        let suppressed = self.suppressed;
        *self = Minute { since: uptime, written: 0, suppressed: 0 };
        (suppressed > 0).then_some(suppressed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_refusals_a_minute_are_written_and_more_are_counted() {
        let log = RefusalLog::default();
        let mut at = Duration::from_secs(100_000);
        let rows = (0..1_000).filter(|_| log.refused(at).this).count();
        assert_eq!(rows, 60);
        at += MINUTE;
        assert_eq!(log.refused(at), RefusalRows { suppressed: Some(940), this: true });
        assert_eq!(log.refused(at), RefusalRows { suppressed: None, this: true });
        assert_eq!(log.suppressed(at + MINUTE), None);
    }
}
