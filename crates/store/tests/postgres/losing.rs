//! The way to the server is lost, or its answer: what was not sent is done when it is back, what was sent and not answered is in doubt and
//! said to be so, and nothing is done twice.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use store::{Access, Accounts, AuditFilter, Depth, Place, Spend, Store, StoreError};

use crate::accounts::add;
use crate::fixture::{Home, NOW, block, minutes, put, symbol};
use crate::wire::{Mode, Wire};

/// A home, and the same place over a wire.
fn over_a_wire() -> (Home, Wire, Place) {
    let home = Home::new();
    let wire = Wire::to(home.on_server().server().port());
    let place = home.on_server().url_of("postgres", wire.port, "&connect_timeout=2").parse().unwrap();
    (home, wire, place)
}

/// What is done as soon as the server is there again: a failed attempt to connect stands for a moment.
fn once_it_is_back<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> T {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(StoreError::Away { .. }) if begun.elapsed() < Duration::from_secs(30) => {
                thread::sleep(Duration::from_millis(20));
            }
            other => return other.unwrap(),
        }
    }
}

#[test]
fn a_connection_that_broke_between_two_statements_is_replaced() {
    let (_home, wire, place) = over_a_wire();
    let accounts = Accounts::open(&place, NOW).unwrap();
    let store = Store::open(&place, Access::Write { now: NOW }).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    for round in 1..=5_u32 {
        wire.reset();
        assert_eq!(accounts.account(ann).unwrap().unwrap().name, "ann");
        wire.reset();
        let spent = accounts.spend(ann, "2025-11", &symbol(&format!("{round}.HK")), 10, (NOW, NOW)).unwrap();
        assert_eq!(spent, Spend::Charged { used: round });
        wire.reset();
        put(&store, &minutes(&format!("{round}.HK")), &[], &[block(1, 2)]);
        wire.reset();
        assert_eq!(store.reader().unwrap().snapshot().unwrap().all_series().unwrap().len(), round as usize);
    }
}

#[test]
fn a_connection_that_breaks_during_a_check_is_no_damage() {
    let (_home, wire, place) = over_a_wire();
    let store = Store::open(&place, Access::Write { now: NOW }).unwrap();
    for number in 1..=3 {
        put(&store, &minutes(&format!("{number}.HK")), &[], &[block(1, 2)]);
    }
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    for day in ["2024-05-16", "2024-05-17"] {
        batch.replace_trades(&symbol("1.HK"), day.parse().unwrap(), 0, &[block(1, 2)]).unwrap();
    }
    batch.commit().unwrap();
    drop(writer);
    let mut reader = store.checker().unwrap();
    assert_eq!(reader.check(Depth::Full, |_, _, _| None).unwrap(), []);
    let lost = reader.check(Depth::Full, |_, _, _| {
        wire.reset();
        None
    });
    assert!(matches!(lost, Err(StoreError::Away { .. })), "{lost:?}");
    let go_on = || ControlFlow::Continue(());
    assert_eq!(reader.check_trades(go_on, |_, _, _| None).unwrap(), Some(Vec::new()));
    let lost = reader.check_trades(go_on, |_, _, _| {
        wire.reset();
        None
    });
    assert!(matches!(lost, Err(StoreError::Away { .. })), "{lost:?}");
    // Before the first question it is only another connection.
    wire.reset();
    assert_eq!(reader.check_tables(Depth::Full).unwrap(), []);
}

#[test]
fn a_server_that_is_away_is_told_from_everything_else_and_found_again() {
    let (_home, wire, place) = over_a_wire();
    let accounts = Accounts::open(&place, NOW).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    wire.set(Mode::Refuse);
    let spend = || accounts.spend(ann, "2025-11", &symbol("700.HK"), 10, (NOW, NOW));
    let error = spend().unwrap_err();
    assert!(matches!(error, StoreError::Away { .. }), "{error:?}");
    let error = accounts.account(ann).unwrap_err();
    assert!(matches!(error, StoreError::Away { .. }), "{error:?}");
    assert!(error.to_string().contains(&wire.port.to_string()), "{error}");
    wire.set(Mode::Pass);
    assert_eq!(once_it_is_back(spend), Spend::Charged { used: 1 });
    assert_eq!(spend().unwrap(), Spend::Free);
}

#[test]
fn a_charge_whose_answer_was_lost_is_in_doubt_and_never_made_twice() {
    let (home, wire, place) = over_a_wire();
    let accounts = Accounts::open(&place, NOW).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    for round in 1..=5_u32 {
        let of = symbol(&format!("{round}.HK"));
        // Everything is prepared and connected: what is lost is an answer to the charge.
        accounts.account(ann).unwrap();
        wire.set(Mode::Mute);
        let spend = || accounts.spend(ann, "2025-11", &of, 10, (NOW, NOW));
        let outcome = spend();
        wire.set(Mode::Pass);
        let again = once_it_is_back(spend);
        match outcome {
            Err(StoreError::Away { .. }) => {
                assert_eq!(again, Spend::Charged { used: round }, "nothing had changed")
            }
            Err(StoreError::Unknown { .. }) => {
                assert!(matches!(again, Spend::Free | Spend::Charged { .. }), "{again:?}");
            }
            other => panic!("an answer that was lost: {other:?}"),
        }
        assert_eq!(accounts.usage(ann, "2025-11").unwrap().len(), round as usize);
    }
    let filter = AuditFilter { event: Some("quota.spent"), limit: 100, ..AuditFilter::default() };
    assert_eq!(accounts.audit(&filter).unwrap().len(), 5, "one row for each charge");
    assert_eq!(home.number("accounts", "select count(*) from usage"), 5);
}

#[test]
fn a_batch_whose_way_was_lost_leaves_nothing_or_all_of_it() {
    let (_home, wire, place) = over_a_wire();
    let store = Store::open(&place, Access::Write { now: NOW }).unwrap();
    let series = minutes("700.HK");
    // In the middle: nothing of it is there.
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_blocks(&series, &[], &[block(1, 2)]).unwrap();
    wire.reset();
    let error = batch.replace_blocks(&series, &[], &[block(3, 4)]).map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::Away { .. }), "{error:?}");
    batch.commit().unwrap_err();
    drop(writer);
    assert_eq!(store.reader().unwrap().snapshot().unwrap().all_series().unwrap(), []);
    // At its end: all of it or nothing, and it is said that nobody knows.
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_blocks(&series, &[], &[block(1, 2), block(3, 4)]).unwrap();
    wire.set(Mode::Mute);
    let error = batch.commit().unwrap_err();
    wire.set(Mode::Pass);
    drop(writer);
    let mut reader = once_it_is_back(|| store.reader());
    let found = reader.snapshot().unwrap().blocks(&series, None, None).unwrap();
    match error {
        StoreError::Away { .. } => assert_eq!(found, [], "nothing had changed"),
        StoreError::Unknown { .. } => assert!(found.is_empty() || found.len() == 2, "{found:?}"),
        other => panic!("an answer that was lost: {other:?}"),
    }
}

#[test]
fn a_writer_whose_lease_was_taken_can_commit_nothing() {
    let home = Home::new();
    let store = Store::open(&home, Access::Write { now: NOW }).unwrap();
    let mut late = store.writer().unwrap();
    let mut batch = late.begin().unwrap();
    batch.replace_blocks(&minutes("700.HK"), &[], &[block(1, 2)]).unwrap();
    batch.commit().unwrap();
    // It was asleep for so long that somebody else has taken over.
    home.damage("candles", "update lease set holder = 'somebody else', until_us = 9000000000000000");
    let lost = late.begin().map(|mut batch| {
        batch
            .replace_blocks(&minutes("700.HK"), &[], &[block(3, 4)])
            .map(|_| ())
            .and_then(|()| batch.commit())
    });
    let error = match lost {
        Ok(inner) => inner.unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error:?}");
    let busy = store.writer().unwrap_err();
    assert!(matches!(busy, StoreError::Busy { .. }), "{busy:?}");
    let found = store.reader().unwrap().snapshot().unwrap().blocks(&minutes("700.HK"), None, None).unwrap();
    assert_eq!(found.len(), 1);
    // A lease that has ended is anybody's, whoever has it.
    home.damage("candles", "update lease set until_us = 0");
    store.writer().unwrap();
}
