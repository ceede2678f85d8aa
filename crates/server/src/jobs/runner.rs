//! Definition of a job (its name, interval and work, and the servers it runs on), and the runner.
//! Each job has a task that waits until the job is due, runs the work on a blocking thread, and
//! counts the result. A failure or panic affects only that run. Stopping the runner aborts the
//! tasks immediately. A portion already running on a thread finishes, but the runner does not wait
//! for it.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use access::AccessError;
use history::ingest::IngestError;
use paper::PaperError;
use store::{JobLock, Store, StoreError};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::core::Core;
use crate::metrics::{JobName, JobOutcome};
use crate::pushes::{AlertError, PublishError};
use crate::tls::TlsError;
use crate::worlds::WorldError;

/// Pause between two portions of a run, so that requests can write to the store.
const PORTION_PAUSE: Duration = Duration::from_millis(50);
/// Jitter divisor: a run may start early by up to this fraction of its interval.
const JITTER_PART: u32 = 10;

/// Whether the job runs on every server of a store or on one server.
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
    /// There is nothing to do for this duration. The next run starts after this duration or after
    /// the interval, whichever is shorter.
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
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Alerts(#[from] AlertError),
    #[error("the previous certificate stays in use: {0}")]
    Tls(#[from] TlsError),
    #[error("cannot merge ingested batches: {0}")]
    Ingest(#[from] IngestError),
    #[error("cannot read the worlds: {0}")]
    Worlds(#[from] WorldError),
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
    /// Maximum delay from the end of a run to the start of the next run.
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

#[derive(Debug)]
pub(crate) struct Runner {
    tasks: JoinSet<()>,
}

impl Runner {
    /// Spawns a task per job. Must be called within a Tokio runtime.
    pub(crate) fn start(core: &Arc<Core>, jobs: Vec<Job>) -> Runner {
        let lock = Arc::new(HeldLock::default());
        let mut tasks = JoinSet::new();
        for job in jobs {
            tasks.spawn(repeat(job, core.clone(), lock.clone()));
        }
        Runner { tasks }
    }

    /// Stops every job. A portion queued for a thread may still run, which is safe because each
    /// portion is one transaction.
    pub(crate) async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

/// The store's job lock, once this server holds it. Running portions share the lock, so it is
/// released only after the last portion has ended.
#[derive(Debug, Default)]
struct HeldLock(Mutex<Option<JobLock>>);

impl HeldLock {
    /// Acquires the lock if it is free. Returns whether this server holds the lock.
    fn take(&self, store: &Store) -> Result<bool, StoreError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A lost lock must be dropped before it can be acquired again.
        if held.as_ref().is_some_and(|lock| !lock.is_held()) {
            *held = None;
        }
        if held.is_none() {
            *held = store.job_lock()?;
        }
        Ok(held.is_some())
    }
}

async fn repeat(job: Job, core: Arc<Core>, lock: Arc<HeldLock>) {
    let mut wait = jittered(job.first_after, random());
    let mut last_error = None;
    loop {
        let trigger = match timeout(wait, job.demand.notified()).await {
            Ok(()) => Trigger::Demand,
            Err(_) => Trigger::Time,
        };
        let began = Instant::now();
        let mut next = job.every;
        let outcome = match run(&job, trigger, &core, &lock).await {
            Ok((outcome, done_for)) => {
                last_error = None;
                next = done_for.map_or(next, |done_for| next.min(done_for));
                outcome
            }
            Err(error) => {
                let error = error.to_string();
                // Log repeated failures with the same error only once.
                if last_error.as_ref() == Some(&error) && trigger == Trigger::Time {
                    tracing::debug!(job = job.name.as_str(), error, "a background job failed again");
                } else {
                    tracing::error!(job = job.name.as_str(), error, "a background job failed");
                }
                last_error = Some(error);
                JobOutcome::Failed
            }
        };
        core.metrics.job(job.name, outcome, began.elapsed(), core.machine_now());
        wait = if next < job.every { next } else { jittered(job.every, random()) };
    }
}

/// Runs all portions of one run. Returns how long there is nothing to do, or `None` if the work
/// does not report it.
async fn run(
    job: &Job,
    trigger: Trigger,
    core: &Arc<Core>,
    lock: &Arc<HeldLock>,
) -> Result<(JobOutcome, Option<Duration>), JobError> {
    if job.place == RunsOn::OneServer {
        let (core, lock) = (core.clone(), lock.clone());
        if !on_thread(move || Ok(lock.take(&core.store)?)).await? {
            return Ok((JobOutcome::Elsewhere, None));
        }
    }
    loop {
        let (work, lock) = (job.work.clone(), lock.clone());
        let portion = move || {
            let _held = lock;
            work(trigger)
        };
        match on_thread(portion).await? {
            Progress::Done => return Ok((JobOutcome::Ok, None)),
            Progress::DoneFor(time) => return Ok((JobOutcome::Ok, Some(time))),
            Progress::More => sleep(PORTION_PAUSE).await,
        }
    }
}

async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JobError> + Send + 'static,
) -> Result<T, JobError> {
    // The panic hook has already logged the panic.
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(JobError::Panicked))
}

/// Shortens a wait by up to a tenth at random, so that servers started together do not run their
/// jobs at the same time.
pub(super) fn jittered(wait: Duration, random: u64) -> Duration {
    let most = u64::try_from((wait / JITTER_PART).as_nanos()).unwrap_or(u64::MAX);
    let sooner = random.checked_rem(most.saturating_add(1)).unwrap_or_default();
    wait.saturating_sub(Duration::from_nanos(sooner))
}

fn random() -> u64 {
    // `RandomState::new` has random keys, so its hasher yields a random number.
    RandomState::new().build_hasher().finish()
}
