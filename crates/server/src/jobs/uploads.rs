//! Removes complete and incomplete uploads older than a day.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::job::{Job, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;

const FIRST_AFTER: Duration = Duration::from_secs(60);
const EVERY: Duration = Duration::from_secs(600);

pub(super) fn job(core: &Arc<Core>) -> Job {
    let core = core.clone();
    Job {
        name: JobName::Uploads,
        place: RunsOn::OneServer,
        first_after: FIRST_AFTER,
        every: EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            core.intake.expire()?;
            Ok(Progress::Done)
        }),
    }
}
