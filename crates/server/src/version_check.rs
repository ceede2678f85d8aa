//! Time and result of the last database version check. A check costs more than all other steps of
//! an answer from memory, so requests that arrive at nearly the same time share one check.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Age at which a check expires.
const FRESH_FOR: Duration = Duration::from_micros(500);
/// Age at which one request checks again while other requests still use the last check. Under load
/// no request waits for a check, and none uses a check older than [`FRESH_FOR`].
const LOOK_AFTER: Duration = Duration::from_micros(450);
const _: () = assert!(LOOK_AFTER.as_nanos() < FRESH_FOR.as_nanos());

/// The store version at the last check. Every request reads the version, so reading takes no lock
/// and writes nothing.
#[derive(Debug)]
pub(crate) struct VersionCheck {
    /// Origin of the timestamps, from the machine's monotonic clock. Tokio's clock is not used,
    /// because checks detect changes by other processes and must continue in tests that pause it.
    began: Instant,
    /// Time of the last check in nanoseconds since `began`, plus one; 0 before the first check.
    at: AtomicU64,
    version: AtomicI64,
    /// Held by the request that performs a check.
    looking: Mutex<()>,
}

impl Default for VersionCheck {
    fn default() -> VersionCheck {
        VersionCheck {
            began: Instant::now(),
            at: AtomicU64::default(),
            version: AtomicI64::default(),
            looking: Mutex::default(),
        }
    }
}

impl VersionCheck {
    /// Returns the version as of at most [`FRESH_FOR`] ago. The version comes from another
    /// request's check, or from `look`.
    pub(crate) fn version<E>(&self, look: impl FnOnce() -> Result<i64, E>) -> Result<i64, E> {
        self.version_by(|| self.began.elapsed(), look)
    }

    fn version_by<E>(
        &self,
        clock: impl Fn() -> Duration,
        look: impl FnOnce() -> Result<i64, E>,
    ) -> Result<i64, E> {
        let _looking = match self.seen(clock()) {
            Some((version, age)) if age < LOOK_AFTER => return Ok(version),
            Some((version, _)) => match self.looking.try_lock() {
                Ok(looking) => looking,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Ok(version),
            },
            None => self.looking.lock().unwrap_or_else(PoisonError::into_inner),
        };
        // The time is read before the check, because the check may miss a change made while it
        // runs.
        let now = clock();
        // Another request may have checked while this request waited for the lock.
        if let Some((version, _)) = self.seen(now).filter(|(_, age)| *age < LOOK_AFTER) {
            return Ok(version);
        }
        let version = look()?;
        // The time is stored last, so that a request that sees the time also sees a version at
        // least as new.
        self.version.store(version, Ordering::Relaxed);
        self.at.store(nanoseconds(now), Ordering::Release);
        Ok(version)
    }

    /// Returns the version and age of the last check, or `None` if the check has expired.
    fn seen(&self, now: Duration) -> Option<(i64, Duration)> {
        let at = self.at.load(Ordering::Acquire);
        let age = Duration::from_nanos(nanoseconds(now).saturating_sub(at));
        (at > 0 && age < FRESH_FOR).then(|| (self.version.load(Ordering::Relaxed), age))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(u64::MAX, |time| time.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    /// Returns the version reported at `at` while the database has version `database`, and whether
    /// the database was checked.
    fn ask(version_check: &VersionCheck, at: Duration, database: i64) -> (i64, bool) {
        let looked = Cell::new(false);
        let version = version_check.version_by::<()>(
            || at,
            || {
                looked.set(true);
                Ok(database)
            },
        );
        (version.unwrap(), looked.get())
    }

    #[test]
    fn a_check_is_valid_for_a_limited_time() {
        let version_check = VersionCheck::default();
        let start = Duration::ZERO;
        assert_eq!(ask(&version_check, start, 1), (1, true), "nothing has been seen yet");
        assert_eq!(ask(&version_check, start + LOOK_AFTER - MICROSECOND, 2), (1, false));
        assert_eq!(
            ask(&version_check, start + LOOK_AFTER, 2),
            (2, true),
            "the first to come later looks ahead"
        );
        assert_eq!(ask(&version_check, start + LOOK_AFTER + FRESH_FOR, 3), (3, true));
    }

    #[test]
    fn requests_use_the_last_check_while_another_runs() {
        let version_check = VersionCheck::default();
        ask(&version_check, Duration::ZERO, 1);
        let during = version_check.version_by::<()>(
            || FRESH_FOR - MICROSECOND,
            || {
                assert_eq!(ask(&version_check, FRESH_FOR - MICROSECOND, 2), (1, false), "nobody waits");
                assert!(
                    version_check.seen(FRESH_FOR).is_none(),
                    "but a look that is too old counts for nobody"
                );
                Ok(2)
            },
        );
        assert_eq!(during, Ok(2));
        assert_eq!(ask(&version_check, FRESH_FOR, 3), (2, false));
    }

    #[test]
    fn a_failed_check_is_not_stored() {
        let version_check = VersionCheck::default();
        assert_eq!(version_check.version_by(|| Duration::ZERO, || Err("unreadable")), Err("unreadable"));
        assert_eq!(ask(&version_check, Duration::ZERO, 1), (1, true));
        let later = LOOK_AFTER;
        assert_eq!(version_check.version_by(|| later, || Err("unreadable")), Err("unreadable"));
        assert_eq!(ask(&version_check, later, 2), (2, true));
    }
}
