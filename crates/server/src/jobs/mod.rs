//! Background work: what a server does by itself, at intervals, without a request. A file a job; `runner.rs` keeps them
//! going, counts them and ends them with the server. To add one, write its file, give it a name in `metrics/labels.rs` and
//! name it in [`of_server`].

mod certificate;
mod changes;
mod expiry;
mod job;
mod runner;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::core::Core;
use crate::tls::Tls;

pub(crate) use job::Job;
pub(crate) use runner::Runner;

/// Every job of a server.
pub(crate) fn of_server(core: &Arc<Core>, tls: Option<&Arc<Tls>>) -> Vec<Job> {
    let mut jobs = vec![changes::job(core), expiry::job(core)];
    jobs.extend(tls.map(|tls| certificate::job(core, tls)));
    jobs
}
