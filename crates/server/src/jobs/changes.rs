//! Jobs that detect changes made outside the server, to the databases and to the certificate files.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use access::Freshness;
use store::VersionReader;
use tokio::sync::Notify;

use super::runner::{Job, JobError, Progress, RunsOn, Trigger};
use crate::core::Core;
use crate::links::Links;
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
/// because orders may be waiting for the new candles. Connections of accounts and sessions that have
/// ended are closed; changes of accounts by this process run the job immediately. The job has its
/// own database connections. Requests check versions themselves and never wait for the job.
pub(super) fn of_store(core: &Arc<Core>, links: &Links) -> Job {
    let (core, links, state) = (core.clone(), links.clone(), Mutex::new((None, None, None)));
    let demand = Arc::<Notify>::default();
    let changed = demand.clone();
    core.access.on_change(move || changed.notify_one());
    Job {
        name: JobName::StoreChanges,
        place: RunsOn::EveryServer,
        first_after: Duration::ZERO,
        every: EVERY,
        demand,
        work: Arc::new(move |_| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (readers, seen, checked) = &mut *state;
            close_ended(&core, &links, checked)?;
            let versions = look(&core, readers)?;
            if seen.replace(versions) != Some(versions) {
                core.listeners.sooner().notify_one();
                // Ends subscriptions for which the right was withdrawn.
                core.live.sooner().notify_one();
            }
            world_changes::refresh(&core)?;
            Ok(Progress::Done)
        }),
    }
}

/// Closes connections of accounts and sessions that have ended, if accounts have changed. `checked`
/// is the version of the last check.
fn close_ended(core: &Core, links: &Links, checked: &mut Option<i64>) -> Result<(), JobError> {
    let version = core.access.version_check()?;
    if *checked == Some(version) {
        return Ok(());
    }
    // If an account cannot be looked up, its connections are checked with their next ping.
    links.close_ended(|who| core.access.is_valid(who, Freshness::Recent).is_ok_and(|is_valid| !is_valid));
    core.check_streams();
    *checked = Some(version);
    Ok(())
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
