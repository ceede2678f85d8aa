//! Tests of moving a store: the target is either a complete copy, or not a store.

use std::ops::ControlFlow;

use store::{
    Access, Accounts, AuditFilter, Copied, Depth, Move, MoveError, MoveProgress, MoveStage, Store,
    StoreError, StoreUrl,
};

use crate::accounts::{add, note};
use crate::fixture::{Fresh, Home, NOW, block, fresh, minutes, put};

pub(crate) fn transfer(from: &StoreUrl, to: &StoreUrl) -> Result<Copied, MoveError> {
    interrupted(from, to, usize::MAX)
}

/// Like [`transfer`], but stops after `steps` steps.
fn interrupted(from: &StoreUrl, to: &StoreUrl, steps: usize) -> Result<Copied, MoveError> {
    let mut left = steps;
    Move { from, to, now: NOW }.run(&mut |_| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// Returns the number of findings in a store.
pub(crate) fn findings(place: &StoreUrl) -> usize {
    let store = Store::open(place, Access::Read).unwrap();
    let tables = store.reader().unwrap().check(Depth::Full, |_, _, _| None).unwrap().len();
    tables + Accounts::look(place).unwrap().check(Depth::Full).unwrap().len()
}

/// Returns all blocks with their bytes, accounts and audit rows of a store, as text.
pub(crate) fn content(place: &StoreUrl) -> String {
    let store = Store::open(place, Access::Read).unwrap();
    let mut reader = store.reader().unwrap();
    let mut text = format!("version {}\n", reader.version().unwrap());
    let snapshot = reader.snapshot().unwrap();
    for info in snapshot.all_series().unwrap() {
        for entry in snapshot.blocks(&info.series, None, None).unwrap() {
            let mut bytes = Vec::new();
            snapshot.block(&entry, &mut bytes).unwrap();
            text += &format!("{} {} {}\n", info.series, entry.id, String::from_utf8(bytes).unwrap());
        }
    }
    if Accounts::is_there(place).unwrap() {
        let accounts = Accounts::look(place).unwrap();
        text += &format!("version {}\n", accounts.version().unwrap());
        for account in accounts.accounts().unwrap() {
            text += &format!("{account:?} {:?}\n", accounts.credentials_of(account.id).unwrap());
        }
        for row in accounts.audit(&AuditFilter { limit: 1_000, ..AuditFilter::default() }).unwrap() {
            text += &format!("{row:?}\n");
        }
    }
    text
}

/// Returns a store with two blocks and an account.
pub(crate) fn filled() -> (Fresh, Accounts) {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 4), block(5, 8)]);
    let accounts = Accounts::open(&fresh.home, NOW).unwrap();
    add(&accounts, "ann").unwrap();
    (fresh, accounts)
}

fn place(fresh: &Fresh) -> StoreUrl {
    (&fresh.home).into()
}

/// Returns a store with several rows of every kind.
pub(crate) fn full() -> (Fresh, Accounts) {
    let (fresh, accounts) = filled();
    for number in 1..60 {
        put(&fresh.store, &minutes(&format!("{number}.HK")), &[], &[block(1, 4), block(5, 9)]);
        add(&accounts, &format!("account {number}")).unwrap();
    }
    (fresh, accounts)
}

#[test]
fn a_moved_store_has_the_same_blocks_accounts_and_numbers() {
    let (from, accounts) = full();
    let revoked = accounts.account_named("account 3").unwrap().unwrap().id;
    assert!(accounts.revoke(revoked, &note(NOW)).unwrap());
    let (home, from_place) = (Home::new(), place(&from));
    let to = StoreUrl::from(&home);
    let copied = transfer(&from_place, &to).unwrap();
    assert!(!copied.resumed && copied.has_accounts());
    let rows = |name: &str| copied.tables.iter().find(|table| table.name == name).unwrap().rows;
    assert_eq!((rows("security"), rows("block_body"), rows("account")), (60, 120, 60));
    copied.finish().unwrap();

    assert_eq!(content(&to), content(&from_place));
    assert_eq!(findings(&to), 0);
    let there = Accounts::open(&to, NOW).unwrap();
    // Ids continue in the source and in the target.
    assert_eq!(there.take_id().unwrap(), accounts.take_id().unwrap());
    for accounts in [&there, &accounts] {
        add(accounts, "late").unwrap();
    }
    put(&Store::open(&to, Access::Read).unwrap(), &minutes("700.HK"), &[], &[block(9, 12)]);
    put(&from.store, &minutes("700.HK"), &[], &[block(9, 12)]);
    assert_eq!(content(&to), content(&from_place));
}

#[test]
fn an_interrupted_move_can_be_resumed() {
    let (from, _accounts) = full();
    let from = place(&from);
    let before = content(&from);
    let mut steps = 0;
    let whole = Home::new();
    let copied = Move { from: &from, to: &StoreUrl::from(&whole), now: NOW }.run(&mut |_| {
        steps += 1;
        ControlFlow::Continue(())
    });
    copied.unwrap().finish().unwrap();
    for stop in (1..=steps).step_by(19) {
        let home = Home::new();
        let to = StoreUrl::from(&home);
        assert!(matches!(interrupted(&from, &to, stop), Err(MoveError::Stopped)), "{stop}");
        let refused = Store::open(&to, Access::Read).unwrap_err();
        assert!(matches!(refused, StoreError::HalfMoved { .. }), "{stop}: {refused:?}");
        let refused = Store::open(&to, Access::Write { now: NOW }).unwrap_err();
        assert!(matches!(refused, StoreError::HalfMoved { .. }), "{stop}: {refused:?}");
        let refused = Accounts::open(&to, NOW).unwrap_err();
        assert!(matches!(refused, StoreError::HalfMoved { .. }), "{stop}: {refused:?}");
        // The move is stopped a second time.
        let again = interrupted(&from, &to, 2).unwrap_err();
        assert!(matches!(again, MoveError::Stopped), "{again:?}");
        let copied = transfer(&from, &to).unwrap();
        assert!(copied.resumed, "{stop}");
        copied.finish().unwrap();
        assert_eq!(content(&to), before);
        assert_eq!(findings(&to), 0, "{stop}");
    }
    assert_eq!(content(&from), before);
}

#[test]
fn repeating_an_unfinished_move_finishes_it() {
    let (from, _accounts) = filled();
    let (from, home) = (place(&from), Home::new());
    let to = StoreUrl::from(&home);
    drop(transfer(&from, &to).unwrap());
    assert!(matches!(Store::open(&to, Access::Read), Err(StoreError::HalfMoved { .. })));
    let copied = transfer(&from, &to).unwrap();
    assert!(copied.resumed);
    copied.finish().unwrap();
    assert_eq!(content(&to), content(&from));
}

#[test]
fn a_move_into_existing_data_is_refused() {
    let (from, _accounts) = filled();
    let (other, _others) = full();
    let (from, other) = (place(&from), place(&other));
    let refused = transfer(&from, &other).unwrap_err();
    assert!(matches!(refused, MoveError::NotEmpty { .. }), "{refused:?}");
    let refused = transfer(&from, &from).unwrap_err();
    assert!(matches!(refused, MoveError::Same { .. }), "{refused:?}");
    // The target has a part of another move.
    let home = Home::new();
    let to = StoreUrl::from(&home);
    assert!(matches!(interrupted(&other, &to, 5), Err(MoveError::Stopped)));
    let refused = transfer(&from, &to).unwrap_err();
    assert!(matches!(refused, MoveError::Other { .. }), "{refused:?}");
    assert!(refused.to_string().contains(&other.to_string()), "{refused}");
    // The target has a security, but no candles.
    let emptied = fresh();
    let mut writer = emptied.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.ensure_security(&"1.HK".parse().unwrap()).unwrap();
    batch.commit().unwrap();
    drop(writer);
    assert!(matches!(transfer(&from, &place(&emptied)), Err(MoveError::NotEmpty { .. })));
    // An empty store is accepted.
    let empty = fresh();
    drop(Accounts::open(&empty.home, NOW).unwrap());
    transfer(&from, &place(&empty)).unwrap().finish().unwrap();
    assert_eq!(content(&place(&empty)), content(&from));
}

#[test]
fn a_move_is_not_resumed_if_the_source_has_changed() {
    let (from, accounts) = full();
    for of_candles in [true, false] {
        let home = Home::new();
        let to = StoreUrl::from(&home);
        assert!(matches!(interrupted(&place(&from), &to, 9), Err(MoveError::Stopped)));
        match of_candles {
            true => drop(put(&from.store, &minutes("9988.HK"), &[], &[block(1, 2)])),
            false => drop(add(&accounts, "late").unwrap()),
        }
        let refused = transfer(&place(&from), &to).unwrap_err();
        assert!(matches!(refused, MoveError::Other { .. }), "{refused:?}");
    }
}

#[test]
fn no_import_can_run_during_a_move() {
    let (from, _accounts) = filled();
    let home = Home::new();
    let mut tried = 0;
    let (source, target) = (place(&from), StoreUrl::from(&home));
    let copied = Move { from: &source, to: &target, now: NOW }.run(&mut |_| {
        tried += 1;
        if tried == 1 {
            let busy = from.store.writer().unwrap_err();
            assert!(matches!(busy, StoreError::Busy { .. }), "{busy:?}");
        }
        ControlFlow::Continue(())
    });
    copied.unwrap().finish().unwrap();
    from.store.writer().unwrap();
}

#[test]
fn a_store_in_use_by_a_server_is_not_moved() {
    let (from, _accounts) = filled();
    let serving = from.store.job_lock().unwrap().unwrap();
    let home = Home::new();
    let to = StoreUrl::from(&home);
    let refused = transfer(&place(&from), &to).unwrap_err();
    assert!(matches!(refused, MoveError::InUse { .. }), "{refused:?}");
    assert!(matches!(Store::open(&to, Access::Read), Err(StoreError::Absent { .. })));
    assert!(!Accounts::is_there(&to).unwrap(), "nothing is created by halves");
    drop(serving);
    transfer(&place(&from), &to).unwrap().finish().unwrap();
}

#[test]
fn a_store_without_accounts_can_be_moved() {
    let from = fresh();
    put(&from.store, &minutes("700.HK"), &[], &[block(1, 4)]);
    let home = Home::new();
    let to = StoreUrl::from(&home);
    let copied = transfer(&place(&from), &to).unwrap();
    assert!(!copied.has_accounts());
    copied.finish().unwrap();
    assert!(Accounts::open(&to, NOW).unwrap().is_empty().unwrap());
    assert!(!Accounts::is_there(place(&from)).unwrap());
    assert!(content(&to).starts_with(&content(&place(&from))));
}

#[test]
fn a_move_with_differing_copies_is_not_finished() {
    let (from, _accounts) = filled();
    let home = Home::new();
    let (source, target) = (place(&from), StoreUrl::from(&home));
    let mut is_bent = false;
    let refused = Move { from: &source, to: &target, now: NOW }.run(&mut |progress: MoveProgress<'_>| {
        // The blocks are already copied.
        if progress.stage == MoveStage::Copy && progress.table == "block_index" && !is_bent {
            is_bent = true;
            home.damage("candles", "update block_body set body = (select body from block_body where id = 1)");
        }
        ControlFlow::Continue(())
    });
    let refused = refused.unwrap_err();
    assert!(matches!(&refused, MoveError::Differs { table, .. } if table == "block_body"), "{refused:?}");
    assert!(matches!(Store::open(&target, Access::Read), Err(StoreError::HalfMoved { .. })));
}
