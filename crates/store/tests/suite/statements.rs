//! Tests of the statements of paper accounts: a statement is stored once, for the journal that it
//! was made from, and removed with the journal's entries.

use market::{Date, Timestamp};
use store::{
    AccountId, Accounts, AddOutcome, Addition, JournalHead, NewStatement, Rewind, RewindOutcome,
    STATEMENT_BYTES_MAX, StatementBatch, StatementKey, StatementQuery,
};

use crate::accounts::{add, note};
use crate::fixture::{Home, NOW};

const DAILY: u8 = 1;
const DAY_S: i64 = 86_400;

fn date(day: i64) -> Date {
    format!("2026-03-{day:02}").parse().unwrap()
}

/// Returns the time at which the statement of a day is made, which is on the next day.
pub(crate) fn made_at(day: i64) -> Timestamp {
    Timestamp(1_000_000 + day * DAY_S)
}

fn statement(day: i64) -> NewStatement {
    let key = StatementKey { kind: DAILY, date: date(day) };
    NewStatement { key, made_at: made_at(day), document: format!("of {day}").into_bytes() }
}

pub(crate) fn listed(accounts: &Accounts, id: AccountId, query: StatementQuery) -> Vec<String> {
    accounts.statements(id, &query).unwrap().iter().map(|(date, _)| date.to_string()).collect()
}

pub(crate) fn all() -> StatementQuery {
    let from = "0000-01-01".parse().unwrap();
    StatementQuery { kind: DAILY, from, made_by: Timestamp(i64::MAX), skip: 0, limit: 100 }
}

pub(crate) fn journal(accounts: &Accounts, id: AccountId, horizon: Timestamp) -> JournalHead {
    let entries = [(Timestamp(5), "a".to_owned()), (horizon, "b".to_owned())];
    let addition = Addition {
        account: id,
        after: None,
        entries: &entries,
        horizon,
        wake: None,
        request: None,
        audit: None,
    };
    let outcomes = accounts.add_to_journals(&[addition]).unwrap();
    let Some(AddOutcome::Added(head)) = outcomes.first() else { panic!("{outcomes:?}") };
    *head
}

fn open() -> (Home, Accounts, AccountId, JournalHead) {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    let head = journal(&accounts, ann, made_at(20));
    (home, accounts, ann, head)
}

pub(crate) fn put_days(
    accounts: &Accounts,
    account: AccountId,
    of: JournalHead,
    after: Option<i64>,
    days: &[i64],
) -> bool {
    let statements: Vec<NewStatement> = days.iter().copied().map(statement).collect();
    let next_at = made_at(days.last().copied().unwrap_or_default() + 1);
    let after = (DAILY, after.map(date));
    accounts.put_statements(&StatementBatch { account, of, after, statements: &statements, next_at }).unwrap()
}

#[test]
fn statements_are_listed_newest_first_and_read_back_unchanged() {
    let (_dir, accounts, ann, head) = open();
    assert_eq!(accounts.accounts_with_statements_due(AccountId(0), 10).unwrap(), [ann]);
    assert!(put_days(&accounts, ann, head, None, &[17, 18, 19]));
    assert_eq!(listed(&accounts, ann, all()), ["2026-03-19", "2026-03-18", "2026-03-17"]);
    assert_eq!(listed(&accounts, ann, StatementQuery { skip: 1, limit: 1, ..all() }), ["2026-03-18"]);
    assert_eq!(listed(&accounts, ann, StatementQuery { from: date(19), ..all() }), ["2026-03-19"]);
    assert_eq!(listed(&accounts, ann, StatementQuery { made_by: made_at(17), ..all() }), ["2026-03-17"]);
    assert!(listed(&accounts, ann, StatementQuery { kind: 2, ..all() }).is_empty());
    let key = StatementKey { kind: DAILY, date: date(18) };
    assert_eq!(accounts.statement(ann, key).unwrap(), Some((made_at(18), b"of 18".to_vec())));
    let bob = add(&accounts, "bob").unwrap();
    assert_eq!(accounts.statement(bob, key).unwrap(), None);
    // The journal has reached the time of the next statement.
    assert_eq!(accounts.statement_due(ann).unwrap(), Some(made_at(20)));
    assert_eq!(accounts.accounts_with_statements_due(AccountId(0), 10).unwrap(), [ann]);
    assert!(put_days(&accounts, ann, head, Some(19), &[20]));
    assert!(accounts.accounts_with_statements_due(AccountId(0), 10).unwrap().is_empty());
}

#[test]
fn statements_made_from_a_stale_state_are_not_stored() {
    let (_dir, accounts, ann, head) = open();
    assert!(put_days(&accounts, ann, head, None, &[17]));
    assert!(!put_days(&accounts, ann, head, None, &[17, 18]));
    assert_eq!(listed(&accounts, ann, all()), ["2026-03-17"]);
    let long = NewStatement { document: vec![0; STATEMENT_BYTES_MAX + 1], ..statement(18) };
    let after = (DAILY, Some(date(17)));
    let batch = StatementBatch { account: ann, of: head, after, statements: &[long], next_at: made_at(19) };
    assert!(accounts.put_statements(&batch).is_err());
}

#[test]
fn a_rewind_removes_statements_made_after_it() {
    let (_dir, accounts, ann, head) = open();
    put_days(&accounts, ann, head, None, &[17, 18, 19]);
    let (name, event) = ("try", "paper.rewound");
    let rewind = Rewind {
        account: ann,
        after: head,
        keep: 1,
        numbers_used: 0,
        to: made_at(18),
        name,
        event,
        note: note(NOW),
    };
    let RewindOutcome::Done(now) = accounts.rewind_journal(&rewind).unwrap() else { panic!() };
    assert_eq!(listed(&accounts, ann, all()), ["2026-03-18", "2026-03-17"]);
    assert_eq!(accounts.statement_due(ann).unwrap(), None, "they are looked for anew");
    // Statements made from the removed entries are rejected, but statements made from the remaining
    // journal are stored.
    assert!(!put_days(&accounts, ann, head, Some(18), &[19]));
    assert!(put_days(&accounts, ann, now, Some(18), &[19]));
}
