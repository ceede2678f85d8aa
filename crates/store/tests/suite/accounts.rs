use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;

use market::Timestamp;
use store::{AccountId, AccountTerms, Accounts, Credential, NewAccountRow, Spend, Store, StoreError, Used};

use crate::fixture::{NOW, block, fresh, minutes, put, symbol};

const MONTH: &str = "2025-11";

fn terms() -> AccountTerms {
    AccountTerms {
        markets: "HK US".to_owned(),
        overnight: false,
        level: 1,
        quota: None,
        rate: None,
        connections: 10,
    }
}

fn add(accounts: &Accounts, name: &str) -> Result<AccountId, StoreError> {
    let id = accounts.take_id()?;
    let account =
        NewAccountRow { name: name.to_owned(), region: "ap".to_owned(), created_at: NOW, terms: terms() };
    accounts.add(id, &account, &credential(id, name))?;
    Ok(id)
}

fn credential(id: AccountId, name: &str) -> Credential {
    Credential {
        app_key: format!("key of {name}"),
        account: id,
        app_secret: vec![1, 2, 3],
        token_hash: [u8::try_from(id.0).unwrap(); 32],
        token_expires_at: Timestamp(NOW.0 + 1_000),
        created_at: NOW,
    }
}

fn open(dir: &Path) -> Accounts {
    Accounts::open(dir, NOW).unwrap()
}

#[test]
fn an_account_is_found_by_number_name_key_and_token() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = open(dir.path());
    assert!(accounts.is_empty().unwrap());
    let id = add(&accounts, "alice").unwrap();
    let other = add(&accounts, "bob").unwrap();
    assert!(!accounts.is_empty().unwrap());
    assert_ne!(id, other);

    let row = accounts.account(id).unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.region.as_str(), row.epoch), ("alice", "ap", 0));
    assert_eq!((row.created_at, row.revoked_at), (NOW, None));
    assert_eq!(row.terms, terms());
    assert_eq!(accounts.account_named("alice").unwrap().as_ref(), Some(&row));
    assert_eq!(accounts.account_named("Alice").unwrap(), None);
    assert_eq!(accounts.accounts().unwrap().iter().map(|row| row.id).collect::<Vec<_>>(), [id, other]);

    let found = accounts.credential_by_key("key of alice").unwrap().unwrap();
    assert_eq!(found, credential(id, "alice"));
    assert_eq!(accounts.credential_by_token(&found.token_hash).unwrap(), Some(found.clone()));
    assert_eq!(accounts.credentials_of(id).unwrap(), [found]);
    assert_eq!(accounts.credential_by_key("nobody's").unwrap(), None);
    assert_eq!(accounts.credential_by_token(&[0xff; 32]).unwrap(), None);
}

#[test]
fn a_name_is_given_once_and_a_refused_account_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = open(dir.path());
    add(&accounts, "alice").unwrap();
    let version = accounts.version().unwrap();
    let error = add(&accounts, "alice").unwrap_err();
    assert!(matches!(&error, StoreError::Taken { name } if name == "alice"), "{error:?}");
    assert_eq!(accounts.accounts().unwrap().len(), 1);
    assert_eq!(accounts.version().unwrap(), version);
    // The number of the refused one is gone; the next account still fits.
    assert_eq!(add(&accounts, "bob").unwrap(), AccountId(3));
}

#[test]
fn an_account_is_revoked_once_and_keeps_the_time_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = open(dir.path());
    let id = add(&accounts, "alice").unwrap();
    assert!(accounts.revoke(id, Timestamp(5)).unwrap());
    assert!(!accounts.revoke(id, Timestamp(6)).unwrap());
    assert!(!accounts.revoke(AccountId(99), Timestamp(6)).unwrap());
    let row = accounts.account(id).unwrap().unwrap();
    assert_eq!((row.revoked_at, row.epoch), (Some(Timestamp(5)), 1));
}

#[test]
fn terms_are_kept_as_they_were_given() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = open(dir.path());
    let id = add(&accounts, "alice").unwrap();
    let other = AccountTerms {
        markets: "CN".to_owned(),
        overnight: true,
        level: 6,
        quota: Some(0),
        rate: Some("unlimited".to_owned()),
        connections: 1,
    };
    assert!(accounts.change_terms(id, &other).unwrap());
    assert!(!accounts.change_terms(AccountId(99), &other).unwrap());
    assert_eq!(accounts.account(id).unwrap().unwrap().terms, other);
    let endless = AccountTerms { markets: "x".repeat(2_000), ..other };
    let error = accounts.change_terms(id, &endless).unwrap_err();
    assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
}

#[test]
fn the_version_rises_with_each_change_anyone_makes_and_not_with_usage() {
    let dir = tempfile::tempdir().unwrap();
    let (server, other) = (open(dir.path()), open(dir.path()));
    let mut last = server.version().unwrap();
    let mut rises = |accounts: &Accounts| {
        let before = std::mem::replace(&mut last, accounts.version().unwrap());
        last > before
    };
    let id = add(&other, "alice").unwrap();
    assert!(rises(&server));
    assert!(!rises(&server));
    other.change_terms(id, &AccountTerms { level: 2, ..terms() }).unwrap();
    assert!(rises(&server));
    other.revoke(id, NOW).unwrap();
    assert!(rises(&server));
    add(&server, "bob").unwrap();
    assert!(rises(&server));
    other.spend(id, MONTH, &symbol("700.HK"), 1, NOW).unwrap();
    server.spend(id, MONTH, &symbol("5.HK"), 2, NOW).unwrap();
    assert!(!rises(&server));
}

#[test]
fn a_security_is_counted_once_a_month() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = open(dir.path());
    let (alice, bob) = (add(&accounts, "alice").unwrap(), add(&accounts, "bob").unwrap());
    let spend = |id, month, text| accounts.spend(id, month, &symbol(text), 2, NOW).unwrap();
    assert_eq!(spend(alice, MONTH, "700.HK"), Spend::Charged { used: 1 });
    assert_eq!(spend(alice, MONTH, "00700.hk"), Spend::Free);
    assert_eq!(spend(alice, MONTH, "AAPL.US"), Spend::Charged { used: 2 });
    assert_eq!(spend(alice, MONTH, "5.HK"), Spend::Refused { used: 2 });
    assert_eq!(spend(alice, MONTH, "AAPL.US"), Spend::Free);
    // Neither another month nor another account knows of it.
    assert_eq!(spend(alice, "2025-12", "5.HK"), Spend::Charged { used: 1 });
    assert_eq!(spend(bob, MONTH, "5.HK"), Spend::Charged { used: 1 });

    let used = |text| accounts.used(alice, MONTH, &symbol(text)).unwrap();
    assert_eq!(used("700.HK"), Used { counted: true, total: 2 });
    assert_eq!(used("5.HK"), Used { counted: false, total: 2 });
    let usage = accounts.usage(alice, MONTH).unwrap();
    assert_eq!(usage, [(symbol("700.HK"), NOW), (symbol("AAPL.US"), NOW)]);
}

#[test]
fn what_was_spent_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let id = {
        let accounts = open(dir.path());
        let id = add(&accounts, "alice").unwrap();
        accounts.spend(id, MONTH, &symbol("700.HK"), 1, NOW).unwrap();
        id
    };
    let accounts = open(dir.path());
    assert_eq!(accounts.spend(id, MONTH, &symbol("700.HK"), 1, NOW).unwrap(), Spend::Free);
    assert_eq!(accounts.spend(id, MONTH, &symbol("5.HK"), 1, NOW).unwrap(), Spend::Refused { used: 1 });
}

#[test]
fn an_unknown_account_cannot_spend() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = open(dir.path());
    accounts.spend(AccountId(7), MONTH, &symbol("700.HK"), 1, NOW).unwrap_err();
    // The failed charge left no transaction behind.
    let id = add(&accounts, "alice").unwrap();
    assert_eq!(accounts.spend(id, MONTH, &symbol("5.HK"), 1, NOW).unwrap(), Spend::Charged { used: 1 });
}

/// Spends `count` symbols from `from` on, and answers how many were charged.
fn spend_many(accounts: &Accounts, id: AccountId, from: u32, count: u32, limit: u32) -> usize {
    (from..from + count)
        .map(|ticker| symbol(&format!("{ticker}.HK")))
        .map(|symbol| accounts.spend(id, MONTH, &symbol, limit, NOW).unwrap())
        .filter(|spend| matches!(spend, Spend::Charged { .. }))
        .count()
}

#[test]
fn threads_on_their_own_and_on_shared_connections_are_granted_exactly_the_quota() {
    const LIMIT: u32 = 40;
    let dir = tempfile::tempdir().unwrap();
    let shared = open(dir.path());
    let id = add(&shared, "alice").unwrap();
    let start = Barrier::new(6);
    let granted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread: u32| {
                let (start, shared, dir) = (&start, &shared, dir.path());
                scope.spawn(move || {
                    let own = (thread % 2 == 0).then(|| open(dir));
                    start.wait();
                    // Overlapping ranges: the same symbol is raced for too.
                    spend_many(own.as_ref().unwrap_or(shared), id, 1 + thread * 10, 20, LIMIT)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, LIMIT as usize);
    let usage: BTreeSet<_> = shared.usage(id, MONTH).unwrap().into_iter().map(|(symbol, _)| symbol).collect();
    assert_eq!(usage.len(), LIMIT as usize);
}

#[test]
fn processes_are_granted_exactly_the_quota() {
    const LIMIT: usize = 30;
    let dir = tempfile::tempdir().unwrap();
    let accounts = open(dir.path());
    let id = add(&accounts, "alice").unwrap();
    let children: Vec<_> = [1, 1_000]
        .map(|from: u32| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--ignored", "--exact", "accounts::a_process_that_spends", "--nocapture"])
                .env("SPEND_IN", dir.path())
                .env("SPEND_FROM", from.to_string())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .into_iter()
        .collect();
    let mut granted = spend_many(&accounts, id, 2_000, 30, 30);
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let count = text.lines().find_map(|line| line.split_once("granted=")).unwrap().1;
        granted += count.trim().parse::<usize>().unwrap();
    }
    assert_eq!(granted, LIMIT);
    assert_eq!(accounts.usage(id, MONTH).unwrap().len(), LIMIT);
}

#[test]
#[ignore = "the other process of the test above"]
fn a_process_that_spends() {
    let accounts = open(Path::new(&std::env::var_os("SPEND_IN").unwrap()));
    let from = std::env::var("SPEND_FROM").unwrap().parse().unwrap();
    let id = accounts.account_named("alice").unwrap().unwrap().id;
    println!("granted={}", spend_many(&accounts, id, from, 30, 30));
}

#[test]
fn accounts_are_created_by_one_of_many_who_open_them_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let start = Barrier::new(6);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (start, dir) = (&start, dir.path());
            scope.spawn(move || {
                start.wait();
                add(&open(dir), &format!("account {thread}")).unwrap();
            });
        }
    });
    let ids: Vec<i64> = open(dir.path()).accounts().unwrap().iter().map(|row| row.id.0).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn accounts_change_while_an_import_holds_the_writer() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let batch = writer.begin().unwrap();
    let accounts = open(fresh.dir.path());
    let id = add(&accounts, "alice").unwrap();
    accounts.spend(id, MONTH, &symbol("700.HK"), 1, NOW).unwrap();
    assert!(accounts.revoke(id, NOW).unwrap());
    batch.commit().unwrap();
}

#[test]
fn either_database_is_refused_in_the_place_of_the_other() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    std::fs::rename(dir.path().join("accounts.db"), dir.path().join("candles.db")).unwrap();
    let error = Store::open(dir.path(), store::Access::Read).unwrap_err();
    assert!(matches!(error, StoreError::Changed { version: 1, .. }), "{error:?}");

    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 2)]);
    std::fs::rename(fresh.store.path(), fresh.dir.path().join("accounts.db")).unwrap();
    let error = Accounts::open(fresh.dir.path(), NOW).unwrap_err();
    assert!(matches!(error, StoreError::Changed { version: 1, .. } | StoreError::Newer { .. }), "{error:?}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let accounts = open(dir.path());
    add(&accounts, "alice").unwrap();
    for name in ["accounts.db", "accounts.db-wal"] {
        let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
