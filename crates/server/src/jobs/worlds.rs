//! The job that moves the clocks of running worlds.

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Job, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;
use crate::world_changes;

/// Interval between runs while no world is running.
const EVERY: Duration = Duration::from_secs(5);
/// Minimum pause between two runs, so that worlds at the highest speed leave time for requests.
const PAUSE: Duration = Duration::from_millis(1);

/// Moves the worlds that run on this server. Runs on every server, because a world runs on the
/// server that started it.
pub(super) fn run(core: &Arc<Core>) -> Job {
    let core = core.clone();
    let demand = core.worlds.moving.clone();
    Job {
        name: JobName::Worlds,
        place: RunsOn::EveryServer,
        first_after: EVERY,
        every: EVERY,
        demand,
        work: Arc::new(move |_| {
            Ok(world_changes::move_running(&core)
                .map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(PAUSE))))
        }),
    }
}
