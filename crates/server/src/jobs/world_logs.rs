//! The job that stores the steps of worlds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::runner::{Job, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;
use crate::worlds::WRITE_EVERY;

/// Interval between runs while no world moves.
const EVERY: Duration = Duration::from_secs(5);

/// Stores the worlds that this server has moved. Runs on every server.
pub(super) fn write(core: &Arc<Core>) -> Job {
    let core = core.clone();
    let demand = core.worlds.unwritten.clone();
    let last_error = Mutex::default();
    Job {
        name: JobName::WorldLogs,
        place: RunsOn::EveryServer,
        first_after: EVERY,
        every: EVERY,
        demand,
        work: Arc::new(move |_| Ok(write_all(&core, &last_error))),
    }
}

/// Stores the worlds. A failed write is retried after the usual interval, so that the steps of
/// other worlds are not delayed. An error is logged only if it differs from the previous error.
fn write_all(core: &Core, last_error: &Mutex<Option<String>>) -> Progress {
    let written = core.worlds.write_all(&core.access.database());
    let error = written.as_ref().err().map(ToString::to_string);
    let mut last = last_error.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = error.as_ref().filter(|error| last.as_ref() != Some(error)) {
        tracing::error!(error, "cannot store the last steps of a world: trying again");
    }
    *last = error;
    match written {
        Ok(false) => Progress::Done,
        Ok(true) | Err(_) => Progress::DoneFor(WRITE_EVERY),
    }
}
