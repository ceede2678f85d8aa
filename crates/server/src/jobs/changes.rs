//! Detects imports and changes of other processes without a request, and runs the paper accounts
//! sooner: their orders may be waiting for new candles. It has its own database connections:
//! requests check versions themselves and never wait for this job.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::VersionReader;
use tokio::sync::Notify;

use super::job::{Job, JobError, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;

/// A check without changes costs two statements that read no page.
const EVERY: Duration = Duration::from_secs(1);

struct Readers {
    store: VersionReader,
    accounts: VersionReader,
}

/// The versions of both databases. Changes of every process increase them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Versions {
    /// Grows with candles, securities and corporate actions.
    store: i64,
    /// Grows with changes to accounts and rights, and with everything that ends a sign-in.
    accounts: i64,
}

pub(super) fn job(core: &Arc<Core>) -> Job {
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
            }
            Ok(Progress::Done)
        }),
    }
}

fn look(core: &Core, readers: &mut Option<Readers>) -> Result<Versions, JobError> {
    // The next check reopens failed connections.
    let mut open = match readers.take() {
        Some(open) => open,
        None => Readers { store: core.store.version_reader()?, accounts: core.access.version_reader()? },
    };
    let versions = Versions { store: open.store.version()?, accounts: open.accounts.version()? };
    *readers = Some(open);
    Ok(versions)
}
