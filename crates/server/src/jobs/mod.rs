//! Background jobs that run at intervals, in files by subject. `runner.rs` runs the jobs, counts
//! the runs, and stops the jobs with the server. To add a job, write its function, name it in
//! `metrics/labels.rs` and list it in [`of_server`].

mod alerts;
mod changes;
mod ingest;
mod nodes;
mod paper_accounts;
mod pushes;
mod removal;
mod runner;
#[cfg(test)]
mod tests;
mod world_logs;
mod worlds;

use std::sync::Arc;

use crate::core::Core;
use crate::links::Links;
use crate::settings::Settings;
use crate::tls::Tls;

pub(crate) use runner::{Job, Runner};

/// Returns all jobs of a server with these settings.
pub(crate) fn of_server(
    core: &Arc<Core>,
    links: &Links,
    tls: Option<&Arc<Tls>>,
    settings: &Settings,
) -> Vec<Job> {
    let mut jobs = vec![changes::of_store(core, links), removal::expired_grants(core)];
    jobs.extend([paper_accounts::advance(core), paper_accounts::follow(core), paper_accounts::levels(core)]);
    jobs.extend([paper_accounts::statements(core), removal::uploads(core), pushes::publish(core)]);
    jobs.push(alerts::compare(core));
    jobs.extend([ingest::merge(core), worlds::run(core), world_logs::write(core)]);
    if core.access.is_shared() {
        jobs.extend([nodes::heartbeat(core, links), nodes::sweep(core)]);
    }
    jobs.extend(settings.worlds_keep_days.map(|days| removal::ended_worlds(core, links, days)));
    jobs.extend(settings.audit_retention_days.map(|days| removal::audit_retention(core, days)));
    jobs.extend(tls.map(|tls| changes::of_certificate(core, tls)));
    jobs
}
