//! Detects imports and changes of other processes and announces them through [`Core::changes`],
//! without a request. It has its own database connections: requests check versions themselves and
//! never wait for this job.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::VersionReader;
use tokio::sync::Notify;

use super::job::{Job, JobError, Progress, RunsOn};
use crate::core::{Core, Versions};
use crate::metrics::JobName;

/// A check without changes costs two statements that read no page.
const EVERY: Duration = Duration::from_secs(1);

struct Readers {
    store: VersionReader,
    accounts: VersionReader,
}

pub(super) fn job(core: &Arc<Core>) -> Job {
    let (core, readers) = (core.clone(), Mutex::new(None));
    Job {
        name: JobName::StoreChanges,
        place: RunsOn::EveryServer,
        first_after: Duration::ZERO,
        every: EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            let mut readers = readers.lock().unwrap_or_else(PoisonError::into_inner);
            core.tell_versions(look(&core, &mut readers)?);
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
