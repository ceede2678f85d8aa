//! Counters of background jobs.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use market::Timestamp;

use super::labels::JobOutcome;
use super::{Counters, Histogram};

/// Marks that no run has ended yet.
const NEVER: i64 = i64::MIN;

/// The counters of one job.
#[derive(Debug)]
pub(super) struct JobCounters {
    pub(super) outcomes: Counters<{ JobOutcome::COUNT }>,
    pub(super) durations: Histogram,
    succeeded_at: AtomicI64,
}

impl Default for JobCounters {
    fn default() -> JobCounters {
        JobCounters {
            outcomes: Counters::default(),
            durations: Histogram::default(),
            succeeded_at: AtomicI64::new(NEVER),
        }
    }
}

impl JobCounters {
    pub(super) fn ended(&self, outcome: JobOutcome, took: Duration, now: Timestamp) {
        self.outcomes.add(outcome.index(), 1);
        match outcome {
            JobOutcome::Ok => self.succeeded_at.store(now.0, Ordering::Relaxed),
            JobOutcome::Failed => {}
            // The run was skipped, so it has no duration.
            JobOutcome::Elsewhere => return,
        }
        self.durations.observe(took);
    }

    pub(super) fn succeeded_at(&self) -> Option<Timestamp> {
        Some(self.succeeded_at.load(Ordering::Relaxed)).filter(|at| *at != NEVER).map(Timestamp)
    }
}
