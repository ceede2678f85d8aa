//! Group commit for journals. While one transaction is being written, further appends queue for the
//! next transaction. Sixteen clients wait for about as many fsyncs as two clients do, even on one
//! account, because an append may build on a pending append. If the pending append fails, both
//! fail.
//!
//! The leader writes the queue, then unparks the threads whose appends are finished, and one other
//! waiting thread as the next leader. If several nodes share the database, changes to one account
//! are serialized, so only changes to different accounts share a transaction.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use market::Timestamp;
use store::{AccountId, Accounts, AddOutcome, Addition, AuditNote, JournalHead, StoreError};
use trading::Push;

use crate::listener::{LastPushed, Listener};

/// Maximum number of appends in one transaction.
const TOGETHER_MAX: usize = 256;

/// An append to one journal, with the data written in the same transaction.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) account: AccountId,
    pub(crate) after: Option<JournalHead>,
    pub(crate) entries: Vec<(Timestamp, String)>,
    pub(crate) horizon: Timestamp,
    pub(crate) wake: Option<Timestamp>,
    pub(crate) request: Option<KeyedRequest>,
    pub(crate) audit: Option<Audited>,
    /// Changes sent to the listener once the append is durable.
    pub(crate) pushes: Vec<Push>,
    /// Tracks the last entry pushed to listeners.
    pub(crate) last_pushed: Arc<LastPushed>,
    /// Set if the write fails, which voids every decision that builds on this append.
    pub(crate) is_void: Arc<AtomicBool>,
}

/// An idempotency key and the stored result of its request.
#[derive(Clone, Debug)]
pub(crate) struct KeyedRequest {
    pub(crate) name: String,
    pub(crate) answer: String,
    pub(crate) at: Timestamp,
}

/// Audit entry written with an append.
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
        let request = request.as_ref().map(|KeyedRequest { name, answer, at }| store::KeyedRequest {
            name,
            answer,
            at: *at,
        });
        let audit = audit
            .as_ref()
            .map(|Audited { event, at, actor, reason }| (*event, AuditNote { at: *at, actor, reason }));
        Addition { account: *account, after: *after, entries, horizon: *horizon, wake: *wake, request, audit }
    }
}

/// Result of one append.
type Outcome = Result<AddOutcome, CommitError>;

/// Reason why an append may not have been written.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CommitError {
    /// The shared transaction failed.
    #[error(transparent)]
    Store(Arc<StoreError>),
    #[error("the writing thread ended unexpectedly")]
    Lost,
}

/// Position of an append in the commit order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket(u64);

pub(crate) struct Committer {
    listener: Arc<dyn Listener>,
    state: Mutex<State>,
    /// All tickets below this number are written or have failed. Updated only under the `state`
    /// lock, but may be read without the lock.
    finished: AtomicU64,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Queued appends, ordered by ticket.
    waiting: Vec<(Ticket, Pending)>,
    done: HashMap<Ticket, Outcome>,
    is_writing: bool,
    /// Threads that are parked while the leader writes.
    sleepers: Vec<Sleeper>,
}

/// A thread waiting for a ticket.
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
    /// Ends the leader's turn. Returns the waiters whose appends have finished, and the next
    /// leader, which is the waiter for the oldest remaining ticket. The next leader writes the
    /// queue unless a running thread has become the leader first.
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

    /// Queues an append. Callers must enqueue in dependency order, then call [`Committer::wait`].
    pub(crate) fn enqueue(&self, pending: Pending) -> Ticket {
        let mut state = self.lock();
        let ticket = Ticket(state.next);
        state.next += 1;
        state.waiting.push((ticket, pending));
        ticket
    }

    /// Waits for the caller's append and returns its outcome. The caller becomes the leader and
    /// writes the queue if no other thread is writing.
    pub(crate) fn wait(&self, accounts: &Accounts, ticket: Ticket) -> Outcome {
        let mut state = self.write_until(accounts, ticket);
        state.done.remove(&ticket).unwrap_or(Err(CommitError::Lost))
    }

    /// Returns whether an append is written or has failed.
    pub(crate) fn is_finished(&self, ticket: Ticket) -> bool {
        self.finished.load(Ordering::Acquire) > ticket.0
    }

    /// Waits until another thread's append is written or has failed.
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

    /// Parks the thread until the leader finishes `ticket` or makes this thread the next leader.
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

    /// Notifies the listener that the journal of an account has changed.
    pub(crate) fn notify(&self, account: AccountId, pushes: &[Push]) {
        self.listener.changed(account, pushes);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state stays consistent if a thread panics, because dropping a turn gives every ticket
        // an outcome.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The leader's turn to write the queue. Dropping the turn, including during a panic, records the
/// outcomes and wakes the waiters.
struct Turn<'a> {
    committer: &'a Committer,
    together: Vec<(Ticket, Pending)>,
    /// Outcomes of the attempted appends, by index in `together`.
    written: HashMap<usize, Outcome>,
}

impl Turn<'_> {
    fn write(mut self, accounts: &Accounts) {
        // An append that builds on a failed append is void, even if its head matches the journal.
        let (void, good): (Vec<usize>, Vec<usize>) =
            (0..self.together.len()).partition(|place| self.pending(*place).is_some_and(Pending::is_void));
        self.written.extend(void.into_iter().map(|place| (place, Ok(AddOutcome::Stale))));
        let additions: Vec<Addition<'_>> =
            good.iter().filter_map(|place| self.pending(*place)).map(Pending::addition).collect();
        let written =
            if additions.is_empty() { Ok(Vec::new()) } else { accounts.add_to_journals(&additions) };
        match written {
            Ok(outcomes) => self.written.extend(good.into_iter().zip(outcomes.into_iter().map(Ok))),
            // One of the appends is invalid, so write each append in its own transaction.
            Err(StoreError::Unfit { .. }) if good.len() > 1 => self.write_each(accounts, &good),
            Err(error) => self.fail(&good, error),
        }
    }

    /// Writes each append in its own transaction. An invalid append fails alone; any other store
    /// error also fails all remaining appends.
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
                // Later appends in this turn may build on the failed append.
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

    /// Notifies the listener of a durable append. Catches panics, so that a faulty listener cannot
    /// block other threads.
    fn notify(&self, pending: &Pending, head: &JournalHead) {
        let report = catch_unwind(AssertUnwindSafe(|| {
            // An append without entries only moves the horizon.
            if !pending.pushes.is_empty() || !pending.last_pushed.is_at(head) {
                self.committer.notify(pending.account, &pending.pushes);
            }
            if let Some(wake) = head.wake {
                self.committer.listener.waits(wake);
            }
        }));
        if report.is_err() {
            tracing::error!(account = pending.account.0, "a listener panicked");
        }
        pending.last_pushed.set(Some(head));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let outcomes: Vec<Outcome> = (0..self.together.len()).map(|place| self.outcome(place)).collect();
        for ((_, pending), outcome) in self.together.iter().zip(&outcomes) {
            match outcome {
                // This thread is still the leader, so the listener is notified in journal order.
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
        // Wake the next leader first, so that writing continues while the other threads resume.
        next.iter().chain(&called).for_each(Sleeper::call);
    }
}

#[cfg(test)]
mod tests;
