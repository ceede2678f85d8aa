//! One job: its name, its interval, the servers it runs on, and its work.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use access::AccessError;
use paper::PaperError;
use store::StoreError;
use tokio::sync::Notify;

use crate::metrics::JobName;
use crate::tls::TlsError;

/// The servers of a store that run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsOn {
    /// Every server: it changes nothing in the store.
    EveryServer,
    /// The server that holds the store's lock for jobs.
    OneServer,
}

/// Why a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Time,
    /// An immediate run was requested.
    Demand,
}

/// Result of one portion. Work is split into portions, so that other writers of the store do not
/// wait long and the server can stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// There may be more to do in this run. It continues after a pause.
    More,
    /// Nothing to do for this long, or until the next interval, whichever is sooner.
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

/// Does one portion of the work. It runs on a blocking thread.
pub(crate) type Work = Arc<dyn Fn(Trigger) -> Result<Progress, JobError> + Send + Sync>;

pub(crate) struct Job {
    pub(crate) name: JobName,
    pub(crate) place: RunsOn,
    /// Maximum time from the start of the server to the first run.
    pub(crate) first_after: Duration,
    /// Maximum time from the end of a run to the next one.
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
