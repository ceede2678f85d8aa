//! The job that merges ingested batches into the store, and marks minutes as final when they are
//! due.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::runner::{Job, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;

/// Interval between checks for batches from other processes.
const EVERY: Duration = Duration::from_secs(1);
/// Interval between checks if several servers share the store. Each server pushes the batches that
/// the other servers have merged.
const EVERY_OF_NODES: Duration = Duration::from_millis(200);
/// Time until the next attempt after a merge failed because another process was writing to the
/// store.
const RETRY: Duration = Duration::from_millis(50);
/// Time until the server checks again whether another server has merged the waiting batches.
const RECHECK: Duration = Duration::from_millis(100);
/// Maximum pause after a merge.
const PAUSE_MAX: Duration = Duration::from_millis(25);
/// Divisor of the merge's duration that gives the pause after the merge.
const PAUSE_SHARE: u32 = 4;

pub(super) fn merge(core: &Arc<Core>) -> Job {
    let (core, seen) = (core.clone(), AtomicI64::new(0));
    let is_shared = core.access.is_shared();
    let every = if is_shared { EVERY_OF_NODES } else { EVERY };
    if is_shared {
        core.store.on_news(core.ingest.listener());
    }
    Job {
        name: JobName::Ingest,
        place: RunsOn::EveryServer,
        first_after: Duration::ZERO,
        every,
        demand: core.ingest.demand(),
        work: Arc::new(move |_| {
            let (now, began) = (core.machine_now(), Instant::now());
            let merged = core.with_reader(|reader| match is_shared {
                true => core.ingest.merge_in_turn(reader, now),
                false => core.ingest.merge(reader, now),
            });
            let merged = match merged {
                Err(error) if error.is_busy() => return Ok(Progress::DoneFor(RETRY)),
                merged => merged?,
            };
            if seen.swap(merged.through, Ordering::AcqRel) != merged.through {
                core.live.sooner().notify_one();
            }
            if merged.has_changed {
                // Orders may be waiting for the new candles.
                core.listeners.sooner().notify_one();
            }
            if merged.has_more && !merged.has_changed {
                return Ok(Progress::DoneFor(RECHECK));
            }
            if merged.has_more {
                core.ingest.demand().notify_one();
            }
            if merged.has_changed {
                // More batches are queued during the pause. Merging several batches takes hardly
                // longer than merging one.
                std::thread::sleep((began.elapsed() / PAUSE_SHARE).min(PAUSE_MAX));
            }
            let until_final = merged.next_final.and_then(|at| u64::try_from(at.0 - now.0).ok());
            Ok(until_final.map_or(Progress::Done, |seconds| Progress::DoneFor(Duration::from_secs(seconds))))
        }),
    }
}
