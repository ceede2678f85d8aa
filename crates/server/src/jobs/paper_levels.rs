//! Tallies paper accounts after each market day, if they count toward levels. Otherwise removes
//! earlier tallies, so that no level depends on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use access::AccountId;
use market::{Market, Timestamp};

use super::job::{Job, JobError, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;

/// Maximum delay until accounts opened or rewound by another process are noticed, in machine time.
const EVERY: Duration = Duration::from_secs(60);
/// Minimum pause between two market days, so that a fast replay leaves time for requests.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of accounts tallied in one portion and written in one transaction.
const TOGETHER_MAX: u32 = 128;

pub(super) fn job(core: &Arc<Core>) -> Job {
    let (core, after) = (core.clone(), AtomicI64::new(i64::MIN));
    Job {
        name: JobName::PaperLevels,
        place: RunsOn::OneServer,
        first_after: Duration::ZERO,
        every: EVERY,
        demand: core.paper_levels.due().clone(),
        work: Arc::new(move |_| tally(&core, &after)),
    }
}

/// Tallies one portion of accounts, starting after the account id in `after`.
fn tally(core: &Core, after: &AtomicI64) -> Result<Progress, JobError> {
    if !core.access.counts_paper() {
        core.paper.drop_tallies()?;
        return Ok(Progress::Done);
    }
    let moment = core.paper_moment(core.market_now());
    let days = core.access.tally_days(moment.as_of.now());
    let done = AccountId(after.swap(i64::MIN, Ordering::AcqRel));
    let ids = core.paper.untallied(days.today, done, TOGETHER_MAX)?;
    if let Some(last) = ids.last() {
        core.with_reader(|reader| core.paper.tally(&ids, &days, reader, &moment))?;
        // An account that could not be tallied is not retried in this run.
        after.store(last.0, Ordering::Release);
        return Ok(Progress::More);
    }
    let next = days.today.tomorrow().map(|day| core.history.venues().of(Market::Hk).zone().midnight(day));
    let next = next.unwrap_or(Timestamp(i64::MAX));
    let wait = core.market_clock().pace().wait(moment.as_of.now(), next);
    Ok(wait.map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(PAUSE))))
}
