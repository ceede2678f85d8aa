//! Sends batches of partial minutes, on a thread of its own, and notes when each was sent and
//! acknowledged.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use serde_json::Value;

use super::market::{self, Forming};
use super::readers::Arrived;
use crate::paper::client::HttpClient;
use crate::paper::times::Times;

/// What a source sends.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) source: String,
    /// The securities of each batch, in turn.
    pub(super) groups: Vec<Vec<usize>>,
    /// Time from one batch to the next; zero to send each as soon as the last is acknowledged.
    pub(super) every: Duration,
    pub(super) first: usize,
}

/// When a batch was sent, and when its acknowledgement came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) batch: usize,
    pub(super) sent: Duration,
    pub(super) acknowledged: Duration,
}

pub(super) struct Feeder {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<Vec<Sent>>>,
}

impl Feeder {
    /// Starts to send. Times are counted from `began`.
    pub(super) fn start(to: SocketAddr, token: &str, plan: Plan, began: Instant) -> Feeder {
        let ends = Arc::new(AtomicBool::new(false));
        let (end, token) = (ends.clone(), token.to_owned());
        Feeder { ends, thread: std::thread::spawn(move || send(to, &token, &plan, began, &end)) }
    }

    /// Stops, and returns all batches.
    pub(super) fn stop(self) -> anyhow::Result<Vec<Sent>> {
        self.ends.store(true, Ordering::Release);
        self.thread.join().map_err(|_| anyhow!("the feeder has panicked"))?
    }
}

fn send(
    to: SocketAddr,
    token: &str,
    plan: &Plan,
    began: Instant,
    ends: &AtomicBool,
) -> anyhow::Result<Vec<Sent>> {
    let mut client = HttpClient::connect(to, token)?;
    let mut groups: Vec<Forming> = vec![Forming::default(); plan.groups.len()];
    let (mut all, mut due) = (Vec::new(), Instant::now());
    for batch in plan.first.. {
        if ends.load(Ordering::Acquire) {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += plan.every;
        let place = batch % plan.groups.len();
        let (forming, symbols) = groups.get_mut(place).zip(plan.groups.get(place)).context("no group")?;
        let body = forming.body(&plan.source, batch, symbols, market::now()?)?;
        let sent = began.elapsed();
        let answer = client.ask("POST", "/v1/ingest/candles", &body)?;
        let acknowledged = began.elapsed();
        all.push(Sent { batch, sent, acknowledged });
        let answer: Value = serde_json::from_str(&answer)?;
        let accepted = answer.pointer("/data/accepted").and_then(Value::as_u64);
        ensure!(accepted == Some(symbols.len() as u64), "{answer}");
    }
    Ok(all)
}

/// Times from the acknowledgement of a batch to its pushes, and from its request.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    pub(super) since_acknowledged: Times,
    pub(super) since_sent: Times,
}

impl Delays {
    /// Of the pushes whose batch was sent after `from`.
    pub(super) fn of<'a>(
        sent: &[Sent],
        arrived: impl Iterator<Item = &'a Arrived>,
        from: Duration,
    ) -> Delays {
        let mut delays = Delays::default();
        let first = sent.first().map_or(0, |sent| sent.batch);
        for push in arrived {
            let batch = push.batch.checked_sub(first).and_then(|place| sent.get(place));
            if let Some(batch) = batch.filter(|batch| batch.sent >= from) {
                delays.since_acknowledged.push(push.at.saturating_sub(batch.acknowledged));
                delays.since_sent.push(push.at.saturating_sub(batch.sent));
            }
        }
        delays
    }
}
