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
        subscriptions: 500,
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
fn concurrent_appends_are_each_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = Accounts::open(dir.path(), NOW).unwrap();
    let ids: Vec<AccountId> = (0..16).map(|number| add(&accounts, &format!("account {number}"))).collect();
    let (committer, barrier) = (committer(), Barrier::new(ids.len()));
    std::thread::scope(|scope| {
        for id in &ids {
            let (committer, accounts, barrier) = (&committer, &accounts, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let mut head = None;
                for number in 0..20 {
                    let outcome = commit(committer, accounts, pending(*id, head, &number.to_string()));
                    let AddOutcome::Added(now) = outcome.unwrap() else { panic!("it is the only writer") };
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
fn an_append_to_a_stale_head_is_void() {
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
fn an_append_fails_with_its_pending_predecessor() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = Accounts::open(dir.path(), NOW).unwrap();
    let (ann, committer) = (add(&accounts, "ann"), committer());
    let head = |revision, last_number| Some(JournalHead { revision, last_number, horizon: NOW, wake: None });
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
fn an_append_that_builds_on_a_failed_append_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = Accounts::open(dir.path(), NOW).unwrap();
    let (ann, committer) = (add(&accounts, "ann"), committer());
    let head = |revision, last_number| Some(JournalHead { revision, last_number, horizon: NOW, wake: None });
    // Another process appends one entry, so that the second append's head matches the journal.
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
fn an_invalid_append_fails_only_its_successors() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = Accounts::open(dir.path(), NOW).unwrap();
    let (ann, bob, committer) = (add(&accounts, "ann"), add(&accounts, "bob"), committer());
    let long = pending(ann, None, &"x".repeat(100_000));
    let after = JournalHead { revision: 1, last_number: 1, horizon: NOW, wake: None };
    let next = Pending { is_void: long.is_void.clone(), ..pending(ann, Some(after), "b") };
    let [long, next, other] = [long, next, pending(bob, None, "c")].map(|pending| committer.enqueue(pending));
    assert!(matches!(committer.wait(&accounts, other), Ok(AddOutcome::Added(_))));
    assert!(matches!(committer.wait(&accounts, long), Err(CommitError::Store(_))));
    assert!(matches!(committer.wait(&accounts, next), Ok(AddOutcome::Stale)));
    assert_eq!(accounts.journal_head(ann).unwrap(), None);
}

/// A listener that panics.
struct Panics;

impl Listener for Panics {
    fn changed(&self, _: AccountId, _: &[Push]) {}

    fn waits(&self, until: Timestamp) {
        panic!("asked to wait until {until}");
    }
}

#[test]
fn a_listener_that_panics_does_not_block_writers() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = Accounts::open(dir.path(), NOW).unwrap();
    let (ann, bob) = (add(&accounts, "ann"), add(&accounts, "bob"));
    let committer = Committer::new(Arc::new(Panics));
    for account in [ann, bob] {
        let waits = Pending { wake: Some(NOW), ..pending(account, None, "a") };
        assert!(matches!(commit(&committer, &accounts, waits), Ok(AddOutcome::Added(_))));
    }
}

#[test]
fn all_waiters_for_shared_tickets_are_woken() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = Accounts::open(dir.path(), NOW).unwrap();
    let (ann, committer) = (add(&accounts, "ann"), committer());
    let head = |number| JournalHead { revision: number, last_number: number, horizon: NOW, wake: None };
    // 600 appends need three turns.
    let tickets: Vec<Ticket> = (0..600)
        .map(|number| {
            let after = (number > 0).then(|| head(number));
            committer.enqueue(pending(ann, after, &number.to_string()))
        })
        .collect();
    let barrier = Barrier::new(200);
    thread::scope(|scope| {
        for (number, ticket) in tickets.iter().step_by(3).enumerate() {
            let (committer, accounts, barrier) = (&committer, &accounts, &barrier);
            scope.spawn(move || {
                barrier.wait();
                if number % 2 == 0 {
                    let outcome = committer.wait(accounts, *ticket);
                    assert!(matches!(outcome, Ok(AddOutcome::Added(_))), "{outcome:?}");
                } else {
                    committer.wait_for(accounts, *ticket);
                    assert!(committer.is_finished(*ticket));
                }
            });
        }
    });
    assert_eq!(accounts.journal_head(ann).unwrap(), Some(head(600)));
    let state = committer.lock();
    assert!(!state.is_writing && state.sleepers.is_empty() && state.waiting.is_empty());
}

#[test]
fn a_writer_that_panics_wakes_its_waiters_and_the_next_leader() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = Accounts::open(dir.path(), NOW).unwrap();
    let (ann, bob, committer) = (add(&accounts, "ann"), add(&accounts, "bob"), committer());
    let lost = committer.enqueue(pending(ann, None, "a"));
    let together = {
        let mut state = committer.lock();
        state.is_writing = true;
        std::mem::take(&mut state.waiting)
    };
    let turn = Turn { committer: &committer, together, written: HashMap::new() };
    let rest = committer.enqueue(pending(bob, None, "b"));
    thread::scope(|scope| {
        // The first waiter for `rest` is not the thread that takes its outcome.
        let other = scope.spawn(|| committer.wait_for(&accounts, rest));
        until_asleep(&committer, 1);
        let of_lost = scope.spawn(|| committer.wait(&accounts, lost));
        let of_rest = scope.spawn(|| committer.wait(&accounts, rest));
        until_asleep(&committer, 3);
        let panicked = catch_unwind(AssertUnwindSafe(move || {
            let _turn = turn;
            panic!("in the middle of a turn");
        }));
        assert!(panicked.is_err());
        assert!(matches!(of_lost.join().unwrap(), Err(CommitError::Lost)));
        assert!(matches!(of_rest.join().unwrap(), Ok(AddOutcome::Added(_))));
        other.join().unwrap();
    });
    assert_eq!(accounts.journal_head(ann).unwrap(), None);
    assert_eq!(accounts.journal_head(bob).unwrap().map(|head| head.last_number), Some(1));
    assert!(!committer.lock().is_writing);
}

/// Waits until `count` threads are parked.
fn until_asleep(committer: &Committer, count: usize) {
    while committer.lock().sleepers.len() < count {
        thread::yield_now();
    }
}

fn committer() -> Committer {
    Committer::new(Arc::new(NoListener))
}

fn commit(committer: &Committer, accounts: &Accounts, pending: Pending) -> Outcome {
    let ticket = committer.enqueue(pending);
    committer.wait(accounts, ticket)
}
