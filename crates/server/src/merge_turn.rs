//! Decides which of several servers that share a store merges ingested batches. The server of the
//! last merge also does the next merge, because it has the newest blocks of the series in memory;
//! another server would have to read them, and would make the first server's blocks outdated. The
//! first merge is done by a server that commits batches. Another server takes over if batches wait
//! too long for a merge, or if it commits all batches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use history::ingest::Merged;

/// Time that batches wait for a merge before another server takes over.
const TAKES_OVER_AFTER: Duration = Duration::from_millis(500);
/// Number of consecutive batches after which the server that committed all of them takes over.
const ALL_BATCHES: i64 = 64;

#[derive(Debug, Default)]
pub(crate) struct MergeTurn {
    /// Whether this server merges the next batch, as of the last check.
    is_own: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Last,
    /// The first and the last batch of the latest run of batches that this server has committed.
    committed: Option<(i64, i64)>,
    /// The last merged batch, and the time since which later batches have been waiting.
    waiting: Option<(i64, Instant)>,
}

/// Which server did the last merge.
#[derive(Clone, Copy, Debug, Default)]
enum Last {
    #[default]
    Unknown,
    /// No server has merged since this server started. Contains the last batch that was merged
    /// before.
    Before(i64),
    /// This server merged batches up to and including this batch.
    Own(i64),
    Other,
}

impl MergeTurn {
    /// Returns whether this server merges the waiting batches.
    pub(crate) fn take(&self, found: &Merged, now: Instant) -> bool {
        let mut state = self.state();
        let is_own = state.is_own(found.through);
        self.is_own.store(is_own, Ordering::Release);
        if !found.has_more {
            state.waiting = None;
            return false;
        }
        let since = match state.waiting {
            Some((through, since)) if through == found.through => since,
            _ => {
                state.waiting = Some((found.through, now));
                now
            }
        };
        is_own || now.saturating_duration_since(since) >= TAKES_OVER_AFTER
    }

    /// Records a merge of this server.
    pub(crate) fn merged(&self, through: i64) {
        self.state().last = Last::Own(through);
        self.is_own.store(true, Ordering::Release);
    }

    /// Records that this server has committed a batch.
    pub(crate) fn committed(&self, id: i64) {
        let mut state = self.state();
        state.committed = match state.committed {
            Some((first, last)) if id == last + 1 => Some((first, id)),
            _ => Some((id, id)),
        };
    }

    /// Returns whether this server merges the next batch.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own.load(Ordering::Acquire)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_own(&mut self, through: i64) -> bool {
        self.last = match self.last {
            Last::Unknown => Last::Before(through),
            Last::Before(merged) | Last::Own(merged) if merged != through => Last::Other,
            same => same,
        };
        let all = |(first, last): (i64, i64)| last - first + 1 >= ALL_BATCHES && first <= through + 1;
        match self.last {
            Last::Own(_) => true,
            Last::Before(_) => self.committed.is_some(),
            Last::Unknown | Last::Other => self.committed.is_some_and(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(through: i64, has_more: bool) -> Merged {
        Merged { through, has_changed: false, has_more, next_final: None }
    }

    #[test]
    fn the_server_of_the_last_merge_merges_the_next_batch() {
        let [one, other] = [MergeTurn::default(), MergeTurn::default()];
        let now = Instant::now();
        assert!(!one.take(&found(0, false), now) && !one.is_own());
        one.committed(1);
        assert!(one.take(&found(0, true), now) && one.is_own());
        assert!(!other.take(&found(0, true), now), "it has committed nothing");
        one.merged(1);
        assert!(one.take(&found(1, true), now) && one.is_own());
        other.committed(2);
        assert!(!other.take(&found(1, true), now) && !other.is_own());
    }

    #[test]
    fn either_of_two_committing_servers_may_merge_first_and_then_only_one_merges() {
        let [one, other] = [MergeTurn::default(), MergeTurn::default()];
        let now = Instant::now();
        one.committed(1);
        other.committed(2);
        assert!(one.take(&found(0, true), now) && other.take(&found(0, true), now));
        one.merged(2);
        assert!(!other.take(&found(2, true), now) && one.take(&found(2, true), now));
    }

    #[test]
    fn another_server_takes_over_after_half_a_second_without_a_merge() {
        let turn = MergeTurn::default();
        let begun = Instant::now();
        let at = |millis: u64| begun + Duration::from_millis(millis);
        assert!(!turn.take(&found(0, false), at(0)));
        for (through, has_more, millis, expected) in [
            (1, true, 0, false),
            // Another server has merged in the meantime.
            (2, true, 499, false),
            (2, true, 998, false),
            // No batch was waiting, so the time without a merge does not count.
            (2, false, 2_000, false),
            (2, true, 9_000, false),
            (2, true, 9_499, false),
            (2, true, 9_500, true),
        ] {
            assert_eq!(turn.take(&found(through, has_more), at(millis)), expected, "at {millis}");
        }
        turn.merged(3);
        assert!(turn.take(&found(3, true), at(9_501)));
    }

    #[test]
    fn a_server_that_commits_all_batches_takes_over() {
        let turn = MergeTurn::default();
        let now = Instant::now();
        turn.take(&found(0, false), now);
        // Another server has merged the first two batches, and has committed one of them.
        turn.committed(2);
        turn.committed(4);
        for id in 5..4 + ALL_BATCHES - 1 {
            turn.committed(id);
            assert!(!turn.take(&found(id - 1, true), now), "{id}");
        }
        turn.committed(4 + ALL_BATCHES - 1);
        assert!(turn.take(&found(4 + ALL_BATCHES - 2, true), now));
        assert!(turn.take(&found(3, true), now));
        // A batch of another server is waiting, too.
        assert!(!turn.take(&found(2, true), now));
    }
}
