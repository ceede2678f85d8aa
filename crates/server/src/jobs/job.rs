//! One job: its name, how often it runs, on which servers, and what it does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use access::AccessError;
use paper::PaperError;
use store::StoreError;
use tokio::sync::Notify;

use crate::metrics::JobName;
use crate::tls::TlsError;

/// Which servers of a store run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsOn {
    /// Every server: it changes nothing in the store.
    EveryServer,
    /// The server that holds the store's lock for jobs.
    OneServer,
}

/// Why a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Time,
    /// It was asked for at once.
    Demand,
}

/// Work is done in portions, so that other writers of the store do not wait long and the server can stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// There may be more to do in this run. It goes on after a pause.
    More,
    /// Nothing is to be done for so long, or until the next time, whichever is sooner.
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

/// Does a portion of the work. It may block: it is called on a thread for that.
pub(crate) type Work = Arc<dyn Fn(Trigger) -> Result<Progress, JobError> + Send + Sync>;

pub(crate) struct Job {
    pub(crate) name: JobName,
    pub(crate) place: RunsOn,
    /// The time from the start of the server to the first run, at most.
    pub(crate) first_after: Duration,
    /// The time from the end of a run to the next one, at most.
    pub(crate) every: Duration,
    /// Starts a run at once when notified.
    pub(crate) demand: Arc<Notify>,
    pub(crate) work: Work,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Job { name, place, every, .. } = self;
        write!(f, "Job {{ name: {name:?}, place: {place:?}, every: {every:?} }}")
    }
}
