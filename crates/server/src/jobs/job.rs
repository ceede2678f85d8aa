//! Definition of a job: its name, interval and work, and the servers it runs on.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use access::AccessError;
use paper::PaperError;
use store::StoreError;
use tokio::sync::Notify;

use crate::metrics::JobName;
use crate::tls::TlsError;

/// Which servers of a store run the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsOn {
    /// Every server. The job does not change the store.
    EveryServer,
    /// The server that holds the store's job lock.
    OneServer,
}

/// Reason why a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Time,
    /// An immediate run was requested.
    Demand,
}

/// Result of one portion. Work is split into portions, so that other writers do not wait long and
/// the server can stop quickly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// There may be more to do in this run, which continues after a pause.
    More,
    /// Nothing to do for this duration. The next run starts after it or after the interval,
    /// whichever is sooner.
    DoneFor(Duration),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Paper(#[from] PaperError),
    #[error("the certificate from before stays in use: {0}")]
    Tls(#[from] TlsError),
    #[error("cannot remove uploads: {0}")]
    Uploads(#[from] std::io::Error),
    #[error("it ended unexpectedly")]
    Panicked,
}

/// Does one portion of work on a blocking thread.
pub(crate) type Work = Arc<dyn Fn(Trigger) -> Result<Progress, JobError> + Send + Sync>;

pub(crate) struct Job {
    pub(crate) name: JobName,
    pub(crate) place: RunsOn,
    /// Maximum delay from server start to the first run.
    pub(crate) first_after: Duration,
    /// Maximum delay from the end of one run to the start of the next.
    pub(crate) every: Duration,
    /// Starts a run immediately when notified.
    pub(crate) demand: Arc<Notify>,
    pub(crate) work: Work,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Job { name, place, every, .. } = self;
        write!(f, "Job {{ name: {name:?}, place: {place:?}, every: {every:?} }}")
    }
}
