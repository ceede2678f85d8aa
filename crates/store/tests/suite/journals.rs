//! Tests of the journals of paper accounts: entries are appended in order by one process at a time,
//! and only a rewind removes entries.

use std::sync::Barrier;

use market::Timestamp;
use store::{
    AccountId, Accounts, AddOutcome, Addition, AuditFilter, CopyOutcome, JournalCopy, JournalHead,
    KeyedRequest, Rewind, RewindOutcome,
};

use crate::accounts::{add, note};
use crate::fixture::{Home, NOW};

const OPENING: Timestamp = Timestamp(1_700_000_000);

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp(OPENING.0 + seconds)
}

pub(crate) fn entries(of: &[(i64, &str)]) -> Vec<(Timestamp, String)> {
    of.iter().map(|(seconds, text)| (at(*seconds), (*text).to_owned())).collect()
}

pub(crate) fn open() -> (Home, Accounts, AccountId) {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    (home, accounts, ann)
}

/// Appends entries to one journal.
pub(crate) fn write(
    accounts: &Accounts,
    id: AccountId,
    after: Option<JournalHead>,
    of: &[(i64, &str)],
) -> AddOutcome {
    let horizon = at(of.last().map_or(0, |(seconds, _)| *seconds));
    let addition = Addition {
        account: id,
        after,
        entries: &entries(of),
        horizon,
        wake: None,
        request: None,
        audit: None,
    };
    accounts.add_to_journals(&[addition]).unwrap()[0]
}

pub(crate) fn added(outcome: AddOutcome) -> JournalHead {
    match outcome {
        AddOutcome::Added(head) => head,
        AddOutcome::Stale => panic!("the journal had changed"),
    }
}

pub(crate) fn texts(accounts: &Accounts, id: AccountId) -> String {
    let all = accounts.journal_entries(id, 0).unwrap();
    all.iter().map(|entry| format!("{} {}", entry.number, entry.text)).collect::<Vec<_>>().join(", ")
}

#[test]
fn entries_are_numbered_and_read_from_a_given_number() {
    let (_dir, accounts, ann) = open();
    assert_eq!(accounts.journal_head(ann).unwrap(), None);
    let first = added(write(&accounts, ann, None, &[(0, "a"), (5, "b")]));
    assert_eq!(first, JournalHead { revision: 1, last_number: 2, horizon: at(5), wake: None });
    let second = added(write(&accounts, ann, Some(first), &[(9, "c")]));
    assert_eq!(accounts.journal_head(ann).unwrap(), Some(second));
    assert_eq!(texts(&accounts, ann), "1 a, 2 b, 3 c");
    assert_eq!(accounts.journal_entries(ann, 2).unwrap()[0].at, at(9));
    assert_eq!(accounts.journal_heads().unwrap(), [(ann, second)]);
}

#[test]
fn a_long_journal_is_read_in_pages() {
    let (_dir, accounts, ann) = open();
    let all: Vec<(Timestamp, String)> = (1..=5_000).map(|number| (OPENING, number.to_string())).collect();
    let addition = Addition {
        account: ann,
        after: None,
        entries: &all,
        horizon: OPENING,
        wake: None,
        request: None,
        audit: None,
    };
    accounts.add_to_journals(&[addition]).unwrap();
    let mut read = Vec::new();
    loop {
        let part = accounts.journal_entries(ann, read.len() as u64).unwrap();
        if part.is_empty() {
            break;
        }
        read.extend(part.into_iter().map(|entry| entry.text));
    }
    assert_eq!(read, (1..=5_000).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn entries_are_found_by_their_times() {
    let (_dir, accounts, ann) = open();
    let instants = [0, 0, 5, 5, 5, 9, 20];
    let of: Vec<(i64, &str)> = instants.iter().map(|seconds| (*seconds, "x")).collect();
    added(write(&accounts, ann, None, &of));
    for from in -1..=21 {
        let until = instants.iter().filter(|seconds| **seconds <= from).count() as u64;
        assert_eq!(accounts.journal_number_at(ann, at(from)).unwrap(), until, "at {from}");
        for through in from..=21 {
            let found = accounts.journal_entries_between(ann, 0, (at(from), at(through))).unwrap();
            let found: Vec<i64> = found.iter().map(|entry| entry.at.0 - OPENING.0).collect();
            let wanted = instants.iter().copied().filter(|seconds| (from..=through).contains(seconds));
            assert_eq!(found, wanted.collect::<Vec<_>>(), "from {from} through {through}");
        }
    }
    let rest = accounts.journal_entries_between(ann, 4, (at(5), at(9))).unwrap();
    assert_eq!(rest.iter().map(|entry| entry.number).collect::<Vec<_>>(), [5, 6]);
}

#[test]
fn a_stale_addition_is_not_written_and_does_not_affect_others() {
    let (_dir, accounts, ann) = open();
    let bob = add(&accounts, "bob").unwrap();
    let first = added(write(&accounts, ann, None, &[(0, "a")]));
    assert_eq!(write(&accounts, ann, None, &[(1, "b")]), AddOutcome::Stale);
    let late = entries(&[(2, "c")]);
    let addition = |account, after| Addition {
        account,
        after,
        entries: &late,
        horizon: at(2),
        wake: None,
        request: None,
        audit: None,
    };
    let stale = JournalHead { revision: 7, ..first };
    let outcomes = accounts.add_to_journals(&[addition(ann, Some(stale)), addition(bob, None)]).unwrap();
    assert!(matches!(outcomes[..], [AddOutcome::Stale, AddOutcome::Added(_)]), "{outcomes:?}");
    assert_eq!((texts(&accounts, ann), texts(&accounts, bob)), ("1 a".to_owned(), "1 c".to_owned()));
}

#[test]
fn an_addition_must_match_every_field_of_the_head() {
    let (_dir, accounts, ann) = open();
    let next = entries(&[(3, "b")]);
    let addition = |after, wake| Addition {
        account: ann,
        after: Some(after),
        entries: &next,
        horizon: at(3),
        wake,
        request: None,
        audit: None,
    };
    let mut head = added(write(&accounts, ann, None, &[(0, "a")]));
    // The wake time changes from none to a value, to another value, and back to none.
    for wake in [None, Some(at(7)), Some(at(8)), None] {
        let others = [
            JournalHead { revision: head.revision + 1, ..head },
            JournalHead { last_number: head.last_number + 1, ..head },
            JournalHead { horizon: at(2), ..head },
            JournalHead { wake: Some(at(9)), ..head },
            // The wake time is set if the head has none, and cleared if the head has one.
            JournalHead { wake: head.wake.is_none().then(|| at(6)), ..head },
        ];
        for other in others {
            let outcomes = accounts.add_to_journals(&[addition(other, wake)]).unwrap();
            assert_eq!(outcomes, [AddOutcome::Stale], "{other:?} instead of {head:?}");
        }
        assert_eq!(accounts.journal_head(ann).unwrap(), Some(head));
        head = added(accounts.add_to_journals(&[addition(head, wake)]).unwrap()[0]);
        assert_eq!(accounts.journal_head(ann).unwrap(), Some(head));
    }
    assert_eq!((head.last_number, head.wake), (5, None));
}

#[test]
fn concurrent_additions_are_stored_exactly_once() {
    let (home, accounts, ann) = open();
    drop(accounts);
    let (writers, each) = (4, 25);
    let barrier = Barrier::new(writers);
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let (barrier, home) = (&barrier, &home);
            scope.spawn(move || {
                let accounts = Accounts::open(home, NOW).unwrap();
                barrier.wait();
                for number in 0..each {
                    let text = format!("{writer}.{number}");
                    loop {
                        let head = accounts.journal_head(ann).unwrap();
                        if let AddOutcome::Added(_) = write(&accounts, ann, head, &[(0, &text)]) {
                            break;
                        }
                    }
                }
            });
        }
    });
    let accounts = Accounts::open(&home, NOW).unwrap();
    let mut all: Vec<String> =
        accounts.journal_entries(ann, 0).unwrap().into_iter().map(|entry| entry.text).collect();
    all.sort();
    let mut expected: Vec<String> =
        (0..writers).flat_map(|writer| (0..each).map(move |number| format!("{writer}.{number}"))).collect();
    expected.sort();
    assert_eq!(all, expected);
}

#[test]
fn an_idempotency_key_expires() {
    let (_dir, accounts, ann) = open();
    let bob = add(&accounts, "bob").unwrap();
    let request = KeyedRequest { name: "r1", answer: "order 1", at: NOW };
    let addition = Addition {
        account: ann,
        after: None,
        entries: &entries(&[(0, "a")]),
        horizon: OPENING,
        wake: None,
        request: Some(request),
        audit: None,
    };
    accounts.add_to_journals(&[addition]).unwrap();
    let ask = |id, name, after: i64| accounts.journal_request(id, name, Timestamp(after)).unwrap();
    assert_eq!(ask(ann, "r1", NOW.0 - 600).as_deref(), Some("order 1"));
    assert_eq!([ask(ann, "r1", NOW.0), ask(ann, "r2", 0), ask(bob, "r1", 0)], [None, None, None]);
    // A stale addition does not store its idempotency key.
    let stale = Addition { request: Some(KeyedRequest { name: "r2", ..request }), ..addition };
    assert_eq!(accounts.add_to_journals(&[stale]).unwrap(), [AddOutcome::Stale]);
    assert_eq!(ask(ann, "r2", 0), None);
    assert_eq!(accounts.forget_journal_requests(Timestamp(NOW.0 - 1)).unwrap(), 0);
    assert_eq!(accounts.forget_journal_requests(NOW).unwrap(), 1);
    assert_eq!(ask(ann, "r1", 0), None);
}

#[test]
fn a_snapshot_of_another_format_is_ignored() {
    let (_dir, accounts, ann) = open();
    let head = added(write(&accounts, ann, None, &[(0, "a")]));
    write(&accounts, ann, Some(head), &[(1, "b")]);
    assert!(accounts.keep_journal_snapshot(ann, &head, "v1", b"state").unwrap(), "it has been so");
    assert_eq!(accounts.journal_snapshot(ann, "v1").unwrap(), Some((1, b"state".to_vec())));
    assert_eq!(accounts.journal_snapshot(ann, "v2").unwrap(), None);
    accounts.drop_journal_snapshot(ann).unwrap();
    assert_eq!(accounts.journal_snapshot(ann, "v1").unwrap(), None);
}

#[test]
fn a_rewind_archives_the_removed_entries_under_a_name() {
    let (_dir, accounts, ann) = open();
    let head = added(write(&accounts, ann, None, &[(0, "a"), (5, "b"), (9, "c")]));
    assert!(accounts.keep_journal_snapshot(ann, &head, "v1", b"state").unwrap());
    let (name, event, note) = ("before lunch", "paper.rewound", note(NOW));
    let rewind = Rewind { account: ann, after: head, keep: 1, numbers_used: 7, to: at(3), name, event, note };
    let stale = Rewind { after: JournalHead { revision: 9, ..head }, ..rewind };
    assert_eq!(accounts.rewind_journal(&stale).unwrap(), RewindOutcome::Stale);
    let RewindOutcome::Done(now) = accounts.rewind_journal(&rewind).unwrap() else { panic!() };
    assert_eq!(now, JournalHead { revision: 1 << 32, last_number: 1, horizon: at(3), wake: Some(at(3)) });
    assert!(!now.follows(&head), "entries were taken away");
    assert_eq!(accounts.numbers_used(ann).unwrap(), 7);
    assert_eq!(texts(&accounts, ann), "1 a");
    assert_eq!(accounts.journal_snapshot(ann, "v1").unwrap(), None);
    // A snapshot of the removed part is rejected, even if the journal reaches that length again.
    assert!(!accounts.keep_journal_snapshot(ann, &head, "v1", b"state").unwrap());
    assert_eq!(accounts.journal_snapshot(ann, "v1").unwrap(), None);
    let cuts = accounts.journal_cuts(ann).unwrap();
    let cut = &cuts[0];
    assert_eq!(
        (cut.name.as_str(), cut.rewound_to, cut.horizon, cut.entries),
        ("before lunch", at(3), at(9), 2)
    );
    let stored = accounts.journal_cut_entries(ann, "before lunch", 0).unwrap();
    assert_eq!(stored.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    // Numbering continues after the remaining entries, and the name cannot be used again.
    let now = added(write(&accounts, ann, Some(now), &[(4, "d")]));
    assert_eq!(texts(&accounts, ann), "1 a, 2 d");
    let again = Rewind { after: now, ..rewind };
    assert_eq!(accounts.rewind_journal(&again).unwrap(), RewindOutcome::NameTaken);
    // Numbers that were assigned remain used, regardless of which entries are removed.
    for (name, numbers_used, highest) in [("two", 3, 7), ("three", 12, 12)] {
        let after = accounts.journal_head(ann).unwrap().unwrap();
        let lower = Rewind { after, name, numbers_used, ..rewind };
        assert!(matches!(accounts.rewind_journal(&lower).unwrap(), RewindOutcome::Done(_)));
        assert_eq!(accounts.numbers_used(ann).unwrap(), highest);
    }
    let actual = accounts.audit(&AuditFilter { limit: 10, ..AuditFilter::default() }).unwrap();
    assert_eq!(actual[0].event, "paper.rewound");
}

/// Copies a journal up to an entry.
fn copied(accounts: &Accounts, source: AccountId, copy: AccountId, last: u64) -> CopyOutcome {
    let of = accounts.journal_head(source).unwrap().unwrap();
    let (event, note) = ("paper.forked", note(NOW));
    let copy = JournalCopy { source, of, copy, last, horizon: of.horizon, wake: None, event, note };
    accounts.copy_journal(&copy).unwrap()
}

fn rewound(accounts: &Accounts, account: AccountId, keep: u64, name: &str) {
    let after = accounts.journal_head(account).unwrap().unwrap();
    let (to, event, note) = (at(i64::try_from(keep).unwrap()), "paper.rewound", note(NOW));
    let rewind = Rewind { account, after, keep, numbers_used: 0, to, name, event, note };
    assert!(matches!(accounts.rewind_journal(&rewind).unwrap(), RewindOutcome::Done(_)));
}

#[test]
fn a_copied_journal_shares_entries_and_continues_independently() {
    let (_dir, accounts, ann) = open();
    let [bob, carol, dave] = ["bob", "carol", "dave"].map(|name| add(&accounts, name).unwrap());
    added(write(&accounts, ann, None, &[(1, "a"), (2, "b"), (3, "c"), (4, "d")]));
    let CopyOutcome::Copied(head) = copied(&accounts, ann, bob, 3) else { panic!() };
    assert_eq!(accounts.journal_head(bob).unwrap(), Some(head));
    assert_eq!((head.revision, head.last_number), (1, 3));
    assert_eq!(copied(&accounts, ann, bob, 2), CopyOutcome::NotEmpty);
    assert_eq!(copied(&accounts, ann, ann, 2), CopyOutcome::NotEmpty);
    added(write(&accounts, bob, Some(head), &[(5, "e"), (6, "f")]));
    assert!(matches!(copied(&accounts, bob, carol, 4), CopyOutcome::Copied(_)));
    assert_eq!(texts(&accounts, ann), "1 a, 2 b, 3 c, 4 d");
    assert_eq!(texts(&accounts, bob), "1 a, 2 b, 3 c, 4 e, 5 f");
    assert_eq!(texts(&accounts, carol), "1 a, 2 b, 3 c, 4 e");
    let of: Vec<AccountId> =
        accounts.journal_entries(carol, 1).unwrap().into_iter().map(|entry| entry.account).collect();
    assert_eq!(of, [ann, ann, bob], "ids in the texts are of these accounts");
    assert_eq!(accounts.journal_entry(carol, 3).unwrap().unwrap().text, "c");
    assert_eq!(accounts.journal_entry(carol, 5).unwrap(), None);
    assert_eq!(accounts.journal_number_at(carol, at(4)).unwrap(), 3);
    let between = accounts.journal_entries_between(carol, 0, (at(2), at(5))).unwrap();
    assert_eq!(between.iter().map(|entry| entry.number).collect::<Vec<_>>(), [2, 3, 4]);
    // A rewind of a source does not change the copies.
    rewound(&accounts, ann, 1, "x");
    assert_eq!(texts(&accounts, ann), "1 a");
    assert_eq!(texts(&accounts, bob), "1 a, 2 b, 3 c, 4 e, 5 f");
    assert_eq!(texts(&accounts, carol), "1 a, 2 b, 3 c, 4 e");
    let stale = JournalCopy {
        source: ann,
        of: JournalHead { revision: 1, last_number: 4, horizon: at(4), wake: None },
        copy: dave,
        last: 3,
        horizon: at(4),
        wake: None,
        event: "paper.forked",
        note: note(NOW),
    };
    assert_eq!(accounts.copy_journal(&stale).unwrap(), CopyOutcome::Stale);
    assert_eq!(accounts.journal_head(dave).unwrap(), None);
}

#[test]
fn a_rewind_of_a_copy_archives_the_entries_that_it_shared() {
    let (_dir, accounts, ann) = open();
    let [bob, carol] = ["bob", "carol"].map(|name| add(&accounts, name).unwrap());
    added(write(&accounts, ann, None, &[(1, "a"), (2, "b"), (3, "c")]));
    let CopyOutcome::Copied(head) = copied(&accounts, ann, bob, 3) else { panic!() };
    added(write(&accounts, bob, Some(head), &[(4, "d")]));
    assert!(matches!(copied(&accounts, bob, carol, 4), CopyOutcome::Copied(_)));
    rewound(&accounts, bob, 1, "x");
    assert_eq!(texts(&accounts, bob), "1 a");
    let archived = accounts.journal_cut_entries(bob, "x", 0).unwrap();
    let archived: Vec<&str> = archived.iter().map(|entry| entry.text.as_str()).collect();
    assert_eq!(archived, ["b", "c", "d"]);
    let head = accounts.journal_head(bob).unwrap();
    added(write(&accounts, bob, head, &[(5, "z")]));
    assert_eq!(texts(&accounts, bob), "1 a, 2 z");
    assert_eq!(texts(&accounts, ann), "1 a, 2 b, 3 c");
    assert_eq!(texts(&accounts, carol), "1 a, 2 b, 3 c, 4 d");
}
