//! Stores the steps of worlds.

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Job, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;
use crate::worlds::WRITE_EVERY;

/// Interval while no world moves.
const EVERY: Duration = Duration::from_secs(5);

/// A server stores the worlds that it has moved.
pub(super) fn write(core: &Arc<Core>) -> Job {
    let core = core.clone();
    let demand = core.worlds.unwritten.clone();
    Job {
        name: JobName::WorldLogs,
        place: RunsOn::EveryServer,
        first_after: EVERY,
        every: EVERY,
        demand,
        work: Arc::new(move |_| {
            let any = core.worlds.write_all(&core.access.database())?;
            Ok(if any { Progress::DoneFor(WRITE_EVERY) } else { Progress::Done })
        }),
    }
}
