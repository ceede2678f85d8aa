//! Lets happen to paper accounts what the market brings while nobody asks: to those with open orders, when a candle may fill one of
//! them or the clock ends it. One server of a store does it; every server hears of what another has done, for those who listen here.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use history::AsOf;
use market::{Market, Timestamp};
use paper::PaperError;
use store::Reader;
use tokio::sync::Notify;
use trading::statement::last_made_at;

use super::job::{Job, JobError, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;

/// What another process has given an account to wait for is found within this time, by the machine's clock.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How soon those who listen hear of what another process has done.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);
/// Between two looks at accounts, at least: a market that is played quickly leaves time for requests.
const LOOK_PAUSE: Duration = Duration::from_millis(20);
/// After a look that could not do all that was due.
const FAILED_PAUSE: Duration = Duration::from_secs(1);
/// Accounts that are advanced in one portion, and written in one transaction.
const TOGETHER_MAX: u32 = 1_024;

pub(super) fn advance(core: &Arc<Core>) -> Job {
    let (core, seen, past) = (core.clone(), AtomicI64::new(i64::MIN), AtomicI64::new(i64::MIN));
    let demand = core.listeners.sooner().clone();
    Job {
        name: JobName::PaperAccounts,
        place: RunsOn::OneServer,
        first_after: Duration::ZERO,
        every: LOOK_EVERY,
        demand,
        work: Arc::new(move |_| look(&core, &seen, &past)),
    }
}

/// `seen` is the version of the candles that accounts have been advanced by, `past` the last instant of statements that they have come past.
fn look(core: &Core, seen: &AtomicI64, past: &AtomicI64) -> Result<Progress, JobError> {
    // No wake is planned during this run, so an order that is added meanwhile triggers another run.
    core.listeners.plan(None);
    let moment = core.paper_moment();
    let now = moment.as_of.now();
    let version = core.with_reader(Reader::version)?;
    // By the machine's clock a candle may come late, and then any order that waits may be the one it fills.
    let has_come = matches!(moment.as_of, AsOf::Live(_)) && seen.load(Ordering::Acquire) != version;
    let due = if has_come {
        core.paper.due(Timestamp(i64::MAX), u32::MAX)?
    } else {
        core.paper.due(now, TOGETHER_MAX)?
    };
    for together in due.chunks(TOGETHER_MAX as usize) {
        core.with_reader(|reader| {
            core.paper.advance(together, (reader, core));
            Ok::<_, PaperError>(())
        })?;
    }
    if has_come {
        // Only now: a run that fails before is made again.
        seen.store(version, Ordering::Release);
    }
    // Journals that have come past the instant of a statement are what it is made of: without this, the look that was begun by the same
    // clock would have found them where they were.
    let made_at = last_made_at(core.history.venues().of(Market::Hk).zone(), now);
    let is_last = has_come || due.len() < TOGETHER_MAX as usize;
    if !due.is_empty() && is_last && past.swap(made_at.0, Ordering::AcqRel) != made_at.0 {
        core.statements_due.notify_one();
    }
    let next = core.paper.next_wake()?;
    core.listeners.plan(next);
    let Some(next) = next else { return Ok(Progress::Done) };
    let (now, pace) = (core.market_now(), core.market_clock().pace());
    // If the same are due as before, none of them could be advanced.
    let is_full = due.len() >= TOGETHER_MAX as usize && next <= now;
    if is_full && core.paper.due(now, TOGETHER_MAX)? != due {
        return Ok(Progress::More);
    }
    // Those that were due and still are could not be advanced.
    let wait = if next <= moment.as_of.now() { Some(FAILED_PAUSE) } else { pace.wait(now, next) };
    Ok(wait.map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(LOOK_PAUSE))))
}

pub(super) fn follow(core: &Arc<Core>) -> Job {
    let core = core.clone();
    Job {
        name: JobName::PaperListeners,
        place: RunsOn::EveryServer,
        first_after: FOLLOW_EVERY,
        every: FOLLOW_EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            core.paper.follow_all(&core.listeners.accounts())?;
            Ok(Progress::Done)
        }),
    }
}
