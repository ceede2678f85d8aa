//! Threads that must not wait: those that serve many connections at once. A file answers within microseconds, a server on the network may not.

use std::cell::Cell;

thread_local! {
    static MUST_NOT: Cell<bool> = const { Cell::new(false) };
}

/// Does something on a thread that others wait for. What would have to ask a server fails at once instead, with
/// [`StoreError::would_wait`](crate::StoreError::would_wait), before anything is sent: then the same is done again where it may wait.
pub fn without_waiting<T>(work: impl FnOnce() -> T) -> T {
    /// Also if the work panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MUST_NOT.set(self.0);
        }
    }
    let _before = Before(MUST_NOT.replace(true));
    work()
}

/// Whether this thread may wait for a server.
pub(crate) fn may_wait() -> bool {
    !MUST_NOT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_wait_again_when_the_work_is_done_or_has_panicked() {
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
}
