//! Removes expired tokens, codes, devices, browser sessions and idempotency keys. Issuing new ones
//! also removes some; this job covers stores in which many were issued once and few are issued now.

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
        name: JobName::ExpiredGrants,
        place: RunsOn::OneServer,
        first_after: FIRST_AFTER,
        every: EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            let now = core.machine_now();
            let is_left = core.access.remove_expired(now)? > 0 || core.paper.forget_requests(now)? > 0;
            Ok(if is_left { Progress::More } else { Progress::Done })
        }),
    }
}
