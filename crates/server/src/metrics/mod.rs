//! Numbers about the service, for whoever watches it. A request adds to a few counters that are found by index: no lock,
//! no memory, no name is looked up. Everything else is gathered when somebody asks ([`gather`]).

mod gather;
mod labels;
mod process;
mod text;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use gather::exposition;
pub(crate) use labels::{Connection, Door, Entry, Grant, Granted, Handshake, Outcome, Proven, Reload, Task};
pub(crate) use process::disk;

/// Upper bounds of the buckets of a duration, in nanoseconds: from an answer out of memory to a client's patience.
pub(super) const BOUNDS_NS: [u64; 14] = [
    25_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    1_000_000_000,
    5_000_000_000,
];
const BUCKETS: usize = BOUNDS_NS.len() + 1;

/// How long things took. The buckets do not contain each other; whoever reads adds them up.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Histogram {
    fn observe(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let at = BOUNDS_NS.iter().position(|bound| took <= *bound).unwrap_or(BOUNDS_NS.len());
        if let Some(bucket) = self.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_ns.fetch_add(took, Ordering::Relaxed);
    }

    fn read(&self) -> ([u64; BUCKETS], u64) {
        (
            self.buckets.each_ref().map(|bucket| bucket.load(Ordering::Relaxed)),
            self.sum_ns.load(Ordering::Relaxed),
        )
    }

    fn is_empty(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.load(Ordering::Relaxed) == 0)
    }
}

/// Counters by the index of a label.
#[derive(Debug)]
pub(crate) struct Counters<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Counters<N> {
    fn default() -> Counters<N> {
        Counters(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl<const N: usize> Counters<N> {
    fn add(&self, at: usize, count: u64) {
        if let Some(counter) = self.0.get(at) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn get(&self, at: usize) -> u64 {
        self.0.get(at).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}

/// What is counted of one kind of request by one door.
#[derive(Debug, Default)]
struct Requests {
    outcomes: Counters<{ Outcome::COUNT }>,
    durations: Histogram,
}

#[derive(Debug)]
pub(crate) struct Metrics {
    /// By door, then by task.
    requests: Box<[Requests]>,
    sent_bytes: Counters<{ Door::COUNT }>,
    candles: AtomicU64,
    cache_hits: AtomicU64,
    cache_misses: AtomicU64,
    quota_spends: AtomicU64,
    proofs: Counters<{ Entry::COUNT * Proven::COUNT }>,
    grants: Counters<{ Grant::COUNT * Granted::COUNT }>,
    handshakes: Counters<{ Handshake::COUNT }>,
    reloads: Counters<{ Reload::COUNT }>,
    open: [AtomicI64; Connection::COUNT],
    opened: Counters<{ Connection::COUNT }>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let requests = std::iter::repeat_with(Requests::default).take(Door::COUNT * Task::COUNT);
        Metrics {
            requests: requests.collect(),
            sent_bytes: Counters::default(),
            candles: AtomicU64::new(0),
            cache_hits: AtomicU64::new(0),
            cache_misses: AtomicU64::new(0),
            quota_spends: AtomicU64::new(0),
            proofs: Counters::default(),
            grants: Counters::default(),
            handshakes: Counters::default(),
            reloads: Counters::default(),
            open: std::array::from_fn(|_| AtomicI64::new(0)),
            opened: Counters::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn request(&self, door: Door, task: Task, outcome: Outcome, took: Duration, bytes: u64) {
        if let Some(requests) = self.requests(door, task) {
            requests.outcomes.add(outcome.index(), 1);
            requests.durations.observe(took);
        }
        self.sent_bytes.add(door.index(), bytes);
    }

    fn requests(&self, door: Door, task: Task) -> Option<&Requests> {
        self.requests.get(door.index() * Task::COUNT + task.index())
    }

    pub(crate) fn candles(&self, count: usize) {
        self.candles.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// A question that memory alone has answered.
    pub(crate) fn cache_hit(&self) {
        self.cache_hits.fetch_add(1, Ordering::Relaxed);
    }

    /// A question that memory might have answered, and did not.
    pub(crate) fn cache_miss(&self) {
        self.cache_misses.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn quota_spent(&self) {
        self.quota_spends.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn proof(&self, entry: Entry, proven: Proven) {
        self.proofs.add(entry.index() * Proven::COUNT + proven.index(), 1);
    }

    pub(crate) fn grant(&self, grant: Grant, granted: Granted) {
        self.grants.add(grant.index() * Granted::COUNT + granted.index(), 1);
    }

    pub(crate) fn handshake(&self, handshake: Handshake) {
        self.handshakes.add(handshake.index(), 1);
    }

    pub(crate) fn reload(&self, reload: Reload) {
        self.reloads.add(reload.index(), 1);
    }

    pub(crate) fn opened(&self, connection: Connection) {
        self.opened.add(connection.index(), 1);
        if let Some(open) = self.open.get(connection.index()) {
            open.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn closed(&self, connection: Connection) {
        if let Some(open) = self.open.get(connection.index()) {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn open(&self, connection: Connection) -> i64 {
        self.open.get(connection.index()).map_or(0, |open| open.load(Ordering::Relaxed))
    }

    pub(crate) fn cache_looks(&self) -> (u64, u64) {
        (self.cache_hits.load(Ordering::Relaxed), self.cache_misses.load(Ordering::Relaxed))
    }
}
