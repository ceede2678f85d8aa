//! Jobs that detect changes made outside the server, to the databases and to the certificate files.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::VersionReader;
use tokio::sync::Notify;

use super::runner::{Job, JobError, Progress, RunsOn, Trigger};
use crate::core::Core;
use crate::metrics::JobName;
use crate::tls::Tls;
use crate::world_changes;

/// Interval between checks of the databases. A check without changes costs two SQL statements that
/// read no page.
const EVERY: Duration = Duration::from_secs(1);

struct Readers {
    store: VersionReader,
    accounts: VersionReader,
}

/// Versions of both databases, incremented by changes in any process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Versions {
    /// Incremented by changes to candles, securities and corporate actions.
    store: i64,
    /// Incremented by changes to accounts and rights, and by everything that ends a sign-in.
    accounts: i64,
}

/// Detects imports and account changes by other processes, and wakes the paper account job early,
/// because orders may be waiting for the new candles. The job has its own database connections.
/// Requests check versions themselves and never wait for the job.
pub(super) fn of_store(core: &Arc<Core>) -> Job {
    let (core, state) = (core.clone(), Mutex::new((None, None)));
    Job {
        name: JobName::StoreChanges,
        place: RunsOn::EveryServer,
        first_after: Duration::ZERO,
        every: EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (readers, seen) = &mut *state;
            let versions = look(&core, readers)?;
            if seen.replace(versions) != Some(versions) {
                core.listeners.sooner().notify_one();
                // Subscriptions without a right end, and connections of revoked accounts.
                core.live.sooner().notify_one();
            }
            world_changes::refresh(&core)?;
            Ok(Progress::Done)
        }),
    }
}

fn look(core: &Core, readers: &mut Option<Readers>) -> Result<Versions, JobError> {
    // The connections are taken out of the option, so that failed connections are dropped and the
    // next check opens new connections.
    let mut open = match readers.take() {
        Some(open) => open,
        None => Readers { store: core.store.version_reader()?, accounts: core.access.version_reader()? },
    };
    let versions = Versions { store: open.store.version()?, accounts: open.accounts.version()? };
    *readers = Some(open);
    Ok(versions)
}

/// Interval between checks of the certificate files.
const CERTIFICATE_EVERY: Duration = Duration::from_secs(30);

/// Reloads the certificate when its files have changed, or immediately on request (SIGHUP).
pub(super) fn of_certificate(core: &Arc<Core>, tls: &Arc<Tls>) -> Job {
    let (core, tls) = (core.clone(), tls.clone());
    Job {
        name: JobName::Certificate,
        place: RunsOn::EveryServer,
        first_after: CERTIFICATE_EVERY,
        every: CERTIFICATE_EVERY,
        demand: tls.demand(),
        work: Arc::new(move |trigger| {
            tls.look(trigger == Trigger::Demand, &core.metrics)?;
            Ok(Progress::Done)
        }),
    }
}
