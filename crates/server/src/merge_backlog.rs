//! Delays new batches while merges are slower than batches arrive. Otherwise the time from the
//! response to a batch to its pushes would grow with the number of waiting batches.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Age of the oldest batch without a merge at which new batches are delayed.
const AGE_MAX: Duration = Duration::from_millis(100);
/// Maximum delay of a batch. The log accepts batches even if they cannot be merged.
const DELAY_MAX: Duration = Duration::from_millis(500);
/// Maximum number of recorded batches.
const RECORDED_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct MergeBacklog {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Log position and commit time of the batches of this server without a merge, oldest first.
    batches: VecDeque<(i64, Instant)>,
    /// Whether merges currently fail, for example because another process is writing to the store.
    is_stalled: bool,
}

impl State {
    fn delays(&self, now: Instant) -> bool {
        let oldest = self.batches.front().map(|(_, at)| now.saturating_duration_since(*at));
        !self.is_stalled && oldest.is_some_and(|age| age >= AGE_MAX)
    }
}

impl MergeBacklog {
    /// Records that this server has committed a batch.
    pub(crate) fn committed(&self, id: i64, at: Instant) {
        let batches = &mut self.state().batches;
        if batches.len() < RECORDED_MAX {
            batches.push_back((id, at));
        }
    }

    /// Records that all batches up to `through` are merged.
    pub(crate) fn merged(&self, through: i64) {
        let mut state = self.state();
        let merged = state.batches.partition_point(|(id, _)| *id <= through);
        state.batches.drain(..merged);
        state.is_stalled = false;
        drop(state);
        self.changed.notify_all();
    }

    /// Records that a merge has failed. Batches are not delayed until a merge succeeds.
    pub(crate) fn stalled(&self) {
        self.state().is_stalled = true;
        self.changed.notify_all();
    }

    /// Waits until a new batch may be committed.
    pub(crate) fn wait(&self) {
        self.wait_at_most(DELAY_MAX);
    }

    fn wait_at_most(&self, limit: Duration) {
        let waiting =
            self.changed.wait_timeout_while(self.state(), limit, |state| state.delays(Instant::now()));
        drop(waiting.unwrap_or_else(PoisonError::into_inner));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_delayed_while_an_older_one_waits_too_long_for_its_merge() {
        let (backlog, begun) = (MergeBacklog::default(), Instant::now());
        let delays_after = |wait: Duration| backlog.state().delays(begun + wait);
        assert!(!delays_after(DELAY_MAX));
        backlog.committed(7, begun);
        backlog.committed(8, begun + AGE_MAX);
        assert!(!delays_after(AGE_MAX - Duration::from_millis(1)));
        assert!(delays_after(AGE_MAX));
        backlog.merged(7);
        assert!(!delays_after(2 * AGE_MAX - Duration::from_millis(1)));
        assert!(delays_after(2 * AGE_MAX));
        backlog.stalled();
        assert!(!delays_after(2 * AGE_MAX), "the log accepts batches while merges fail");
        backlog.merged(7);
        assert!(delays_after(2 * AGE_MAX));
        backlog.merged(8);
        assert!(!delays_after(DELAY_MAX));
    }

    #[test]
    fn a_merge_releases_waiting_batches() {
        let backlog = MergeBacklog::default();
        let old = Instant::now().checked_sub(AGE_MAX).unwrap();
        backlog.committed(1, old);
        std::thread::scope(|scope| {
            // Without the notification, this would wait for an hour.
            let waiting = scope.spawn(|| backlog.wait_at_most(Duration::from_secs(3_600)));
            backlog.merged(1);
            waiting.join().unwrap();
        });
        assert!(backlog.state().batches.is_empty());
    }
}
