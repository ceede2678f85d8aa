//! Limits the audit rows of refused logins, so that they cannot fill the disk.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Rows about refused logins in a minute; the rest is only counted.
const ROWS_A_MINUTE: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Decides which refused logins get a row of the audit, and counts those that get none.
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

/// What to write about a refused login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefusalRows {
    /// Refusals of an earlier minute that got no row, to be written as a number.
    pub(crate) suppressed: Option<u64>,
    /// Whether this one gets a row.
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

    /// Refusals of an earlier minute that got no row; called when a login was accepted.
    pub(crate) fn suppressed(&self, uptime: Duration) -> Option<u64> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).turn(uptime)
    }
}

impl Minute {
    /// Begins the next minute if this one is over; returns the number of refusals suppressed in it.
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
    fn sixty_refusals_a_minute_get_a_row_and_the_rest_are_counted() {
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
