//! A store at another place is the same store, or it is none.

use std::ops::ControlFlow;
use std::path::Path;

use store::{
    Access, Accounts, Copied, Depth, Move, MoveError, MoveProgress, MoveStage, Place, Store, StoreError,
};

use crate::backup::{add, content, events, filled, note};
use crate::fixture::{Fresh, NOW, block, fresh, minutes, put};

fn moving(from: &Path, to: &Path) -> Result<Copied, MoveError> {
    interrupted(from, to, usize::MAX)
}

/// The same, stopped after so many steps.
fn interrupted(from: &Path, to: &Path, steps: usize) -> Result<Copied, MoveError> {
    let mut left = steps;
    let (from, to) = (Place::from(from), Place::from(to));
    Move { from: &from, to: &to, now: NOW }.run(&mut |_| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// Every finding in a store that may be there.
fn findings(dir: &Path) -> usize {
    let store = Store::open(dir, Access::Read).unwrap();
    let tables = store.reader().unwrap().check_tables(Depth::Full).unwrap().len();
    tables + Accounts::look(dir).unwrap().check(Depth::Full).unwrap().len()
}

/// What a store of several of everything has.
fn full() -> (Fresh, Accounts) {
    let (fresh, accounts) = filled();
    for number in 1..60 {
        put(&fresh.store, &minutes(&format!("{number}.HK")), &[], &[block(1, 4), block(5, 9)]);
        add(&accounts, &format!("account {number}"));
    }
    (fresh, accounts)
}

#[test]
fn a_moved_store_has_the_same_blocks_accounts_and_numbers() {
    let (from, accounts) = full();
    let revoked = accounts.account_named("account 3").unwrap().unwrap().id;
    assert!(accounts.revoke(revoked, &note()).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("there");
    let copied = moving(from.dir.path(), &to).unwrap();
    assert!(!copied.resumed && copied.has_accounts());
    let rows = |name: &str| copied.tables.iter().find(|table| table.name == name).unwrap().rows;
    assert_eq!((rows("security"), rows("block_body"), rows("account")), (60, 120, 60));
    copied.finish().unwrap();

    assert_eq!(content(&to), content(from.dir.path()));
    assert_eq!(findings(&to), 0);
    let version = |dir: &Path| Store::open(dir, Access::Read).unwrap().reader().unwrap().version().unwrap();
    assert_eq!(version(&to), version(from.dir.path()));
    let there = Accounts::open(&to, NOW).unwrap();
    assert_eq!(there.accounts().unwrap(), accounts.accounts().unwrap());
    assert_eq!(there.version().unwrap(), accounts.version().unwrap());
    assert_eq!(events(&there), events(&accounts));
    // Numbers go on where they were.
    assert_eq!(there.take_id().unwrap(), accounts.take_id().unwrap());
    put(&Store::open(&to, Access::Read).unwrap(), &minutes("700.HK"), &[], &[block(9, 12)]);
    put(&from.store, &minutes("700.HK"), &[], &[block(9, 12)]);
    assert_eq!(content(&to), content(from.dir.path()));
}

#[test]
fn an_interrupted_move_goes_on_and_is_no_store_until_it_is_done() {
    let (from, accounts) = full();
    let accounts_before = accounts.accounts().unwrap();
    let mut steps = 0;
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    let (source, target) = (Place::from(from.dir.path()), Place::from(&whole));
    let copied = Move { from: &source, to: &target, now: NOW }.run(&mut |_| {
        steps += 1;
        ControlFlow::Continue(())
    });
    copied.unwrap().finish().unwrap();
    for stop in (1..=steps).step_by(19) {
        let to = dir.path().join(format!("stopped at {stop}"));
        assert!(matches!(interrupted(from.dir.path(), &to, stop), Err(MoveError::Stopped)), "{stop}");
        let refused = Store::open(&to, Access::Read).unwrap_err();
        assert!(matches!(refused, StoreError::HalfMoved { .. }), "{stop}: {refused:?}");
        let refused = Store::open(&to, Access::Write { now: NOW }).unwrap_err();
        assert!(matches!(refused, StoreError::HalfMoved { .. }), "{stop}: {refused:?}");
        let refused = Accounts::open(&to, NOW).unwrap_err();
        assert!(matches!(refused, StoreError::HalfMoved { .. }), "{stop}: {refused:?}");
        // Stopped once more, a little further on.
        let again = interrupted(from.dir.path(), &to, 2).unwrap_err();
        assert!(matches!(again, MoveError::Stopped), "{again:?}");
        let copied = moving(from.dir.path(), &to).unwrap();
        assert!(copied.resumed, "{stop}");
        copied.finish().unwrap();
        assert_eq!(content(&to), content(&whole));
        assert_eq!(Accounts::open(&to, NOW).unwrap().accounts().unwrap(), accounts_before);
        assert_eq!(findings(&to), 0, "{stop}");
    }
    assert_eq!(accounts.accounts().unwrap(), accounts_before);
}

#[test]
fn a_move_that_was_compared_and_not_finished_is_finished_by_the_next() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("there");
    drop(moving(from.dir.path(), &to).unwrap());
    assert!(matches!(Store::open(&to, Access::Read), Err(StoreError::HalfMoved { .. })));
    let copied = moving(from.dir.path(), &to).unwrap();
    assert!(copied.resumed);
    copied.finish().unwrap();
    assert_eq!(content(&to), content(from.dir.path()));
}

#[test]
fn what_is_there_is_never_mixed_with_what_comes() {
    let (from, _accounts) = filled();
    let (other, _others) = full();
    let refused = moving(from.dir.path(), other.dir.path()).unwrap_err();
    assert!(matches!(refused, MoveError::NotEmpty { .. }), "{refused:?}");
    let refused = moving(from.dir.path(), from.dir.path()).unwrap_err();
    assert!(matches!(refused, MoveError::Same { .. }), "{refused:?}");
    // The beginning of another one.
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("there");
    assert!(matches!(interrupted(other.dir.path(), &to, 5), Err(MoveError::Stopped)));
    let refused = moving(from.dir.path(), &to).unwrap_err();
    assert!(matches!(refused, MoveError::Other { .. }), "{refused:?}");
    assert!(refused.to_string().contains(&other.dir.path().display().to_string()), "{refused}");
    // What had something once has left its numbers.
    let emptied = fresh();
    let mut writer = emptied.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.ensure_security(&"1.HK".parse().unwrap()).unwrap();
    batch.commit().unwrap();
    drop(writer);
    assert!(matches!(moving(from.dir.path(), emptied.dir.path()), Err(MoveError::NotEmpty { .. })));
    // An empty store is nothing.
    let empty = fresh();
    Accounts::open(empty.dir.path(), NOW).unwrap();
    moving(from.dir.path(), empty.dir.path()).unwrap().finish().unwrap();
    assert_eq!(content(empty.dir.path()), content(from.dir.path()));
}

#[test]
fn a_source_that_has_changed_since_is_another_one() {
    let (from, accounts) = full();
    let dir = tempfile::tempdir().unwrap();
    for (name, change) in [("candles", true), ("accounts", false)] {
        let to = dir.path().join(name);
        assert!(matches!(interrupted(from.dir.path(), &to, 9), Err(MoveError::Stopped)));
        match change {
            true => drop(put(&from.store, &minutes("9988.HK"), &[], &[block(1, 2)])),
            false => drop(add(&accounts, "late")),
        }
        let refused = moving(from.dir.path(), &to).unwrap_err();
        assert!(matches!(refused, MoveError::Other { .. }), "{refused:?}");
    }
}

#[test]
fn nobody_changes_a_source_meanwhile() {
    let (from, accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let (source, target) = (Place::from(from.dir.path()), Place::from(dir.path().join("there")));
    let mut tried = [false; 2];
    let copied = Move { from: &source, to: &target, now: NOW }.run(&mut |progress: MoveProgress<'_>| {
        let is_accounts = progress.part == store::Part::Accounts;
        if !tried[usize::from(is_accounts)] {
            tried[usize::from(is_accounts)] = true;
            let busy = match is_accounts {
                false => from.store.writer().unwrap_err(),
                true => accounts.take_id().unwrap_err(),
            };
            assert!(matches!(busy, StoreError::Busy { .. } | StoreError::Locked { .. }), "{busy:?}");
        }
        ControlFlow::Continue(())
    });
    copied.unwrap().finish().unwrap();
    assert_eq!(tried, [true; 2]);
    accounts.take_id().unwrap();
}

#[test]
fn a_store_that_a_server_has_is_not_moved() {
    let (from, _accounts) = filled();
    let serving = from.store.job_lock().unwrap().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("there");
    let refused = moving(from.dir.path(), &to).unwrap_err();
    assert!(matches!(refused, MoveError::InUse { .. }), "{refused:?}");
    assert!(!to.exists(), "nothing is created by halves");
    drop(serving);
    moving(from.dir.path(), &to).unwrap().finish().unwrap();
}

#[test]
fn a_store_without_accounts_is_moved_too() {
    let from = fresh();
    put(&from.store, &minutes("700.HK"), &[], &[block(1, 4)]);
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("there");
    let copied = moving(from.dir.path(), &to).unwrap();
    assert!(!copied.has_accounts());
    copied.finish().unwrap();
    assert_eq!(content(&to), content(from.dir.path()));
    assert!(Accounts::open(&to, NOW).unwrap().is_empty().unwrap());
    assert!(!from.dir.path().join("accounts.db").exists());
}

#[test]
fn what_is_not_the_same_at_both_ends_is_not_finished() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("there");
    let (source, target) = (Place::from(from.dir.path()), Place::from(&to));
    let mut is_bent = false;
    let refused = Move { from: &source, to: &target, now: NOW }.run(&mut |progress: MoveProgress<'_>| {
        // The blocks are there already.
        if progress.stage == MoveStage::Copy && progress.table == "block_index" && !is_bent {
            is_bent = true;
            let conn = rusqlite::Connection::open(to.join("candles.db")).unwrap();
            conn.execute("update block_body set body = x'00' where id = 2", []).unwrap();
        }
        ControlFlow::Continue(())
    });
    let refused = refused.unwrap_err();
    assert!(matches!(&refused, MoveError::Differs { table, .. } if table == "block_body"), "{refused:?}");
    assert!(matches!(Store::open(&to, Access::Read), Err(StoreError::HalfMoved { .. })));
}

#[test]
fn damage_is_not_moved_as_if_it_were_whole() {
    for change in ["update account set level = 6", "delete from usage where symbol = '5.HK'"] {
        let (from, accounts) = filled();
        let id = accounts.account_named("ann").unwrap().unwrap().id;
        for symbol in ["5.HK", "6.HK"] {
            accounts.spend(id, "2026-11", &symbol.parse().unwrap(), 9, (NOW, NOW)).unwrap();
        }
        let conn = rusqlite::Connection::open(from.dir.path().join("accounts.db")).unwrap();
        conn.execute(change, []).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let refused = moving(from.dir.path(), &dir.path().join("there")).unwrap_err();
        assert!(matches!(refused, MoveError::Store(StoreError::Damaged { .. })), "{change}: {refused:?}");
    }
}
