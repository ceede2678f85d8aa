//! Tests of a server's background jobs: the job lock, expiry, and version polling.

use market::Timestamp;
use store::{Accounts, AuditFilter, ClientRow, CodeRow, NewDevice, NewTokens, Redemption, Renewal};

use crate::accounts::{add, note};
use crate::fixture::{NOW, block, fresh, minutes, put};

const DAY_S: i64 = 86_400;

#[test]
fn one_process_at_a_time_holds_the_job_lock() {
    let (one, other) = (fresh(), fresh());
    let held = one.store.job_lock().unwrap();
    assert!(held.is_some());
    assert!(one.store.job_lock().unwrap().is_none());
    assert!(other.store.job_lock().unwrap().is_some(), "another store is another matter");
    assert!(one.store.writer().is_ok(), "an import does not wait for it");
    drop(held);
    assert!(one.store.job_lock().unwrap().is_some());
}

#[test]
fn a_version_reader_sees_commits_of_other_connections() {
    let store = fresh();
    let accounts = Accounts::open(&store.home, NOW).unwrap();
    let (mut candles, mut people) =
        (store.store.version_reader().unwrap(), accounts.version_reader().unwrap());
    let before = (candles.version().unwrap(), people.version().unwrap());
    assert_eq!((candles.version().unwrap(), people.version().unwrap()), before);
    put(&store.store, &minutes("5.HK"), &[], &[block(1, 1)]);
    assert!(candles.version().unwrap() > before.0);
    assert_eq!(people.version().unwrap(), before.1);
    add(&accounts, "ann").unwrap();
    assert!(people.version().unwrap() > before.1);
    // An audit row does not change the version.
    let version = people.version().unwrap();
    accounts.note(None, "login.refused", &note(NOW)).unwrap();
    assert_eq!(people.version().unwrap(), version);
}

/// Adds one row of each kind that expires. All rows expire at [`NOW`].
fn one_of_each(accounts: &Accounts) {
    let ann = add(accounts, "ann").unwrap();
    let begun = Timestamp(NOW.0 - 100);
    let client = ClientRow {
        id: "client".to_owned(),
        name: "a program".to_owned(),
        redirect_uris: String::new(),
        grant_types: "authorization_code".to_owned(),
        auth_method: "none".to_owned(),
        secret_hash: None,
        registration_hash: [2; 32],
        created_at: begun,
        used_at: None,
    };
    assert!(accounts.add_client(&client, &note(begun)).unwrap());
    assert!(accounts.begin_guest(ann, &[1; 32], NOW, &note(begun)).unwrap());
    let device = NewDevice {
        device_hash: [3; 32],
        user_hash: [4; 32],
        client_id: "client",
        scope: "quote",
        created_at: begun,
        expires_at: NOW,
    };
    accounts.add_device(&device).unwrap();
    let code = CodeRow {
        client_id: "client".to_owned(),
        account: ann,
        redirect_uri: String::new(),
        scope: "quote".to_owned(),
        challenge: None,
        family: None,
        created_at: begun,
        expires_at: NOW,
    };
    accounts.add_code(&[5; 32], &code, &note(begun)).unwrap();
    let tokens = NewTokens {
        access_hash: [6; 32],
        refresh_hash: [7; 32],
        family: "family",
        client_id: "client",
        account: ann,
        scope: "quote",
        access_expires_at: NOW,
        refresh_expires_at: NOW,
    };
    assert_eq!(accounts.redeem_code(&[5; 32], &tokens, &note(begun)).unwrap(), Redemption::Yes);
    let renewal = Renewal {
        app_key: "key of ann",
        token_hash: [8; 32],
        token_expires_at: Timestamp(NOW.0 + DAY_S),
        former_until: NOW,
    };
    accounts.renew(&renewal, &note(begun)).unwrap();
}

#[test]
fn expired_rows_are_removed_after_their_retention() {
    let store = fresh();
    let accounts = Accounts::open(&store.home, NOW).unwrap();
    one_of_each(&accounts);
    let version = accounts.version().unwrap();
    let at = |after_s: i64| Timestamp(NOW.0 + after_s);
    assert_eq!(accounts.remove_expired(at(-1)).unwrap(), 0, "nothing has expired");
    // Browser sessions and replaced API tokens are not retained after their expiry.
    assert_eq!(accounts.remove_expired(at(0)).unwrap(), 2);
    assert_eq!(accounts.remove_expired(at(600)).unwrap(), 0);
    assert!(accounts.device(&[3; 32]).unwrap().is_some(), "its client is told that it is late");
    assert_eq!(accounts.remove_expired(at(601)).unwrap(), 1);
    assert!(accounts.device(&[3; 32]).unwrap().is_none());
    assert_eq!(accounts.remove_expired(at(DAY_S)).unwrap(), 0);
    assert!(accounts.code(&[5; 32]).unwrap().is_some(), "a second use would be noticed");
    assert_eq!(accounts.remove_expired(at(DAY_S + 1)).unwrap(), 1);
    assert_eq!(accounts.remove_expired(at(7 * DAY_S)).unwrap(), 0);
    assert!(accounts.token(&[6; 32]).unwrap().is_some(), "it is told from an unknown one");
    assert_eq!(accounts.remove_expired(at(7 * DAY_S + 1)).unwrap(), 2);
    assert!(!accounts.family_is_there("family").unwrap());
    assert_eq!(accounts.remove_expired(at(70 * DAY_S)).unwrap(), 0);
    assert!(accounts.client("client").unwrap().is_some(), "programs stay registered");
    assert_eq!(accounts.version().unwrap(), version, "no account has changed");
}

#[test]
fn the_oldest_audit_rows_are_pruned_first() {
    let store = fresh();
    let accounts = Accounts::open(&store.home, NOW).unwrap();
    for at in [10, 20, 30] {
        accounts.note(None, "login.refused", &note(Timestamp(at))).unwrap();
    }
    let prune =
        |before, at| accounts.prune_oldest_audit(Timestamp(before), (Timestamp(at), "service")).unwrap();
    assert_eq!(prune(10, 40), 0);
    assert_eq!(prune(30, 40), 2);
    assert_eq!(prune(30, 50), 0);
    let rows = accounts.audit(&AuditFilter { limit: 10, ..AuditFilter::default() }).unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.at.0, row.actor.as_str(), row.event.as_str())).collect();
    assert_eq!(rows, [(40, "service", "audit.pruned"), (30, "operator", "login.refused")]);
    // Rows at or after the current time are not pruned.
    assert_eq!(prune(i64::MAX, 40), 1);
}
