//! Live pushes and ingest, on loopback: `bench live PART CHANDLER WORK [STORE]` prints a table.
//!
//! The load is one process: an event loop reads all connections (`readers.rs`), and a thread for
//! each source sends batches (`feeder.rs`). Every price names the batch that it came with, so a
//! push shows when its batch was sent and acknowledged. `redis.rs` sends the same bytes to as many
//! subscribers of a Redis server.

mod fanout;
mod feeder;
mod history;
mod ingest;
mod market;
mod minute;
mod place;
mod readers;
mod redis;

use std::path::Path;
use std::time::Duration;

use anyhow::bail;

pub(crate) const PARTS: &str = "fanout|minute|ingest|history";

pub(crate) fn run(part: &str, chandler: &str, work: &Path, store: Option<&str>) -> anyhow::Result<()> {
    let runtime = match part {
        // The queries of this part are as in `bench serve`.
        "history" => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?,
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build()?,
    };
    runtime.block_on(async {
        match part {
            "fanout" => fanout::run(chandler, work).await,
            "minute" => minute::run(chandler, work).await,
            "ingest" => ingest::run(chandler, work, store).await,
            "history" => history::run(chandler, work).await,
            other => bail!("no part {other}: {PARTS}"),
        }
    })
}

/// An optional number of the environment, for a short run.
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**missed**" }
}
