//! Background jobs that run at intervals, one file each. `runner.rs` runs them, counts the runs and
//! stops them with the server. To add a job, write its file, name it in `metrics/labels.rs` and
//! list it in [`of_server`].

mod certificate;
mod changes;
mod expiry;
mod job;
mod nodes;
mod paper_accounts;
mod paper_levels;
mod retention;
mod runner;
mod statements;
#[cfg(test)]
mod tests;
mod uploads;

use std::sync::Arc;

use crate::core::Core;
use crate::links::Links;
use crate::settings::Settings;
use crate::tls::Tls;

pub(crate) use job::Job;
pub(crate) use runner::Runner;

/// Returns all jobs of a server with these settings.
pub(crate) fn of_server(
    core: &Arc<Core>,
    links: &Links,
    tls: Option<&Arc<Tls>>,
    settings: &Settings,
) -> Vec<Job> {
    let mut jobs = vec![changes::job(core), expiry::job(core)];
    jobs.extend([paper_accounts::advance(core), paper_accounts::follow(core), paper_levels::job(core)]);
    jobs.extend([statements::job(core), uploads::job(core)]);
    if core.access.is_shared() {
        jobs.extend([nodes::heartbeat(core, links), nodes::sweep(core)]);
    }
    jobs.extend(settings.audit_retention_days.map(|days| retention::job(core, days)));
    jobs.extend(tls.map(|tls| certificate::job(core, tls)));
    jobs
}
