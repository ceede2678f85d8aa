//! Tests of backup and restore of each kind of data, and of numbers that were assigned after the
//! backup.

use std::path::Path;

use market::Timestamp;
use store::{Access, AccountId, Accounts, Depth, Existing, PageOf, ReplyOrder, Restore, Store, TopicId};

use crate::accounts::add;
use crate::backup::{backup, filled, on, restore};
use crate::fixture::{Fresh, NOW, block, fresh, margin, minutes, put};
use crate::{journals, statements, topics, trades, watchlists};

/// Returns a store with candles, a key and one account.
fn with_account() -> (Fresh, Accounts, AccountId) {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 4)]);
    let accounts = Accounts::open(&fresh.home, NOW).unwrap();
    std::fs::write(fresh.home.path().join("secret.key"), [7; 32]).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    (fresh, accounts, ann)
}

/// Replaces a store with a backup, and opens its accounts again.
fn put_back(accounts: Accounts, from: &Path, store: &Path) -> Accounts {
    drop(accounts);
    Restore { existing: Existing::ReplaceAndForget, ..restore(from, store) }.run(&mut on).unwrap();
    Accounts::open(store, NOW).unwrap()
}

#[test]
fn numbers_assigned_since_the_backup_stay_used() {
    let (fresh, accounts, ann) = with_account();
    let bob = add(&accounts, "bob").unwrap();
    let head = journals::added(journals::write(&accounts, ann, None, &[(0, "a"), (0, "b")]));
    journals::added(journals::write(&accounts, bob, None, &[(0, "x")]));
    let elsewhere = tempfile::tempdir().unwrap();
    let (dir, to) = (fresh.home.path(), elsewhere.path().join("backup"));
    backup(dir, &to).unwrap();
    let cyd = add(&accounts, "cyd").unwrap();
    journals::added(journals::write(&accounts, ann, Some(head), &[(1, "c")]));
    journals::added(journals::write(&accounts, cyd, None, &[(0, "y"), (1, "z")]));
    let accounts = put_back(accounts, &to, dir);
    // Any journal entry may have assigned a number, so as many numbers as entries are marked as
    // used. Bob's journal has not changed, and Cyd's journal no longer exists.
    let used = |accounts: &Accounts| [ann, bob, cyd].map(|id| accounts.numbers_used(id).unwrap());
    assert_eq!(used(&accounts), [3, 0, 2]);
    let head = accounts.journal_head(ann).unwrap();
    journals::added(journals::write(&accounts, ann, head, &[(1, "d"), (2, "e")]));
    let accounts = put_back(accounts, &to, dir);
    assert_eq!(used(&accounts), [3 + 4, 0, 2]);
}

#[test]
fn factors_survive_backup_and_restore() {
    let (fresh, _accounts) = filled();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let given = margin("700.HK", "0.35", "0.3", "0.25");
    batch.put_margin(&given).unwrap();
    batch.commit().unwrap();
    drop(writer);
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(fresh.home.path(), &to).unwrap();
    restore(&to, &back).run(&mut on).unwrap();
    let mut reader = Store::open(&back, Access::Read).unwrap().reader().unwrap();
    assert_eq!(reader.check(Depth::Full, |_, _, _| None).unwrap(), []);
    assert_eq!(reader.snapshot().unwrap().margins().unwrap(), [given]);
}

#[test]
fn statements_survive_backup_and_restore() {
    let (fresh, accounts, ann) = with_account();
    let head = statements::journal(&accounts, ann, statements::made_at(20));
    statements::put_days(&accounts, ann, head, None, &[17]);
    let elsewhere = tempfile::tempdir().unwrap();
    let (dir, to) = (fresh.home.path(), elsewhere.path().join("backup"));
    backup(dir, &to).unwrap();
    statements::put_days(&accounts, ann, head, Some(17), &[18]);
    let accounts = put_back(accounts, &to, dir);
    assert_eq!(statements::listed(&accounts, ann, statements::all()), ["2026-03-17"]);
    assert_eq!(accounts.journal_head(ann).unwrap(), Some(head));
    assert!(statements::put_days(&accounts, ann, head, Some(17), &[18]));
}

#[test]
fn topics_survive_backup_and_restore() {
    let (fresh, accounts, ann) = with_account();
    let stored = topics::write(&accounts, ann, "Kept", &["700.HK"], 0);
    let reply = topics::added(topics::answer(&accounts, ann, stored.id, None));
    let elsewhere = tempfile::tempdir().unwrap();
    let (dir, to) = (fresh.home.path(), elsewhere.path().join("backup"));
    backup(dir, &to).unwrap();
    let lost = topics::write(&accounts, ann, "Lost", &["700.HK"], 5);
    let accounts = put_back(accounts, &to, dir);
    assert_eq!(accounts.topic(lost.id).unwrap(), None);
    assert_eq!(accounts.topic(stored.id).unwrap().unwrap().replies, 1);
    let all = PageOf { limit: 100, offset: 0 };
    assert_eq!(accounts.replies(stored.id, ann, ReplyOrder::NewestFirst, all).unwrap(), [reply]);
    assert_eq!(topics::write(&accounts, ann, "Next", &[], 9).id, TopicId(lost.id.0 + 1));
}

#[test]
fn trades_survive_backup_and_restore() {
    let fresh = trades::filled();
    let before = trades::days(&fresh.store, "2026-12-31", 9).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(fresh.home.path(), &to).unwrap();
    restore(&to, &back).run(&mut on).unwrap();
    let store = Store::open(&back, Access::Write { now: NOW }).unwrap();
    assert_eq!(trades::days(&store, "2026-12-31", 9).unwrap(), before);
    trades::put(&store, "2026-03-18", 0, &[(12, 13)]);
    assert_eq!(trades::findings(&store), []);
}

#[test]
fn watchlists_survive_backup_and_restore() {
    let (fresh, accounts, ann) = with_account();
    watchlists::create(&accounts, ann, "kept", &["700.HK", "AAPL.US"]);
    let stored = accounts.watchlists(ann).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (dir, to) = (fresh.home.path(), elsewhere.path().join("backup"));
    backup(dir, &to).unwrap();
    let lost = watchlists::create(&accounts, ann, "lost", &["5.HK"]);
    let accounts = put_back(accounts, &to, dir);
    assert_eq!(accounts.watchlists(ann).unwrap(), stored);
    assert!(watchlists::create(&accounts, ann, "new", &[]) > lost);
    let again = Accounts::open(dir, Timestamp(NOW.0 + 1)).unwrap();
    assert!(again.check(Depth::Full).unwrap().is_empty());
}
