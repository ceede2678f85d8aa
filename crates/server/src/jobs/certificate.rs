//! Reloads the certificate when its files have changed, or immediately on request (SIGHUP).

use std::sync::Arc;
use std::time::Duration;

use super::job::{Job, Progress, RunsOn, Trigger};
use crate::core::Core;
use crate::metrics::JobName;
use crate::tls::Tls;

/// Interval between checks of the files.
const EVERY: Duration = Duration::from_secs(30);

pub(super) fn job(core: &Arc<Core>, tls: &Arc<Tls>) -> Job {
    let (core, tls) = (core.clone(), tls.clone());
    Job {
        name: JobName::Certificate,
        place: RunsOn::EveryServer,
        first_after: EVERY,
        every: EVERY,
        demand: tls.demand(),
        work: Arc::new(move |trigger| {
            tls.look(trigger == Trigger::Demand, &core.metrics)?;
            Ok(Progress::Done)
        }),
    }
}
