//! A fixed number of worker threads for requests that block on disk I/O, shared fairly between
//! callers.
//!
//! A free thread takes one request from the caller that has waited longest, so a caller with a
//! thousand requests delays other callers no more than a caller with one. No caller gets all
//! threads; one thread always remains for another caller. Queued requests are limited per caller
//! and in total. A request above these limits is refused immediately.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::AccountId;
use tokio::sync::oneshot;

/// Maximum number of queued requests per account or address. A queued request holds at most its own
/// body.
const WAITING_EACH: usize = 512;
/// Maximum number of queued requests of all callers.
const WAITING_MAX: usize = 8_192;
/// Number of threads per processor. More than one is useful, because some threads wait for the disk
/// while others compute.
const THREADS_EACH: usize = 4;
const THREADS_LEAST: usize = 8;
/// Maximum number of threads. Together with the threads that serve connections, the process stays
/// below 64 threads.
pub const THREADS_MAX: usize = 24;

/// Returns the default number of threads.
pub(crate) fn threads_of_this_machine() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    processors.saturating_mul(THREADS_EACH).clamp(THREADS_LEAST, THREADS_MAX)
}

/// A caller, for fair scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Account(AccountId),
    /// An unauthenticated client. An IPv6 address is truncated to its network.
    Address(IpAddr),
}

impl Who {
    pub(crate) fn address(address: IpAddr) -> Who {
        Who::Address(access::network_of(address))
    }
}

/// A caller and its limit on concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) who: Who,
    pub(crate) at_once: usize,
}

/// Error returned when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

type Job = Box<dyn FnOnce() + Send>;

/// The thread pool. Cheap to clone; clones share the threads.
#[derive(Clone)]
pub(crate) struct Workers(Arc<Shared>);

struct Shared {
    threads: usize,
    state: Mutex<State>,
    refused: AtomicU64,
}

#[derive(Default)]
struct State {
    queues: HashMap<Who, Queue>,
    /// Callers to serve next. A caller is in this queue once if it has a queued request and may run
    /// one more.
    turns: VecDeque<Who>,
    waiting: usize,
    /// Number of threads that are running or being started.
    active: usize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    running: usize,
    at_once: usize,
    has_turn: bool,
}

/// Current load, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) threads: usize,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    /// Number of requests refused since server start because the queue was full.
    pub(crate) refused: u64,
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

impl Workers {
    pub(crate) fn new(threads: usize) -> Workers {
        let shared = Shared { threads: threads.max(1), state: Mutex::default(), refused: AtomicU64::new(0) };
        Workers(Arc::new(shared))
    }

    /// Returns the maximum number of concurrent requests of a caller without another limit, which
    /// is all threads but one.
    pub(crate) fn most_at_once(&self) -> usize {
        self.0.threads.saturating_sub(1).max(1)
    }

    /// Runs `work` when the caller is scheduled, or skips the work if the receiver has been dropped
    /// by then. A receiver error means that the work panicked.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        share: Share,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, Full> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move || {
            if !sender.is_closed() {
                // The receiver may have been dropped in the meantime.
                sender.send(work()).ok();
            }
        });
        let is_needed = {
            let mut state = self.lock();
            if state.push(share, job).is_err() {
                drop(state);
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                return Err(Full);
            }
            let is_needed = state.active < self.0.threads && !state.turns.is_empty();
            state.active += usize::from(is_needed);
            is_needed
        };
        if is_needed {
            let workers = self.clone();
            tokio::task::spawn_blocking(move || workers.work());
        }
        Ok(receiver)
    }

    pub(crate) fn load(&self) -> Load {
        let state = self.lock();
        Load {
            threads: self.0.threads,
            running: state.queues.values().map(|queue| queue.running).sum(),
            waiting: state.waiting,
            refused: self.0.refused.load(Ordering::Relaxed),
        }
    }

    /// Thread loop: runs jobs until none may start.
    fn work(&self) {
        let mut done = None;
        loop {
            let next = {
                let mut state = self.lock();
                if let Some(who) = done.take() {
                    state.ended(who);
                }
                let next = state.next();
                state.active -= usize::from(next.is_none());
                next
            };
            let Some((who, job)) = next else { return };
            // A panic affects only its own request. The panic hook has logged the panic, and the
            // receiver sees the closed channel.
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a request ended unexpectedly");
            }
            done = Some(who);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, Share { who, at_once }: Share, job: Job) -> Result<(), Full> {
        let waits = self.queues.get(&who).map_or(0, |queue| queue.jobs.len());
        if waits >= WAITING_EACH || self.waiting >= WAITING_MAX {
            return Err(Full);
        }
        let queue = self.queues.entry(who).or_default();
        // The latest limit applies, because an operator may have changed it.
        queue.at_once = at_once.max(1);
        queue.jobs.push_back(job);
        self.waiting += 1;
        self.give_turn(who);
        Ok(())
    }

    fn give_turn(&mut self, who: Who) {
        if let Some(queue) = self.queues.get_mut(&who)
            && !queue.has_turn
            && !queue.jobs.is_empty()
            && queue.running < queue.at_once
        {
            queue.has_turn = true;
            self.turns.push_back(who);
        }
    }

    fn next(&mut self) -> Option<(Who, Job)> {
        loop {
            let who = self.turns.pop_front()?;
            let Some(queue) = self.queues.get_mut(&who) else { continue };
            queue.has_turn = false;
            if let Some(job) = queue.jobs.pop_front() {
                queue.running += 1;
                self.waiting -= 1;
                self.give_turn(who);
                return Some((who, job));
            }
        }
    }

    fn ended(&mut self, who: Who) {
        let Some(queue) = self.queues.get_mut(&who) else { return };
        queue.running -= 1;
        if queue.running == 0 && queue.jobs.is_empty() {
            self.queues.remove(&who);
        } else {
            self.give_turn(who);
        }
        // Frees the memory used by a burst.
        if self.queues.is_empty() {
            self.queues = HashMap::new();
            self.turns = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const ANN: Share = Share { who: Who::Account(AccountId(1)), at_once: 5 };
    const BOB: Share = Share { who: Who::Account(AccountId(2)), at_once: 5 };

    /// Creates jobs that report their start and run until released.
    struct Auth {
        begun: mpsc::Receiver<&'static str>,
        sender: mpsc::Sender<&'static str>,
    }

    impl Auth {
        fn new() -> Auth {
            let (sender, begun) = mpsc::channel();
            Auth { begun, sender }
        }

        fn job(&self, name: &'static str) -> (impl FnOnce() + Send + 'static, mpsc::Sender<()>) {
            let (open, opened) = mpsc::channel::<()>();
            let sender = self.sender.clone();
            let work = move || {
                // The receiver may have been dropped.
                sender.send(name).ok();
                opened.recv().ok();
            };
            (work, open)
        }

        async fn next(self) -> (Auth, &'static str) {
            tokio::task::spawn_blocking(move || {
                let name = self.begun.recv().unwrap();
                (self, name)
            })
            .await
            .unwrap()
        }
    }

    #[tokio::test]
    async fn no_caller_exceeds_its_share_of_threads() {
        let workers = Workers::new(3);
        let mut auth = Auth::new();
        let mut open = Vec::new();
        let two = Share { at_once: workers.most_at_once(), ..ANN };
        let mut actual = Vec::new();
        for _ in 0..10 {
            let (work, opened) = auth.job("ann");
            open.push(opened);
            actual.push(workers.submit(two, work).unwrap());
        }
        for _ in 0..2 {
            (auth, _) = auth.next().await;
        }
        assert_eq!(workers.load(), Load { threads: 3, running: 2, waiting: 8, refused: 0 });
        // One thread is immediately available for another caller.
        let (work, opened) = auth.job("bob");
        let of_bob = workers.submit(BOB, work).unwrap();
        let (auth, name) = auth.next().await;
        assert_eq!(name, "bob");
        assert_eq!(workers.load().running, 3);
        drop((opened, open, auth));
        of_bob.await.unwrap();
        for actual in actual {
            actual.await.unwrap();
        }
    }

    #[tokio::test]
    async fn callers_with_long_queues_alternate_with_other_callers() {
        let workers = Workers::new(1);
        let mut auth = Auth::new();
        let (plug, pull) = auth.job("plug");
        let plugged = workers.submit(ANN, plug).unwrap();
        (auth, _) = auth.next().await;
        let (order, ordered) = mpsc::channel();
        let note = |name: &'static str| {
            let order = order.clone();
            move || order.send(name).unwrap()
        };
        let mut actual: Vec<_> = (0..300).map(|_| workers.submit(ANN, note("ann")).unwrap()).collect();
        for _ in 0..3 {
            actual.push(workers.submit(BOB, note("bob")).unwrap());
        }
        drop((pull, auth));
        plugged.await.unwrap();
        for actual in actual {
            actual.await.unwrap();
        }
        let order: Vec<_> = ordered.try_iter().collect();
        let last_of_bob = order.iter().rposition(|name| *name == "bob").unwrap();
        assert!(last_of_bob <= 6, "bob's three were served {last_of_bob} turns late");
        assert_eq!(order.len(), 303);
        // The thread still has to check for more work before it stops.
        while workers.load().running > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(workers.load(), Load { threads: 1, ..Load::default() });
    }

    #[tokio::test]
    async fn queues_are_bounded_per_caller_and_in_total() {
        let workers = Workers::new(1);
        let mut auth = Auth::new();
        let (plug, pull) = auth.job("plug");
        let plugged = workers.submit(BOB, plug).unwrap();
        (auth, _) = auth.next().await;
        let mut actual = Vec::new();
        let fill = |number: i64, actual: &mut Vec<_>| {
            let share = Share { who: Who::Account(AccountId(number)), at_once: 5 };
            let taken = (0..WAITING_EACH + 1).map_while(|_| workers.submit(share, || ()).ok());
            let before = actual.len();
            actual.extend(taken);
            actual.len() - before
        };
        for number in 10..10 + (WAITING_MAX / WAITING_EACH) as i64 {
            assert_eq!(fill(number, &mut actual), WAITING_EACH);
        }
        assert_eq!(fill(99, &mut actual), 0, "nobody has room when all have too much");
        assert_eq!(workers.load().waiting, WAITING_MAX);
        assert_eq!(workers.load().refused, 17);
        // Work whose receiver was dropped is skipped.
        drop(actual);
        drop((pull, auth));
        plugged.await.unwrap();
        while workers.load().waiting > 0 {
            tokio::task::yield_now().await;
        }
        workers.submit(ANN, || ()).unwrap().await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_affects_one_request_and_abandoned_work_is_skipped() {
        let workers = Workers::new(1);
        assert!(workers.submit(ANN, || panic!("on purpose")).unwrap().await.is_err());
        assert_eq!(workers.submit(ANN, || 7).unwrap().await, Ok(7));
        let mut auth = Auth::new();
        let (plug, pull) = auth.job("plug");
        let plugged = workers.submit(ANN, plug).unwrap();
        (auth, _) = auth.next().await;
        drop(workers.submit(ANN, || unreachable!("nobody waits for it")).unwrap());
        drop((pull, auth));
        plugged.await.unwrap();
        assert_eq!(workers.submit(BOB, || 8).unwrap().await, Ok(8));
    }

    #[test]
    fn the_default_number_of_threads_is_bounded() {
        assert!((THREADS_LEAST..=THREADS_MAX).contains(&threads_of_this_machine()));
    }
}
