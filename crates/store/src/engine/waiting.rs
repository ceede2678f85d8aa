//! Limits on how long a thread waits for a database server, which may be slow or unresponsive. A
//! SQLite file needs no limit, because it responds within microseconds. Threads that serve many
//! connections must not block at all, and callers with a fallback set a deadline.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static MUST_NOT: Cell<bool> = const { Cell::new(false) };
    /// The deadline of this thread, and the duration for which it was set.
    static DEADLINE: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// Runs `work` on a thread that must not block. Statements on a server fail immediately with
/// [`StoreError::would_wait`](crate::StoreError::would_wait), before anything is sent. The caller
/// then repeats the work on a thread that may block.
pub fn without_waiting<T>(work: impl FnOnce() -> T) -> T {
    /// Restores the previous state on drop, even if `work` panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MUST_NOT.set(self.0);
        }
    }
    let _before = Before(MUST_NOT.replace(true));
    work()
}

/// Runs `work` with a deadline for all of its statements on a server. A statement without a
/// response by the deadline fails as if the server were unreachable, or with an unknown outcome if
/// it may have changed data. For callers that have a fallback.
pub fn waiting_at_most<T>(patience: Duration, work: impl FnOnce() -> T) -> T {
    /// Restores the previous deadline on drop, even if `work` panics.
    struct Before(Option<(Instant, Duration)>);
    impl Drop for Before {
        fn drop(&mut self) {
            DEADLINE.set(self.0);
        }
    }
    let new = (Instant::now() + patience, patience);
    let nearest = DEADLINE.get().map_or(new, |outer| outer.min(new));
    let _before = Before(DEADLINE.replace(Some(nearest)));
    work()
}

/// Returns the earlier of `deadline` and this thread's deadline.
pub(crate) fn sooner(deadline: Instant) -> Instant {
    DEADLINE.get().map_or(deadline, |(own, _)| own.min(deadline))
}

/// Returns the shorter of `limit` and the duration of this thread's deadline.
pub(crate) fn patience(limit: Duration) -> Duration {
    DEADLINE.get().map_or(limit, |(_, patience)| patience.min(limit))
}

/// Returns whether this thread may wait for a server.
pub(crate) fn may_wait() -> bool {
    !MUST_NOT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_block_again_after_the_work() {
        assert!(may_wait());
        without_waiting(|| {
            assert!(!may_wait());
            without_waiting(|| assert!(!may_wait()));
            assert!(!may_wait());
        });
        assert!(may_wait());
        std::panic::catch_unwind(|| without_waiting(|| panic!("on purpose"))).unwrap_err();
        assert!(may_wait());
    }

    #[test]
    fn nested_deadlines_use_the_earliest() {
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3_600));
        let now = Instant::now();
        assert_eq!(sooner(now + hour), now + hour);
        waiting_at_most(second, || {
            assert!(sooner(now + hour) < now + hour);
            assert_eq!(sooner(now), now);
            let outer = sooner(now + hour);
            waiting_at_most(hour, || assert_eq!(sooner(now + hour), outer, "the outer deadline is nearer"));
        });
        std::panic::catch_unwind(|| waiting_at_most(second, || panic!("on purpose"))).unwrap_err();
        assert_eq!(sooner(now + hour), now + hour);
    }
}
