//! Additions to journals, written together: while one transaction is on its way to the disk, others gather for the next one. So sixteen
//! clients wait for the disk about as often as two, also if they share an account: an addition may follow one that is
//! not written yet, and fails with it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

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
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    /// In the order of their tickets.
    waiting: Vec<(Ticket, Pending)>,
    done: HashMap<Ticket, Outcome>,
    /// Everything before this ticket is written, or has failed.
    finished: u64,
    is_writing: bool,
}

impl Committer {
    pub(crate) fn new(listener: Arc<dyn Listener>) -> Committer {
        Committer { listener, state: Mutex::default(), changed: Condvar::new() }
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
        self.lock().finished > ticket.0
    }

    /// Waits until somebody else's addition is written or has failed.
    pub(crate) fn wait_for(&self, accounts: &Accounts, ticket: Ticket) {
        drop(self.write_until(accounts, ticket));
    }

    fn write_until(&self, accounts: &Accounts, ticket: Ticket) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.finished <= ticket.0 {
            if state.is_writing {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
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
        let mut state = self.committer.lock();
        for ((ticket, _), outcome) in self.together.iter().zip(outcomes) {
            state.done.insert(*ticket, outcome);
            state.finished = ticket.0 + 1;
        }
        state.is_writing = false;
        self.committer.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use store::{AccountTerms, Credential, NewAccountRow};

    use super::*;
    use crate::listener::NoListener;

    const NOW: Timestamp = Timestamp(1_700_000_000);

    fn add(accounts: &Accounts, name: &str) -> AccountId {
        let id = accounts.take_id().unwrap();
        let terms = AccountTerms {
            level: 0,
            quota: None,
            rate: None,
            connections: 10,
            floors: None,
            read_only: false,
            api_date: None,
        };
        let account = NewAccountRow {
            name: name.to_owned(),
            region: "ap".to_owned(),
            role: "user".to_owned(),
            created_at: NOW,
            terms,
            rights: Vec::new(),
        };
        let credential = Credential {
            app_key: name.to_owned(),
            account: id,
            app_secret: vec![1],
            token_hash: [u8::try_from(id.0 % 251).unwrap(); 32],
            token_expires_at: NOW,
            created_at: NOW,
        };
        let note = AuditNote { at: NOW, actor: "operator", reason: "a test" };
        accounts.add(id, &account, &credential, &note).unwrap();
        id
    }

    fn pending(account: AccountId, after: Option<JournalHead>, text: &str) -> Pending {
        let entries = vec![(NOW, text.to_owned())];
        let (last_pushed, is_void) = (Arc::default(), Arc::default());
        let (wake, request, audit, pushes) = (None, None, None, Vec::new());
        Pending { account, after, entries, horizon: NOW, wake, request, audit, pushes, last_pushed, is_void }
    }

    #[test]
    fn additions_of_many_threads_are_all_written_each_once() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = Accounts::open(dir.path(), NOW).unwrap();
        let ids: Vec<AccountId> =
            (0..16).map(|number| add(&accounts, &format!("account {number}"))).collect();
        let (committer, barrier) = (committer(), Barrier::new(ids.len()));
        std::thread::scope(|scope| {
            for id in &ids {
                let (committer, accounts, barrier) = (&committer, &accounts, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let mut head = None;
                    for number in 0..20 {
                        let outcome = commit(committer, accounts, pending(*id, head, &number.to_string()));
                        let AddOutcome::Added(now) = outcome.unwrap() else {
                            panic!("it is the only writer")
                        };
                        head = Some(now);
                    }
                });
            }
        });
        for id in ids {
            let texts: Vec<String> =
                accounts.journal_entries(id, 0).unwrap().into_iter().map(|entry| entry.text).collect();
            assert_eq!(texts, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_that_is_stale_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = Accounts::open(dir.path(), NOW).unwrap();
        let (ann, committer) = (add(&accounts, "ann"), committer());
        let first = commit(&committer, &accounts, pending(ann, None, "a"));
        assert!(matches!(first, Ok(AddOutcome::Added(_))), "{first:?}");
        let late = pending(ann, None, "b");
        let is_void = late.is_void.clone();
        assert!(matches!(commit(&committer, &accounts, late), Ok(AddOutcome::Stale)));
        assert!(is_void.load(Ordering::Acquire));
    }

    #[test]
    fn one_may_follow_another_that_is_not_written_yet_and_fails_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = Accounts::open(dir.path(), NOW).unwrap();
        let (ann, committer) = (add(&accounts, "ann"), committer());
        let head =
            |revision, last_number| Some(JournalHead { revision, last_number, horizon: NOW, wake: None });
        let first = committer.enqueue(pending(ann, None, "a"));
        let second = committer.enqueue(pending(ann, head(1, 1), "b"));
        let stale = committer.enqueue(pending(ann, head(1, 1), "x"));
        let on_stale = committer.enqueue(pending(ann, head(3, 3), "y"));
        assert!(matches!(committer.wait(&accounts, on_stale), Ok(AddOutcome::Stale)));
        assert!(matches!(committer.wait(&accounts, stale), Ok(AddOutcome::Stale)));
        for ticket in [first, second] {
            assert!(matches!(committer.wait(&accounts, ticket), Ok(AddOutcome::Added(_))));
        }
        assert_eq!(accounts.journal_head(ann).unwrap(), head(2, 2));
    }

    #[test]
    fn what_follows_from_something_that_was_not_written_never_is() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = Accounts::open(dir.path(), NOW).unwrap();
        let (ann, committer) = (add(&accounts, "ann"), committer());
        let head =
            |revision, last_number| Some(JournalHead { revision, last_number, horizon: NOW, wake: None });
        // Another process has added one entry, too: the second addition would fit its journal.
        let theirs = pending(ann, None, "theirs");
        accounts.add_to_journals(&[theirs.addition()]).unwrap();
        let first = pending(ann, None, "a");
        let second = Pending { is_void: first.is_void.clone(), ..pending(ann, head(1, 1), "b") };
        let third = Pending { is_void: first.is_void.clone(), ..pending(ann, head(1, 1), "c") };
        let tickets = [first, second].map(|pending| committer.enqueue(pending));
        for ticket in tickets {
            assert!(matches!(committer.wait(&accounts, ticket), Ok(AddOutcome::Stale)));
        }
        assert!(matches!(commit(&committer, &accounts, third), Ok(AddOutcome::Stale)));
        assert_eq!(accounts.journal_head(ann).unwrap(), head(1, 1));
    }

    #[test]
    fn one_that_cannot_be_written_takes_what_follows_from_it_along_and_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = Accounts::open(dir.path(), NOW).unwrap();
        let (ann, bob, committer) = (add(&accounts, "ann"), add(&accounts, "bob"), committer());
        let long = pending(ann, None, &"x".repeat(100_000));
        let after = JournalHead { revision: 1, last_number: 1, horizon: NOW, wake: None };
        let next = Pending { is_void: long.is_void.clone(), ..pending(ann, Some(after), "b") };
        let [long, next, other] =
            [long, next, pending(bob, None, "c")].map(|pending| committer.enqueue(pending));
        assert!(matches!(committer.wait(&accounts, other), Ok(AddOutcome::Added(_))));
        assert!(matches!(committer.wait(&accounts, long), Err(CommitError::Store(_))));
        assert!(matches!(committer.wait(&accounts, next), Ok(AddOutcome::Stale)));
        assert_eq!(accounts.journal_head(ann).unwrap(), None);
    }

    /// A listener that cannot go on.
    struct Panics;

    impl Listener for Panics {
        fn changed(&self, _: AccountId, _: &[Push]) {}

        fn waits(&self, until: Timestamp) {
            panic!("asked to wait until {until}");
        }
    }

    #[test]
    fn a_listener_that_panics_keeps_nobody_from_writing() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = Accounts::open(dir.path(), NOW).unwrap();
        let (ann, bob) = (add(&accounts, "ann"), add(&accounts, "bob"));
        let committer = Committer::new(Arc::new(Panics));
        for account in [ann, bob] {
            let waits = Pending { wake: Some(NOW), ..pending(account, None, "a") };
            assert!(matches!(commit(&committer, &accounts, waits), Ok(AddOutcome::Added(_))));
        }
    }

    fn committer() -> Committer {
        Committer::new(Arc::new(NoListener))
    }

    fn commit(committer: &Committer, accounts: &Accounts, pending: Pending) -> Outcome {
        let ticket = committer.enqueue(pending);
        committer.wait(accounts, ticket)
    }
}
