//! Additions to journals, written together: while one transaction is on its way to the disk, others gather for the next one. So sixteen
//! clients wait for the disk about as often as two, also if they share an account: an addition may follow one that is
//! not written yet, and fails with it. Whoever has written wakes those whose additions are written, and of the rest only the one who
//! writes next. Where several nodes share the database, changes of one account take turns, and only those of different accounts are written together.

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

/// Additions in one transaction at most.
const TOGETHER_MAX: usize = 256;

/// Entries for one journal, and what is written with them.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) account: AccountId,
    pub(crate) after: Option<JournalHead>,
    pub(crate) entries: Vec<(Timestamp, String)>,
    pub(crate) horizon: Timestamp,
    pub(crate) wake: Option<Timestamp>,
    pub(crate) request: Option<Named>,
    pub(crate) audit: Option<Audited>,
    /// For the listener, when it is written.
    pub(crate) pushes: Vec<Push>,
    /// Where it is noted which entry listeners have heard of last.
    pub(crate) last_pushed: Arc<LastPushed>,
    /// Set if it is not: then whatever was decided on top of it is void.
    pub(crate) is_void: Arc<AtomicBool>,
}

/// A request with a name of the client's own.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) answer: String,
    pub(crate) at: Timestamp,
}

/// What the audit says of it.
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

/// What became of an addition.
type Outcome = Result<AddOutcome, CommitError>;

/// Why nothing is known to have been written.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CommitError {
    /// That of all that were in the transaction.
    #[error(transparent)]
    Store(Arc<StoreError>),
    #[error("the thread that wrote this has ended in the middle")]
    Lost,
}

/// The place of an addition in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket(u64);

pub(crate) struct Committer {
    listener: Arc<dyn Listener>,
    state: Mutex<State>,
    /// Everything before this ticket is written, or has failed. It changes under the lock of the state alone; whoever only wants to know
    /// need not take that.
    finished: AtomicU64,
}

#[derive(Default)]
struct State {
    next: u64,
    /// In the order of their tickets.
    waiting: Vec<(Ticket, Pending)>,
    done: HashMap<Ticket, Outcome>,
    is_writing: bool,
    /// Those who wait while somebody else writes.
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
    /// Those who have waited for what is finished now, and one more who is to write if nobody does by then: whoever waits for the oldest of
    /// the rest. A thread that is awake may be quicker, and the disk does not wait for somebody to wake up.
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

    /// Puts an addition in line. To be called in the order in which additions follow from each other; then [`Committer::wait`].
    pub(crate) fn enqueue(&self, pending: Pending) -> Ticket {
        let mut state = self.lock();
        let ticket = Ticket(state.next);
        state.next += 1;
        state.waiting.push((ticket, pending));
        ticket
    }

    /// Waits until an addition of one's own is on the disk, and writes what is in line if nobody else does.
    pub(crate) fn wait(&self, accounts: &Accounts, ticket: Ticket) -> Outcome {
        let mut state = self.write_until(accounts, ticket);
        state.done.remove(&ticket).unwrap_or(Err(CommitError::Lost))
    }

    /// Whether an addition is written or has failed.
    pub(crate) fn is_finished(&self, ticket: Ticket) -> bool {
        self.finished.load(Ordering::Acquire) > ticket.0
    }

    /// Waits until somebody else's addition is written or has failed.
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

    /// Sleeps until a turn has ended after which the ticket is finished, or after which this thread may be the one to write.
    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, State>, ticket: Ticket) -> MutexGuard<'a, State> {
        let is_called = Arc::<AtomicBool>::default();
        state.sleepers.push(Sleeper { ticket, thread: thread::current(), is_called: is_called.clone() });
        drop(state);
        // A parked thread may wake up for no reason.
        while !is_called.load(Ordering::Acquire) {
            thread::park();
        }
        self.lock()
    }

    /// Tells the listener what there is to tell.
    pub(crate) fn tell(&self, account: AccountId, pushes: &[Push]) {
        if !pushes.is_empty() {
            self.listener.changed(account, pushes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is half done in it when a thread panics: a turn that ends gives every ticket its outcome.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of one caller to write for all. However it ends, the others are told and go on.
struct Turn<'a> {
    committer: &'a Committer,
    together: Vec<(Ticket, Pending)>,
    /// What became of each that was tried, by its place.
    written: HashMap<usize, Outcome>,
}

impl Turn<'_> {
    fn write(mut self, accounts: &Accounts) {
        // What follows from something that was not written is not written either, even if the journal looks as if it could be.
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

    /// Writes additions in transactions of their own, as long as the store takes any.
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
                // What follows from it is in this turn, too.
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

    /// Tells the listener of an addition that is written. One that panics must not keep the others waiting for ever.
    fn tell(&self, pending: &Pending, head: &JournalHead) {
        let told = catch_unwind(AssertUnwindSafe(|| {
            self.committer.tell(pending.account, &pending.pushes);
            if let Some(wake) = head.wake {
                self.committer.listener.waits(wake);
            }
        }));
        if told.is_err() {
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
                // Still the only one who writes: so listeners are told in the order of the journals.
                Ok(AddOutcome::Added(head)) => self.tell(pending, head),
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
        // The next one first: while it writes, the others go on with what they have to do.
        next.iter().chain(&called).for_each(Sleeper::call);
    }
}

#[cfg(test)]
mod tests;
