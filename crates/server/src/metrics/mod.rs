//! Metrics. A request increments a few counters of its thread, which are found by index, without a
//! lock, an allocation, a lookup by name, or contention with other processors. All other metrics
//! are gathered when `/metrics` is read (`http/watch/gather.rs`).

mod labels;
mod process;
mod pushes;
mod text;

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use market::Timestamp;

pub(crate) use labels::{
    Agent, Authenticated, COMMANDS_MAX, CliCommand, CommandLabel, Connection, Entry, Grant, Granted,
    Handshake, JobName, JobOutcome, Outcome, Reload, Task, TransportLabel,
};
pub use process::count_lost_log_lines;
pub(crate) use process::{disk, lost_log_lines, process};
pub(crate) use pushes::{PushLoad, PushMetrics};
pub(crate) use text::{Kind, Text, seconds};

/// Upper bounds of the duration buckets in nanoseconds. They range from an answer from memory to a
/// client timeout.
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

/// A histogram of durations. The buckets are stored non-cumulatively and summed when read.
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

    fn add(&self, other: &Histogram) {
        for (bucket, of_other) in self.buckets.iter().zip(&other.buckets) {
            bucket.fetch_add(of_other.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.sum_ns.fetch_add(other.sum_ns.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.load(Ordering::Relaxed) == 0)
    }
}

/// Counters indexed by label.
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

    pub(crate) fn get(&self, at: usize) -> u64 {
        self.0.get(at).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}

/// Counters of one task on one transport.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) outcomes: Counters<{ Outcome::COUNT }>,
    pub(crate) durations: Histogram,
}

impl Requests {
    fn add(&self, other: &Requests) {
        for at in 0..Outcome::COUNT {
            self.outcomes.add(at, other.outcomes.get(at));
        }
        self.durations.add(&other.durations);
    }
}

/// Counters of some of the threads. Two processors that increment one counter pass its cache line
/// back and forth, which takes longer than all other counting work. Each thread therefore has a
/// stripe, and stripes are summed when read. A stripe is aligned to two cache lines, because
/// processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Stripe {
    /// Indexed by transport, then by task.
    requests: Box<[Requests]>,
    pub(crate) sent_bytes: Counters<{ TransportLabel::COUNT }>,
    pub(crate) agents: Counters<{ Agent::COUNT }>,
    pub(crate) cli_commands: Counters<{ CliCommand::COUNT }>,
    pub(crate) candles: AtomicU64,
    cache_hits: AtomicU64,
    cache_misses: AtomicU64,
}

/// Number of stripes. With more threads than this, threads share stripes.
const STRIPES: usize = 8;

thread_local! {
    /// Index of this thread's stripe. Threads are assigned to stripes in the order in which they
    /// first count.
    static STRIPE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES
    };
}

impl Default for Stripe {
    fn default() -> Stripe {
        let requests = std::iter::repeat_with(Requests::default).take(TransportLabel::COUNT * Task::COUNT);
        Stripe {
            requests: requests.collect(),
            sent_bytes: Counters::default(),
            agents: Counters::default(),
            cli_commands: Counters::default(),
            candles: AtomicU64::new(0),
            cache_hits: AtomicU64::new(0),
            cache_misses: AtomicU64::new(0),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Metrics {
    stripes: [Stripe; STRIPES],
    pub(crate) quota_spends: AtomicU64,
    pub(crate) credentials: Counters<{ Entry::COUNT * Authenticated::COUNT }>,
    pub(crate) grants: Counters<{ Grant::COUNT * Granted::COUNT }>,
    pub(crate) handshakes: Counters<{ Handshake::COUNT }>,
    pub(crate) reloads: Counters<{ Reload::COUNT }>,
    open: [AtomicI64; Connection::COUNT],
    pub(crate) opened: Counters<{ Connection::COUNT }>,
    pub(crate) pauses: AtomicU64,
    pub(crate) jobs: [JobCounters; JobName::COUNT],
    pub(crate) pushes: PushMetrics,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            stripes: std::array::from_fn(|_| Stripe::default()),
            quota_spends: AtomicU64::new(0),
            credentials: Counters::default(),
            grants: Counters::default(),
            handshakes: Counters::default(),
            reloads: Counters::default(),
            open: std::array::from_fn(|_| AtomicI64::new(0)),
            opened: Counters::default(),
            pauses: AtomicU64::new(0),
            jobs: std::array::from_fn(|_| JobCounters::default()),
            pushes: PushMetrics::default(),
        }
    }
}

/// Returns the resident memory of this process in bytes, or `None` if the operating system does not
/// report it.
pub(crate) fn resident_bytes() -> Option<u64> {
    process::process().resident_bytes
}

impl Metrics {
    pub(crate) fn request(
        &self,
        transport: TransportLabel,
        task: Task,
        outcome: Outcome,
        took: Duration,
        bytes: u64,
    ) {
        let Some(stripe) = self.stripe() else { return };
        if let Some(requests) = stripe.requests.get(transport.index() * Task::COUNT + task.index()) {
            requests.outcomes.add(outcome.index(), 1);
            requests.durations.observe(took);
        }
        stripe.sent_bytes.add(transport.index(), bytes);
    }

    /// Counts the program that sent an HTTP request.
    pub(crate) fn program(&self, agent: Agent, command: Option<CliCommand>) {
        let Some(stripe) = self.stripe() else { return };
        stripe.agents.add(agent.index(), 1);
        if let Some(command) = command {
            stripe.cli_commands.add(command.index(), 1);
        }
    }

    /// Returns this thread's stripe.
    fn stripe(&self) -> Option<&Stripe> {
        self.stripes.get(STRIPE.with(|number| *number))
    }

    /// Returns the sum of all stripes for a transport and task.
    pub(crate) fn requests(&self, transport: TransportLabel, task: Task) -> Requests {
        let all = Requests::default();
        let at = transport.index() * Task::COUNT + task.index();
        self.stripes.iter().filter_map(|stripe| stripe.requests.get(at)).for_each(|some| all.add(some));
        all
    }

    pub(crate) fn sum(&self, of: impl Fn(&Stripe) -> u64) -> u64 {
        self.stripes.iter().map(of).fold(0, u64::saturating_add)
    }

    pub(crate) fn candles(&self, count: usize) {
        if let Some(stripe) = self.stripe() {
            stripe.candles.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    /// Counts a query that was answered from the cache alone.
    pub(crate) fn cache_hit(&self) {
        if let Some(stripe) = self.stripe() {
            stripe.cache_hits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a query that could have been answered from the cache but was not.
    pub(crate) fn cache_miss(&self) {
        if let Some(stripe) = self.stripe() {
            stripe.cache_misses.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a pause in reading after too many refusals.
    pub(crate) fn paused(&self) {
        self.pauses.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn quota_spent(&self) {
        self.quota_spends.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn credentials(&self, entry: Entry, authenticated: Authenticated) {
        self.credentials.add(entry.index() * Authenticated::COUNT + authenticated.index(), 1);
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

    /// Counts a job run that ended at `now`.
    pub(crate) fn job(&self, name: JobName, outcome: JobOutcome, took: Duration, now: Timestamp) {
        if let Some(job) = self.jobs.get(name.index()) {
            job.ended(outcome, took, now);
        }
    }

    /// Returns the number of job runs with this outcome.
    #[cfg(test)]
    pub(crate) fn job_runs(&self, name: JobName, outcome: JobOutcome) -> u64 {
        self.jobs.get(name.index()).map_or(0, |job| job.outcomes.get(outcome.index()))
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

    /// Returns the number of answered and refused requests since server start, on all transports.
    pub(crate) fn request_totals(&self) -> (u64, u64) {
        let of = |outcome: Outcome| {
            self.sum(|stripe| {
                let counted = stripe.requests.iter().map(|some| some.outcomes.get(outcome.index()));
                counted.fold(0, u64::saturating_add)
            })
        };
        let refused = Outcome::ALL.iter().filter(|outcome| **outcome != Outcome::Ok);
        (of(Outcome::Ok), refused.map(|outcome| of(*outcome)).fold(0, u64::saturating_add))
    }

    pub(crate) fn cache_looks(&self) -> (u64, u64) {
        let of =
            |counter: fn(&Stripe) -> &AtomicU64| self.sum(|stripe| counter(stripe).load(Ordering::Relaxed));
        (of(|stripe| &stripe.cache_hits), of(|stripe| &stripe.cache_misses))
    }
}

/// Sentinel for a job without a completed run.
const NEVER: i64 = i64::MIN;

/// Counters of one job.
#[derive(Debug)]
pub(crate) struct JobCounters {
    pub(crate) outcomes: Counters<{ JobOutcome::COUNT }>,
    pub(crate) durations: Histogram,
    succeeded_at: AtomicI64,
}

impl Default for JobCounters {
    fn default() -> JobCounters {
        JobCounters {
            outcomes: Counters::default(),
            durations: Histogram::default(),
            succeeded_at: AtomicI64::new(NEVER),
        }
    }
}

impl JobCounters {
    fn ended(&self, outcome: JobOutcome, took: Duration, now: Timestamp) {
        self.outcomes.add(outcome.index(), 1);
        match outcome {
            JobOutcome::Ok => self.succeeded_at.store(now.0, Ordering::Relaxed),
            JobOutcome::Failed => {}
            // The run was skipped, so it has no duration.
            JobOutcome::Elsewhere => return,
        }
        self.durations.observe(took);
    }

    pub(crate) fn succeeded_at(&self) -> Option<Timestamp> {
        Some(self.succeeded_at.load(Ordering::Relaxed)).filter(|at| *at != NEVER).map(Timestamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_separate_counters() {
        let metrics = Metrics::default();
        for task in Task::all() {
            metrics.request(TransportLabel::Http, task, Outcome::Ok, Duration::ZERO, 0);
        }
        for task in Task::all() {
            let counted = metrics.requests(TransportLabel::Http, task).outcomes.get(Outcome::Ok.index());
            assert_eq!(counted, 1, "{task:?}");
        }
    }

    #[test]
    fn counts_of_several_threads_add_up() {
        let (metrics, task) = (Metrics::default(), Task::of_command(wire::command::HISTORY));
        std::thread::scope(|scope| {
            for thread in 0..20_u64 {
                let metrics = &metrics;
                scope.spawn(move || {
                    let took = Duration::from_nanos(thread + 1);
                    metrics.request(TransportLabel::Tcp, task, Outcome::Ok, took, thread);
                    metrics.candles(10);
                    metrics.cache_hit();
                    metrics.cache_miss();
                });
            }
        });
        let requests = metrics.requests(TransportLabel::Tcp, task);
        assert_eq!(requests.outcomes.get(Outcome::Ok.index()), 20);
        let (buckets, sum) = requests.durations.read();
        assert_eq!((buckets.iter().sum::<u64>(), sum), (20, (1..=20).sum::<u64>()));
        assert_eq!(
            metrics.sum(|stripe| stripe.sent_bytes.get(TransportLabel::Tcp.index())),
            (0..20).sum::<u64>()
        );
        assert_eq!(metrics.sum(|stripe| stripe.candles.load(Ordering::Relaxed)), 200);
        assert_eq!(metrics.cache_looks(), (20, 20));
        metrics.request(TransportLabel::Http, task, Outcome::NoAccess, Duration::ZERO, 0);
        assert_eq!(metrics.request_totals(), (20, 1));
    }
}
