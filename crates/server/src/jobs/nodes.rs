//! Heartbeat of this server when several servers share a database. The heartbeat closes connections
//! that other nodes have ended, and detects when the database becomes unreachable or reachable
//! again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use access::DatabaseState;
use tokio::sync::Notify;

use super::runner::{Job, JobError, Progress, RunsOn};
use crate::core::Core;
use crate::links::Links;
use crate::metrics::JobName;

/// Heartbeat interval. Other nodes consider a node dead after fifteen seconds.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// Maximum clock difference that paper accounts tolerate, in seconds.
const CLOCKS_APART_S: i64 = 2;
/// Interval between removals of expired shared rows. The interval is long, because expired rows
/// only cost space.
const SWEEP_EVERY: Duration = Duration::from_secs(600);

pub(super) fn heartbeat(core: &Arc<Core>, links: &Links) -> Job {
    let (core, links) = (core.clone(), links.clone());
    let is_apart = AtomicBool::new(false);
    Job {
        name: JobName::Nodes,
        place: RunsOn::EveryServer,
        first_after: Duration::ZERO,
        every: BEAT_EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            let before = core.access.reached(core.uptime());
            let silent = links.changed_silence(core.uptime());
            let heartbeat = core.access.heartbeat(&core.node_name, &silent, core.uptime());
            log_change(before, core.access.reached(core.uptime()));
            let ended = heartbeat?;
            tell_clock(&core, &is_apart);
            links.told_silence(&silent);
            for (id, why) in ended {
                links.end(id, why);
            }
            Ok(Progress::Done)
        }),
    }
}

/// Logs a warning when this machine's clock starts to differ from the database's clock, because
/// nodes would then disagree about the time.
fn tell_clock(core: &Core, is_apart: &AtomicBool) {
    let Some(there) = core.access.database_clock(core.uptime()) else { return };
    let ahead_s = core.machine_now().0.saturating_sub(there.0);
    let now = ahead_s.abs() > CLOCKS_APART_S;
    if now && !is_apart.swap(now, Ordering::AcqRel) {
        tracing::warn!(
            ahead_s,
            "the clocks of this machine and the database differ: synchronize them with NTP"
        );
    }
    is_apart.store(now, Ordering::Release);
}

/// Logs when the database becomes unreachable, and when it is reachable again.
fn log_change(before: DatabaseState, now: DatabaseState) {
    let is_unreachable = |reached| matches!(reached, DatabaseState::Away(_) | DatabaseState::Lost(_));
    match (before, now) {
        (before, DatabaseState::Away(_)) if !is_unreachable(before) => {
            tracing::error!("the database is unreachable: serving from cached state");
        }
        (DatabaseState::Away(_), DatabaseState::Lost(since)) => {
            tracing::error!(
                since_s = since.as_secs(),
                "the database has been unreachable for too long: requests are refused"
            );
        }
        (before, now) if is_unreachable(before) && !is_unreachable(now) => {
            tracing::warn!("the database is reachable again")
        }
        _ => {}
    }
}

pub(super) fn sweep(core: &Arc<Core>) -> Job {
    let (core, after) = (core.clone(), AtomicI64::new(NOWHERE));
    Job {
        name: JobName::SharedState,
        place: RunsOn::OneServer,
        first_after: SWEEP_EVERY,
        every: SWEEP_EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| portion(&core, &after)),
    }
}

/// Sentinel for the start of a sweep, because no account has this id.
const NOWHERE: i64 = i64::MIN;

fn portion(core: &Core, after: &AtomicI64) -> Result<Progress, JobError> {
    let from = Some(after.load(Ordering::Acquire)).filter(|from| *from != NOWHERE);
    let next = core.access.sweep_shared(from, core.machine_now())?;
    after.store(next.unwrap_or(NOWHERE), Ordering::Release);
    Ok(if next.is_some() { Progress::More } else { Progress::Done })
}
