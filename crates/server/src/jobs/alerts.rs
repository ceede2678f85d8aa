//! Compares price alerts with new quotes.

use std::sync::Arc;
use std::time::Duration;

use market::Timestamp;

use super::runner::{Job, Progress, RunsOn};
use crate::core::Core;
use crate::market_clock::ClockSpeed;
use crate::metrics::JobName;
use crate::pushes;

/// Interval between runs while no quote changes.
const EVERY: Duration = Duration::from_secs(60);
/// Minimum pause between two runs, so that ingested rows and a fast clock leave time for requests.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs on every server, because each one has streams to notify; one of them records a firing.
pub(super) fn compare(core: &Arc<Core>) -> Job {
    let (core, demand) = (core.clone(), core.alerts.sooner.clone());
    Job {
        name: JobName::Alerts,
        place: RunsOn::EveryServer,
        first_after: Duration::ZERO,
        every: EVERY,
        demand,
        work: Arc::new(move |_| {
            let now = pushes::compare_alerts(&core)?;
            // New rows and movements of a stopped clock wake the job.
            let is_running = matches!(core.market_clock().pace(), ClockSpeed::Running { .. });
            let next = now
                .filter(|_| is_running)
                .map(|Timestamp(now)| Timestamp(now.saturating_add(60 - now.rem_euclid(60))));
            let wait = next.and_then(|next| core.time_until(next));
            Ok(wait.map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(PAUSE))))
        }),
    }
}
