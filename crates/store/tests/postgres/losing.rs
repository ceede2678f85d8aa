//! Tests of lost connections and lost responses: a request that was not sent succeeds after
//! reconnecting, a request without a response has an unknown outcome, and no change is made twice.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use store::{Access, Accounts, AuditFilter, Depth, Spend, Store, StoreError, StoreUrl};

use crate::accounts::add;
use crate::fixture::{Home, NOW, block, minutes, put, symbol};
use crate::wire::{Mode, Wire};

/// Returns a home, a proxy to its server, and the home's address through the proxy.
fn over_a_wire() -> (Home, Wire, StoreUrl) {
    let home = Home::new();
    let wire = Wire::to(home.on_server().server().port());
    let place = home.on_server().url_of("postgres", wire.port, "&connect_timeout=2").parse().unwrap();
    (home, wire, place)
}

/// Retries until the server is reachable again. Failed connection attempts are cached for a short
/// time, so the first retries may fail.
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
fn a_connection_broken_between_two_statements_is_replaced() {
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
fn a_connection_broken_during_a_check_is_not_damage() {
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
    // A check that has not sent a query yet reconnects.
    wire.reset();
    assert_eq!(reader.check_tables(Depth::Full).unwrap(), []);
}

#[test]
fn an_unreachable_server_is_reported_and_reconnected() {
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
fn a_charge_with_a_lost_response_is_not_repeated() {
    let (home, wire, place) = over_a_wire();
    let accounts = Accounts::open(&place, NOW).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    for round in 1..=5_u32 {
        let of = symbol(&format!("{round}.HK"));
        // The connection is open and the statements are prepared, so that only the response to the
        // charge is lost.
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
fn a_batch_with_a_lost_connection_is_atomic() {
    let (_home, wire, place) = over_a_wire();
    let store = Store::open(&place, Access::Write { now: NOW }).unwrap();
    let series = minutes("700.HK");
    // The connection is lost inside the batch, so nothing is stored.
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_blocks(&series, &[], &[block(1, 2)]).unwrap();
    wire.reset();
    let error = batch.replace_blocks(&series, &[], &[block(3, 4)]).map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::Away { .. }), "{error:?}");
    batch.commit().unwrap_err();
    drop(writer);
    assert_eq!(store.reader().unwrap().snapshot().unwrap().all_series().unwrap(), []);
    // The connection is lost during the commit, so all or nothing is stored, and the outcome is
    // reported as unknown.
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
fn a_writer_that_lost_its_lease_cannot_commit() {
    let home = Home::new();
    let store = Store::open(&home, Access::Write { now: NOW }).unwrap();
    let mut late = store.writer().unwrap();
    let mut batch = late.begin().unwrap();
    batch.replace_blocks(&minutes("700.HK"), &[], &[block(1, 2)]).unwrap();
    batch.commit().unwrap();
    // The writer was suspended for so long that another writer has taken the lease.
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
    // Any process can take an expired lease.
    home.damage("candles", "update lease set until_us = 0");
    store.writer().unwrap();
}
