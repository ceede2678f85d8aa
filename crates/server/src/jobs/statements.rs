//! Creates due statements for paper accounts that were advanced past a statement's instant. Idle
//! accounts are not advanced for this; their statements are created on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use access::AccountId;
use market::Market;
use paper::PaperError;
use trading::statement::made_at;

use super::job::{Job, JobError, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;

/// Maximum delay until progress made by other processes is noticed, in machine time.
const EVERY: Duration = Duration::from_secs(60);
/// Minimum pause between two market dates, so that a fast replay leaves time for requests.
const PAUSE: Duration = Duration::from_millis(250);
/// Maximum number of accounts per portion. Each is a separate transaction.
const TOGETHER_MAX: u32 = 16;

pub(super) fn job(core: &Arc<Core>) -> Job {
    let (core, after) = (core.clone(), AtomicI64::new(i64::MIN));
    Job {
        name: JobName::Statements,
        place: RunsOn::OneServer,
        first_after: Duration::ZERO,
        every: EVERY,
        demand: core.statements_due.clone(),
        work: Arc::new(move |_| make(&core, &after)),
    }
}

/// Creates statements for one portion of accounts, starting after the account id in `after`.
fn make(core: &Core, after: &AtomicI64) -> Result<Progress, JobError> {
    let done = AccountId(after.swap(i64::MIN, Ordering::AcqRel));
    let ids = core.paper.with_statements_due(done, TOGETHER_MAX)?;
    if let Some(last) = ids.last() {
        core.with_reader(|reader| {
            core.paper.make_due_statements(&ids, reader, core);
            Ok::<_, PaperError>(())
        })?;
        // An account that failed is not retried in this run.
        after.store(last.0, Ordering::Release);
        return Ok(Progress::More);
    }
    let (now, zone) = (core.market_now().now(), core.history.venues().of(Market::Hk).zone());
    let today = zone.date(now);
    let of_yesterday = made_at(zone, today.yesterday().unwrap_or(today));
    let next = if of_yesterday > now { of_yesterday } else { made_at(zone, today) };
    let wait = core.market_clock().pace().wait(now, next);
    Ok(wait.map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(PAUSE))))
}
