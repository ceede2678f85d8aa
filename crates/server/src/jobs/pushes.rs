//! Publishes quotes to subscribers when the market clock reaches the next minute.

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Job, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;
use crate::pushes;

/// Maximum delay until a movement of the clock is detected.
const EVERY: Duration = Duration::from_secs(60);
/// Minimum pause between two runs, so that a fast clock leaves time for requests.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) fn publish(core: &Arc<Core>) -> Job {
    let (core, demand) = (core.clone(), core.live.sooner().clone());
    Job {
        name: JobName::Pushes,
        place: RunsOn::EveryServer,
        first_after: Duration::ZERO,
        every: EVERY,
        demand,
        work: Arc::new(move |_| {
            let published = pushes::publish(&core)?;
            core.alerts.sooner.notify_one();
            let again = pushes::prepare(&core)?;
            let next = published.next.and_then(|next| core.time_until(next));
            let wait = next.into_iter().chain(again).min();
            Ok(wait.map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(PAUSE))))
        }),
    }
}
