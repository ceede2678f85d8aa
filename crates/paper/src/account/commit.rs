//! Group commit for journals: while one transaction is being written, further additions gather for
//! the next. Sixteen clients then wait for the disk about as often as two, even on one account: an
//! addition may build on one that is not written yet, and fails with it.
//!
//! The writer wakes the threads whose additions are finished, and only one of the others to write
//! next. Where several nodes share the database, changes to one account are serialized, and only
//! those of different accounts share a transaction.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use market::Timestamp;
use store::{AccountId, Accounts, AddOutcome, Addition, AuditNote, JournalHead, NamedRequest, StoreError};
use trading::Push;

use crate::last_pushed::LastPushed;
use crate::listener::Listener;

/// Maximum number of additions in one transaction.
const TOGETHER_MAX: usize = 256;

/// Entries for one journal, and the data written with them.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) account: AccountId,
    pub(crate) after: Option<JournalHead>,
    pub(crate) entries: Vec<(Timestamp, String)>,
    pub(crate) horizon: Timestamp,
    pub(crate) wake: Option<Timestamp>,
    pub(crate) request: Option<Named>,
    pub(crate) audit: Option<Audited>,
    /// Sent to the listener once written.
    pub(crate) pushes: Vec<Push>,
    /// Records the last entry that was pushed to listeners.
    pub(crate) last_pushed: Arc<LastPushed>,
    /// Set if the write fails: everything decided on top of it is then void.
    pub(crate) is_void: Arc<AtomicBool>,
}

/// A request with an idempotency key.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) answer: String,
    pub(crate) at: Timestamp,
}

/// The audit entry of an addition.
#[derive(Clone, Debug)]
pub(crate) struct Audited {
    pub(crate) event: &'static str,
    pub(crate) at: Timestamp,
    pub(crate) actor: String,
    pub(crate) reason: String,
}

impl Pending {
    fn is_void(&self) -> bool {
        self.is_void.load(Ordering::Acquire)
    }

    fn addition(&self) -> Addition<'_> {
        let Pending { account, after, entries, horizon, wake, request, audit, .. } = self;
        let request =
            request.as_ref().map(|Named { name, answer, at }| NamedRequest { name, answer, at: *at });
        let audit = audit
            .as_ref()
            .map(|Audited { event, at, actor, reason }| (*event, AuditNote { at: *at, actor, reason }));
        Addition { account: *account, after: *after, entries, horizon: *horizon, wake: *wake, request, audit }
    }
}

/// Result of one addition.
type Outcome = Result<AddOutcome, CommitError>;

/// Why an addition is not known to be written.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CommitError {
    /// The error of the shared transaction.
    #[error(transparent)]
    Store(Arc<StoreError>),
    #[error("the thread that wrote this has ended in the middle")]
    Lost,
}

/// Position of an addition in the order of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket(u64);

pub(crate) struct Committer {
    listener: Arc<dyn Listener>,
    state: Mutex<State>,
    /// All tickets below this one are written or have failed. Changed only under the lock of the
    /// state; readable without it.
    finished: AtomicU64,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Ordered by ticket.
    waiting: Vec<(Ticket, Pending)>,
    done: HashMap<Ticket, Outcome>,
    is_writing: bool,
    /// Threads that wait while another thread writes.
    sleepers: Vec<Sleeper>,
}

/// A thread that waits for a ticket.
struct Sleeper {
    ticket: Ticket,
    thread: Thread,
    is_called: Arc<AtomicBool>,
}

impl Sleeper {
    fn call(&self) {
        self.is_called.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl State {
    /// Ends a turn: returns the waiters whose commit has finished, and the next leader, which is
    /// the waiter with the oldest remaining ticket. It writes if no thread that is already awake
    /// has started by then.
    fn end_turn(&mut self, finished: u64) -> (Vec<Sleeper>, Option<Sleeper>) {
        let (called, asleep) =
            std::mem::take(&mut self.sleepers).into_iter().partition(|sleeper| sleeper.ticket.0 < finished);
        self.sleepers = asleep;
        let oldest = self.sleepers.iter().enumerate().min_by_key(|(_, sleeper)| sleeper.ticket);
        let next = oldest.map(|(place, _)| place).map(|place| self.sleepers.swap_remove(place));
        self.is_writing = false;
        (called, next)
    }
}

impl Committer {
    pub(crate) fn new(listener: Arc<dyn Listener>) -> Committer {
        Committer { listener, state: Mutex::default(), finished: AtomicU64::new(0) }
    }

    /// Queues an addition. Call it in the order in which additions build on each other, then
    /// [`Committer::wait`].
    pub(crate) fn enqueue(&self, pending: Pending) -> Ticket {
        let mut state = self.lock();
        let ticket = Ticket(state.next);
        state.next += 1;
        state.waiting.push((ticket, pending));
        ticket
    }

    /// Waits until the caller's own addition is on the disk. Writes the queue if no other thread
    /// does.
    pub(crate) fn wait(&self, accounts: &Accounts, ticket: Ticket) -> Outcome {
        let mut state = self.write_until(accounts, ticket);
        state.done.remove(&ticket).unwrap_or(Err(CommitError::Lost))
    }

    /// Whether an addition is written or has failed.
    pub(crate) fn is_finished(&self, ticket: Ticket) -> bool {
        self.finished.load(Ordering::Acquire) > ticket.0
    }

    /// Waits until an addition of another thread is written or has failed.
    pub(crate) fn wait_for(&self, accounts: &Accounts, ticket: Ticket) {
        drop(self.write_until(accounts, ticket));
    }

    fn write_until(&self, accounts: &Accounts, ticket: Ticket) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while !self.is_finished(ticket) {
            if state.is_writing {
                state = self.sleep(state, ticket);
                continue;
            }
            state.is_writing = true;
            let count = state.waiting.len().min(TOGETHER_MAX);
            let together = state.waiting.drain(..count).collect();
            drop(state);
            Turn { committer: self, together, written: HashMap::new() }.write(accounts);
            state = self.lock();
        }
        state
    }

    /// Sleeps until a turn ends that finished the ticket or made this thread the next leader.
    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, State>, ticket: Ticket) -> MutexGuard<'a, State> {
        let is_called = Arc::<AtomicBool>::default();
        state.sleepers.push(Sleeper { ticket, thread: thread::current(), is_called: is_called.clone() });
        drop(state);
        // A parked thread may wake up spuriously.
        while !is_called.load(Ordering::Acquire) {
            thread::park();
        }
        self.lock()
    }

    /// Sends pushes to the listener, if there are any.
    pub(crate) fn notify(&self, account: AccountId, pushes: &[Push]) {
        if !pushes.is_empty() {
            self.listener.changed(account, pushes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state stays consistent when a thread panics: a turn that ends gives every ticket its
        // outcome.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's turn to write for all. However it ends, the waiting threads get their outcomes and
/// continue.
struct Turn<'a> {
    committer: &'a Committer,
    together: Vec<(Ticket, Pending)>,
    /// Outcomes by index in `together`, of the additions that were tried.
    written: HashMap<usize, Outcome>,
}

impl Turn<'_> {
    fn write(mut self, accounts: &Accounts) {
        // An addition that builds on a failed one is not written either, even if it would fit the
        // journal.
        let (void, good): (Vec<usize>, Vec<usize>) =
            (0..self.together.len()).partition(|place| self.pending(*place).is_some_and(Pending::is_void));
        self.written.extend(void.into_iter().map(|place| (place, Ok(AddOutcome::Stale))));
        let additions: Vec<Addition<'_>> =
            good.iter().filter_map(|place| self.pending(*place)).map(Pending::addition).collect();
        let written =
            if additions.is_empty() { Ok(Vec::new()) } else { accounts.add_to_journals(&additions) };
        match written {
            Ok(outcomes) => self.written.extend(good.into_iter().zip(outcomes.into_iter().map(Ok))),
            // One of them cannot be written; the others can.
            Err(StoreError::Unfit { .. }) if good.len() > 1 => self.write_each(accounts, &good),
            Err(error) => self.fail(&good, error),
        }
    }

    /// Writes each addition in a separate transaction, until the store fails.
    fn write_each(&mut self, accounts: &Accounts, good: &[usize]) {
        for (done, place) in good.iter().enumerate() {
            let Some((_, pending)) = self.together.get(*place) else { continue };
            let written = match pending.is_void() {
                true => Ok(AddOutcome::Stale),
                false => accounts
                    .add_to_journals(&[pending.addition()])
                    .map(|outcomes| outcomes.first().copied().unwrap_or(AddOutcome::Stale)),
            };
            if !matches!(written, Ok(AddOutcome::Added(_))) {
                // Additions that build on it are in this turn, too.
                pending.is_void.store(true, Ordering::Release);
            }
            match written {
                Ok(outcome) => drop(self.written.insert(*place, Ok(outcome))),
                Err(error @ StoreError::Unfit { .. }) => self.fail(&[*place], error),
                Err(error) => return self.fail(good.get(done..).unwrap_or_default(), error),
            }
        }
    }

    fn fail(&mut self, places: &[usize], error: StoreError) {
        let error = Arc::new(error);
        let failed = places.iter().map(|place| (*place, Err(CommitError::Store(error.clone()))));
        self.written.extend(failed);
    }

    fn pending(&self, place: usize) -> Option<&Pending> {
        self.together.get(place).map(|(_, pending)| pending)
    }

    fn outcome(&self, place: usize) -> Outcome {
        self.written.get(&place).cloned().unwrap_or(Err(CommitError::Lost))
    }

    /// Notifies the listener of a written addition. A listener that panics must not block the other
    /// threads.
    fn notify(&self, pending: &Pending, head: &JournalHead) {
        let report = catch_unwind(AssertUnwindSafe(|| {
            self.committer.notify(pending.account, &pending.pushes);
            if let Some(wake) = head.wake {
                self.committer.listener.waits(wake);
            }
        }));
        if report.is_err() {
            tracing::error!(account = pending.account.0, "a listener has panicked");
        }
        pending.last_pushed.set(Some(head));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let outcomes: Vec<Outcome> = (0..self.together.len()).map(|place| self.outcome(place)).collect();
        for ((_, pending), outcome) in self.together.iter().zip(&outcomes) {
            match outcome {
                // This thread is still the only writer, so listeners are notified in the order of
                // the journals.
                Ok(AddOutcome::Added(head)) => self.notify(pending, head),
                Ok(AddOutcome::Stale) | Err(_) => pending.is_void.store(true, Ordering::Release),
            }
        }
        let committer = self.committer;
        let mut state = committer.lock();
        for ((ticket, _), outcome) in self.together.iter().zip(outcomes) {
            state.done.insert(*ticket, outcome);
            committer.finished.store(ticket.0 + 1, Ordering::Release);
        }
        let (called, next) = state.end_turn(committer.finished.load(Ordering::Acquire));
        drop(state);
        // Wake the next leader first: it writes while the others continue.
        next.iter().chain(&called).for_each(Sleeper::call);
    }
}

#[cfg(test)]
mod tests;
