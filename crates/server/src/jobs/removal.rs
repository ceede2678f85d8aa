//! Jobs that remove expired grants, uploads, ended worlds and audit rows.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use access::Actor;
use market::Timestamp;
use tokio::sync::Notify;

use super::runner::{Job, Progress, RunsOn};
use crate::core::Core;
use crate::links::Links;
use crate::metrics::JobName;
use crate::world_changes;

const FIRST_AFTER: Duration = Duration::from_secs(60);
const EVERY: Duration = Duration::from_secs(600);
const AUDIT_EVERY: Duration = Duration::from_secs(3_600);
const DAY_S: i64 = 86_400;

/// Removes expired tokens, codes, devices, browser sessions and idempotency keys. Issuing a new
/// grant also removes some expired grants, so this job matters for stores in which many grants were
/// issued once and few are issued now.
pub(super) fn expired_grants(core: &Arc<Core>) -> Job {
    let core = core.clone();
    Job {
        name: JobName::ExpiredGrants,
        place: RunsOn::OneServer,
        first_after: FIRST_AFTER,
        every: EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            let now = core.machine_now();
            let is_left = core.access.remove_expired(now)? > 0 || core.paper.forget_requests(now)? > 0;
            Ok(if is_left { Progress::More } else { Progress::Done })
        }),
    }
}

/// Removes complete and incomplete uploads older than a day.
pub(super) fn uploads(core: &Arc<Core>) -> Job {
    let core = core.clone();
    Job {
        name: JobName::Uploads,
        place: RunsOn::OneServer,
        first_after: FIRST_AFTER,
        every: EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            core.intake.expire()?;
            Ok(Progress::Done)
        }),
    }
}

/// Deletes worlds that ended longer ago than the setting `worlds_keep_days`.
pub(super) fn ended_worlds(core: &Arc<Core>, links: &Links, days: NonZeroU32) -> Job {
    let (core, links) = (core.clone(), links.clone());
    Job {
        name: JobName::EndedWorlds,
        place: RunsOn::OneServer,
        first_after: FIRST_AFTER,
        every: EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            let is_left = world_changes::remove_ended(&core, &links, days.get())?;
            Ok(if is_left { Progress::More } else { Progress::Done })
        }),
    }
}

/// Removes audit rows older than the setting `audit_retention_days`.
pub(super) fn audit_retention(core: &Arc<Core>, days: NonZeroU32) -> Job {
    let core = core.clone();
    Job {
        name: JobName::AuditRetention,
        place: RunsOn::OneServer,
        first_after: FIRST_AFTER,
        every: AUDIT_EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            let now = core.machine_now();
            match core.access.prune_oldest_audit(kept_from(now, days), &Actor::Service, now)? {
                0 => Ok(Progress::Done),
                _ => Ok(Progress::More),
            }
        }),
    }
}

/// Returns the retention cutoff, before which rows are removed. The cutoff is the start of a UTC
/// day, so that the audit log is pruned at most once a day, because each pruning adds a row.
pub(super) fn kept_from(now: Timestamp, days: NonZeroU32) -> Timestamp {
    let today = now.0.saturating_sub(now.0.rem_euclid(DAY_S));
    Timestamp(today.saturating_sub(i64::from(days.get()).saturating_mul(DAY_S)))
}
