//! In-memory limits for sign-ins: the number of guest sessions and the number of audit rows for
//! refused logins.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::password::HashLimiter;

/// Limits on password hashing, guest sessions, and audit rows for refused logins.
#[derive(Debug, Default)]
pub(crate) struct SignInGuards {
    pub(crate) hashing: HashLimiter,
    pub(crate) guests: Guests,
    pub(crate) refusals: RefusalLog,
}

/// Maximum number of concurrent guest sessions, below the 20 sessions that the database allows per
/// account.
const GUESTS_MAX: usize = 16;

/// LRU list of guest sessions, as hashes of their session cookies, most recently used last. Above
/// its own limit the database ends an account's oldest session, which for guests may be in use.
/// This list ends the least recently used session before that limit is reached.
#[derive(Debug, Default)]
pub(crate) struct Guests(Mutex<VecDeque<[u8; 32]>>);

impl Guests {
    /// Adds a guest session. Returns the session that the caller must end to make room, or `None`
    /// below the limit.
    pub(crate) fn come(&self, hash: [u8; 32]) -> Option<[u8; 32]> {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guests.push_back(hash);
        if guests.len() > GUESTS_MAX { guests.pop_front() } else { None }
    }

    /// Marks a guest session as used. Ignores sessions that are not guest sessions.
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

/// Maximum number of audit rows per minute. Further refusals are only counted.
const ROWS_A_MINUTE: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Decides which refused logins get an audit row, so that refused logins cannot fill the disk, and
/// counts the suppressed rows.
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

/// The audit rows to write for a refused login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefusalRows {
    /// Number of refusals suppressed in the previous minute, to be written as one row; `None` if no
    /// row is due.
    pub(crate) suppressed: Option<u64>,
    /// Whether this refusal gets its own row.
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

    /// Returns the number of refusals suppressed in the previous minute, or `None` if there is none
    /// to report. Called when a login succeeds.
    pub(crate) fn suppressed(&self, uptime: Duration) -> Option<u64> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).turn(uptime)
    }
}

impl Minute {
    /// Starts a new minute if the current minute is over. Returns the number of refusals suppressed
    /// in the minute that ended, or `None` if there were none.
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
    fn refusals_beyond_sixty_a_minute_are_only_counted() {
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
