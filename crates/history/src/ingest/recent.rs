//! The batches that this process has committed last, so that neither a merge nor a push reads them
//! from the log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Commit;

/// Maximum number of cached rows, about 20 MB.
const ROWS_MAX: usize = 200_000;

/// Shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct RecentCommits(Arc<Mutex<VecDeque<Arc<Commit>>>>);

impl RecentCommits {
    /// Adds batches after their commit.
    pub(super) fn add(&self, commits: Vec<Arc<Commit>>) {
        let mut all = self.lock();
        all.extend(commits);
        let mut rows: usize = all.iter().map(|commit| commit.rows()).sum();
        while rows > ROWS_MAX
            && let Some(oldest) = all.pop_front()
        {
            rows -= oldest.rows();
        }
    }

    /// Returns the batches that follow `after` without a gap, as far as they are cached.
    pub(super) fn after(&self, after: i64) -> Vec<Arc<Commit>> {
        let all = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Commit>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
