//! Tests of opening a store: an existing store is not changed, and the database of another program
//! is refused and not changed.

use std::sync::Barrier;

use store::{Access, Accounts, Store, StoreError};

use crate::fixture::{Home, NOW, block, fresh, minutes, put};
use crate::home::LAST_STEPS;

const WRITE: Access = Access::Write { now: NOW };

#[test]
fn a_reader_does_not_create_an_absent_store() {
    let home = Home::new();
    for access in [Access::Read, Access::Look] {
        let error = Store::open(&home, access).unwrap_err();
        assert!(matches!(error, StoreError::Absent { .. }), "{error:?}");
    }
    // The failed opens created nothing, so the store is new.
    let store = Store::open(&home, WRITE).unwrap();
    assert_eq!(store.reader().unwrap().snapshot().unwrap().version().unwrap(), 0);
}

#[test]
fn opening_again_changes_nothing() {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 2)]);
    for access in [WRITE, Access::Read, Access::Look] {
        let store = Store::open(&fresh.home, access).unwrap();
        assert_eq!(store.reader().unwrap().snapshot().unwrap().all_series().unwrap().len(), 1);
    }
}

#[test]
fn a_store_can_be_opened_for_writing_during_an_import() {
    let fresh = fresh();
    let _writer = fresh.store.writer().unwrap();
    Store::open(&fresh.home, WRITE).unwrap();
}

#[test]
fn a_store_is_created_once_by_concurrent_opens() {
    let home = Home::new();
    let start = Barrier::new(6);
    let opened: usize = std::thread::scope(|scope| {
        let open = || {
            start.wait();
            match Store::open(&home, WRITE) {
                Ok(_) => 1,
                // Another thread is creating the store.
                Err(StoreError::Busy { .. }) => 0,
                Err(other) => panic!("{other:?}"),
            }
        };
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(opened > 0);
    let store = Store::open(&home, Access::Read).unwrap();
    assert_eq!(store.reader().unwrap().check(store::Depth::Full, |_, _, _| None).unwrap(), []);
}

#[test]
fn another_programs_database_is_refused() {
    let home = Home::new();
    home.put_another_program("candles");
    for access in [Access::Read, WRITE] {
        let error = Store::open(&home, access).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    }
    home.put_another_program("accounts");
    let error = Accounts::open(&home, NOW).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    // The data of the other program is unchanged, and no table of this program was added.
    for part in ["candles", "accounts"] {
        assert_eq!(home.number(part, "select count(*) from theirs"), 0);
    }
}

#[test]
fn a_store_of_a_newer_version_is_refused() {
    let fresh = fresh();
    fresh.home.put_later_step("candles");
    for access in [Access::Read, WRITE] {
        let error = Store::open(&fresh.home, access).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 900, known, .. } if known < 900), "{error:?}");
    }
    let error = fresh.store.writer().unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error:?}");
    drop(Accounts::open(&fresh.home, NOW).unwrap());
    fresh.home.put_later_step("accounts");
    let error = Accounts::open(&fresh.home, NOW).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 900, .. }), "{error:?}");
}

#[test]
fn a_store_with_another_migration_is_refused() {
    let fresh = fresh();
    fresh.home.set_digest("candles", "00");
    for access in [Access::Read, WRITE] {
        let error = Store::open(&fresh.home, access).unwrap_err();
        assert!(matches!(error, StoreError::Changed { version: 11, .. }), "{error:?}");
    }
}

#[test]
fn a_store_older_than_the_baseline_is_refused_and_unchanged() {
    let fresh = fresh();
    drop(Accounts::open(&fresh.home, NOW).unwrap());
    for part in ["candles", "accounts"] {
        let later =
            "delete from migration where version > (select min(version) from migration where version > 0)";
        fresh.home.damage(part, later);
        fresh.home.damage(part, "update migration set version = 3 where version > 0");
    }
    let mut errors =
        vec![Accounts::open(&fresh.home, NOW).unwrap_err(), Accounts::look(&fresh.home).unwrap_err()];
    errors.extend(
        [Access::Look, Access::Read, WRITE].map(|access| Store::open(&fresh.home, access).unwrap_err()),
    );
    for error in errors {
        assert!(matches!(error, StoreError::TooOld { found: 3, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("commit cd517f10") && text.lines().count() == 1, "{text}");
    }
    for part in ["candles", "accounts"] {
        assert_eq!(fresh.home.number(part, "select count(*) from migration where version > 0"), 1);
    }
}

/// The last migrations before the baselines created the same schemas as the baselines.
#[test]
fn a_store_migrated_before_the_baseline_opens() {
    let fresh = fresh();
    drop(Accounts::open(&fresh.home, NOW).unwrap());
    for (part, digest) in ["candles", "accounts"].into_iter().zip(LAST_STEPS) {
        fresh.home.set_digest(part, digest);
        fresh.home.put_first_step(part);
    }
    Store::open(&fresh.home, Access::Read).unwrap();
    Store::open(&fresh.home, WRITE).unwrap();
    Accounts::open(&fresh.home, NOW).unwrap();
}

#[test]
fn swapped_databases_are_refused() {
    let home = Home::new();
    drop(Accounts::open(&home, NOW).unwrap());
    home.rename("accounts", "candles");
    let error = Store::open(&home, Access::Read).unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error:?}");

    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 2)]);
    fresh.home.rename("candles", "accounts");
    let error = Accounts::open(&fresh.home, NOW).unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error:?}");
}
