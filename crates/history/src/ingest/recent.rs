//! The last batches that this process has committed, cached so that merges and pushes do not read
//! them from the log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Commit;

/// Maximum weight of the cached batches ([`Commit::weight`]), about 20 MB.
const WEIGHT_MAX: usize = 200_000;

/// Shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct RecentCommits(Arc<Mutex<Cached>>);

#[derive(Debug, Default)]
struct Cached {
    commits: VecDeque<Arc<Commit>>,
    /// Sum of the weights of the batches.
    weight: usize,
}

impl RecentCommits {
    /// Adds batches after their commit.
    pub(super) fn add(&self, commits: Vec<Arc<Commit>>) {
        let mut cached = self.lock();
        cached.weight += commits.iter().map(|commit| commit.weight()).sum::<usize>();
        cached.commits.extend(commits);
        while cached.weight > WEIGHT_MAX
            && let Some(oldest) = cached.commits.pop_front()
        {
            cached.weight -= oldest.weight();
        }
    }

    /// Returns the cached batches that follow `after` without a gap.
    pub(super) fn after(&self, after: i64) -> Vec<Arc<Commit>> {
        let cached = self.lock();
        let all = &cached.commits;
        let first = all.partition_point(|commit| commit.id <= after);
        let in_order = all.iter().skip(first).zip(after.saturating_add(1)..);
        in_order.take_while(|(commit, id)| commit.id == *id).map(|(commit, _)| commit.clone()).collect()
    }

    /// Returns the batches in the range `after` (exclusive) to `through` (inclusive), or `None` if
    /// not all of them are cached.
    pub(super) fn between(&self, after: i64, through: i64) -> Option<Vec<Arc<Commit>>> {
        let mut commits = self.after(after);
        commits.retain(|commit| commit.id <= through);
        (commits.last().map_or(after, |last| last.id) >= through).then_some(commits)
    }

    fn lock(&self) -> MutexGuard<'_, Cached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::{Counts, RefusedRow};

    fn commit(id: i64, refused: usize) -> Arc<Commit> {
        let row = RefusedRow { row: 0, symbol: None, text: String::new(), reason: String::new() };
        Arc::new(Commit {
            id,
            push_from: 0,
            at_us: 0,
            source: "feed".to_owned(),
            candles: Vec::new(),
            trades: Vec::new(),
            builds: false,
            refused: vec![row; refused],
            counts: Counts::default(),
        })
    }

    fn cached(recent: &RecentCommits) -> Vec<i64> {
        let cached = recent.lock();
        assert_eq!(cached.weight, cached.commits.iter().map(|commit| commit.weight()).sum::<usize>());
        cached.commits.iter().map(|commit| commit.id).collect()
    }

    #[test]
    fn batches_that_change_nothing_are_evicted() {
        let recent = RecentCommits::default();
        recent.add((1..=2).map(|id| commit(id, WEIGHT_MAX / 2 - 1)).collect());
        assert_eq!(cached(&recent), [1, 2]);
        recent.add(vec![commit(3, 0)]);
        assert_eq!(cached(&recent), [2, 3]);
        let last = WEIGHT_MAX as i64 + 3;
        recent.add((4..=last).map(|id| commit(id, 0)).collect());
        assert_eq!(cached(&recent), (4..=last).collect::<Vec<_>>());
        recent.add(vec![commit(last + 1, WEIGHT_MAX)]);
        assert!(cached(&recent).is_empty());
    }
}
