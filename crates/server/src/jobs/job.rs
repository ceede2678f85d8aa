//! One piece of background work: what it is called, how often it is done and by which servers, and what it does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use access::AccessError;
use store::StoreError;
use tokio::sync::Notify;

use crate::metrics::JobName;
use crate::tls::TlsError;

/// Which of the servers of one store do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Each for itself: it changes nothing that is stored.
    EveryServer,
    /// The one that holds the store's lock for jobs.
    OneServer,
}

/// Why a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Time,
    /// Somebody did not want to wait for the time.
    Demand,
}

/// Work is done in portions, so that whoever writes to the store meanwhile does not wait long, and the server can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// There may be more to do in this run, after a pause.
    More,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the certificate from before stays in use: {0}")]
    Tls(#[from] TlsError),
    #[error("it ended unexpectedly")]
    Panicked,
}

/// A portion of the work. It may wait for the disk: it is called on a thread for that.
pub(crate) type Work = Arc<dyn Fn(Trigger) -> Result<Progress, JobError> + Send + Sync>;

pub(crate) struct Job {
    pub(crate) name: JobName,
    pub(crate) place: Place,
    /// After the start of the server, at most.
    pub(crate) first_after: Duration,
    /// From the end of a run to the next one, at most.
    pub(crate) every: Duration,
    /// Begins a run at once.
    pub(crate) demand: Arc<Notify>,
    pub(crate) work: Work,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Job { name, place, every, .. } = self;
        write!(f, "Job {{ name: {name:?}, place: {place:?}, every: {every:?} }}")
    }
}
