//! Tests of restores into an empty directory, and over an existing store.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use market::Timestamp;
use store::{
    Access, Accounts, Backup, BackupError, Existing, KeyFile, Part, Progress, Restore, Scope, Stage, Store,
    StoreError,
};

use crate::backup::{LATER, add, backup, content, events, filled, names, note, on, replace, restore, saved};
use crate::fixture::{NOW, block, fresh, minutes, put};

fn opened(store: &Path) -> Accounts {
    Accounts::open(store, NOW).unwrap()
}

#[test]
fn an_existing_store_is_replaced_only_on_request_and_backed_up() {
    let (from, accounts, dir) = saved();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    let old = content(store);
    put(&from.store, &minutes("5.HK"), &[], &[block(1, 1)]);
    let bea = add(&accounts, "bea");
    let new = content(store);
    assert!(matches!(restore(&to, store).run(&mut on), Err(BackupError::Exists { .. })));
    assert_eq!(content(store), new);

    drop(accounts);
    let restored = replace(&to, store).unwrap();
    assert_eq!(content(store), old);
    assert_eq!(restored.gone, ["bea"]);
    assert!(opened(store).account(bea).unwrap().is_none());
    let stored = restored.previous.unwrap();
    assert_eq!(content(&stored), new);

    // The previous store can be restored from its backup.
    let back = Restore {
        now: Timestamp(LATER.0 + 1),
        existing: Existing::ReplaceAndForget,
        ..restore(&stored, store)
    };
    let restored = back.run(&mut on).unwrap();
    assert_eq!((content(store), restored.previous), (new, None));
    let accounts = opened(store);
    assert!(accounts.account(bea).unwrap().is_some());
    let restores = events(&accounts).into_iter().filter(|(event, _)| event == "store.restored").count();
    assert_eq!(restores, 1, "the audit is that of the backup, and the row of its restore");
}

#[test]
fn a_store_opened_by_a_server_cannot_be_replaced() {
    let (from, accounts, dir) = saved();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    drop(accounts);
    let servers = [from.store.server_lock().unwrap(), from.store.server_lock().unwrap()];
    let served = replace(&to, store).unwrap_err();
    let says = format!("is open in a server (process {}): stop the server", std::process::id());
    assert!(served.to_string().contains(&says), "{served}");
    assert!(!names(store).iter().any(|name| name.contains("restore")), "{:?}", names(store));
    drop(servers);
    let prepared = Restore { existing: Existing::Replace, ..restore(&to, store) }.prepare(&mut on).unwrap();
    let refused = from.store.server_lock().unwrap_err();
    assert!(matches!(refused, StoreError::Restoring { pid: Some(_), .. }), "{refused:?}");
    prepared.go_live(&mut on).unwrap();
    from.store.server_lock().unwrap();
}

#[test]
fn a_database_opened_by_another_process_is_not_replaced() {
    let (from, accounts, dir) = saved();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    add(&accounts, "bea");
    let there = names(store);
    let locked = replace(&to, store).unwrap_err();
    assert!(matches!(locked, BackupError::Store(StoreError::Locked { .. })), "{locked:?}");
    assert!(accounts.account_named("bea").unwrap().is_some());
    drop(accounts);
    let reader = from.store.reader().unwrap();
    let locked = replace(&to, store).unwrap_err();
    assert!(matches!(locked, BackupError::Store(StoreError::Locked { .. })), "{locked:?}");
    drop(reader);
    assert!(names(store).iter().all(|name| there.contains(name) || name == "server.lock"));
    replace(&to, store).unwrap();
    assert!(opened(store).account_named("bea").unwrap().is_none());
}

#[test]
fn account_numbers_are_never_reused_after_a_restore() {
    let (from, mut accounts, dir) = saved();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    let mut people = Vec::new();
    for round in 0..3 {
        people.push(add(&accounts, "someone").0);
        drop(accounts);
        let restore = Restore { now: Timestamp(LATER.0 + round), ..restore(&to, store) };
        Restore { existing: Existing::ReplaceAndForget, ..restore }.run(&mut on).unwrap();
        accounts = opened(store);
    }
    assert!(people.is_sorted_by(|one, next| one < next), "{people:?}");
    let mut reader = Store::open(store, Access::Read).unwrap().reader().unwrap();
    assert!(reader.check(store::Depth::Full, |_, _, _| None).unwrap().is_empty());
}

#[test]
fn accounts_revoked_since_the_backup_stay_revoked() {
    let (from, accounts) = filled();
    let store = from.home.path();
    let bea = add(&accounts, "bea");
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(store, &to).unwrap();
    accounts.revoke(bea, &note()).unwrap();
    let epoch = accounts.account(bea).unwrap().unwrap().epoch;
    drop(accounts);
    let restored = replace(&to, store).unwrap();
    assert_eq!(restored.still_revoked, ["bea"]);
    let accounts = opened(store);
    let row = accounts.account(bea).unwrap().unwrap();
    assert_eq!((row.revoked_at, row.epoch), (Some(NOW), epoch));
    let actual: Vec<String> = events(&accounts).into_iter().take(2).map(|(event, _)| event).collect();
    assert_eq!(actual, ["store.restored", "account.revoked"]);
}

#[test]
fn an_id_assigned_to_two_accounts_ends_the_sessions() {
    let (from, accounts) = filled();
    let store = from.home.path();
    let dir = tempfile::tempdir().unwrap();
    let (common, other, diverged) =
        (dir.path().join("common"), dir.path().join("other"), dir.path().join("diverged"));
    backup(store, &common).unwrap();
    restore(&common, &other).run(&mut on).unwrap();
    let id = add(&accounts, "bea");
    assert_eq!(add(&Accounts::open(&other, NOW).unwrap(), "cal"), id);
    backup(&other, &diverged).unwrap();
    drop(accounts);
    replace(&diverged, store).unwrap();
    let row = opened(store).account(id).unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.epoch), ("cal", 1));
}

#[test]
fn either_database_can_be_restored_alone() {
    let (from, accounts, dir) = saved();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    let old = content(store);
    let (bea, series) = (add(&accounts, "bea"), minutes("5.HK"));
    put(&from.store, &series, &[], &[block(1, 1)]);
    let alone = |scope, at| Restore {
        scope,
        existing: Existing::ReplaceAndForget,
        now: Timestamp(LATER.0 + at),
        ..restore(&to, store)
    };
    drop(accounts);
    alone(Scope::Candles, 0).run(&mut on).unwrap();
    assert_eq!(content(store), old);
    let accounts = opened(store);
    assert!(accounts.account(bea).unwrap().is_some());
    let actual = ("store.restored".to_owned(), format!("candles of the backup of {NOW}"));
    assert_eq!(events(&accounts).first().unwrap(), &actual);

    drop(accounts);
    put(&from.store, &series, &[], &[block(1, 1)]);
    alone(Scope::Accounts, 1).run(&mut on).unwrap();
    assert_ne!(content(store), old);
    assert!(opened(store).account(bea).unwrap().is_none());
}

#[test]
fn the_key_may_be_stored_elsewhere_and_must_match() {
    let (from, accounts) = filled();
    drop(accounts);
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    let made = Backup { store: from.home.path(), to: &to, key: KeyFile::LeaveOut, chandler: "1", now: NOW };
    let manifest = made.make(&mut on).unwrap();
    assert!(manifest.file(Part::Key).is_none() && !to.join("secret.key").exists());
    assert!(matches!(restore(&to, &back).run(&mut on), Err(BackupError::NoKey)));
    let (right, wrong) = (dir.path().join("right"), dir.path().join("wrong"));
    fs::write(&right, [7; 32]).unwrap();
    fs::write(&wrong, [8; 32]).unwrap();
    let with = |key| Restore { key: Some(key), ..restore(&to, &back) }.run(&mut on);
    assert!(matches!(with(&wrong), Err(BackupError::OtherKey { .. })));
    assert!(!back.join("accounts.db").exists());
    with(&right).unwrap();
    assert_eq!(fs::read(back.join("secret.key")).unwrap(), [7; 32]);

    // When a store is replaced, its existing key must match.
    replace(&to, from.home.path()).unwrap();
    fs::write(from.home.path().join("secret.key"), [8; 32]).unwrap();
    assert!(matches!(replace(&to, from.home.path()), Err(BackupError::OtherKey { .. })));
}

#[test]
fn a_store_without_accounts_can_be_backed_up() {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 4)]);
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(fresh.home.path(), &to).unwrap();
    assert_eq!(names(&to), ["MANIFEST.json", "candles.db"]);
    restore(&to, &back).run(&mut on).unwrap();
    assert_eq!(content(&back), content(fresh.home.path()));
    let other = dir.path().join("other");
    let accounts = Restore { scope: Scope::Accounts, ..restore(&to, &other) };
    assert!(matches!(accounts.run(&mut on), Err(BackupError::Lacks { part: Part::Accounts, .. })));
}

#[test]
fn a_restore_fails_during_an_import() {
    let (from, _accounts, dir) = saved();
    let to = dir.path().join("backup");
    let old = content(from.home.path());
    let _writer = from.store.writer().unwrap();
    let busy = replace(&to, from.home.path()).unwrap_err();
    assert!(matches!(busy, BackupError::Store(StoreError::Busy { .. })), "{busy:?}");
    assert_eq!(content(from.home.path()), old);
}

#[test]
fn a_stopped_restore_leaves_the_store_unchanged() {
    let (from, accounts, dir) = saved();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    put(&from.store, &minutes("5.HK"), &[], &[block(1, 1)]);
    add(&accounts, "bea");
    drop(accounts);
    let new = content(store);
    for stage in [Stage::Copy, Stage::Verify] {
        let mut watch = |progress: Progress| match progress.stage == stage {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let stopped = Restore { existing: Existing::Replace, ..restore(&to, store) }.run(&mut watch);
        assert!(matches!(stopped, Err(BackupError::Stopped)), "{stopped:?}");
        assert_eq!(content(store), new);
        assert!(opened(store).account_named("bea").unwrap().is_some());
        assert!(!names(store).iter().any(|name| name.contains("partial") || name.contains("before")));
    }
    // A restore removes the files that a crash has left.
    fs::create_dir(store.join("restore.partial")).unwrap();
    fs::write(store.join("restore.partial/candles.db"), "half").unwrap();
    replace(&to, store).unwrap();
}

#[test]
fn a_leftover_wal_prevents_a_restore() {
    let (_from, _accounts, dir) = saved();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    fs::create_dir(&back).unwrap();
    fs::write(back.join("candles.db-wal"), "of another").unwrap();
    assert!(matches!(restore(&to, &back).run(&mut on), Err(BackupError::Leftover { .. })));
}

#[test]
fn an_unreadable_store_is_not_replaced_in_place() {
    let (from, accounts, dir) = saved();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    drop(accounts);
    fs::write(store.join("candles.db"), [0x55; 20_000]).unwrap();
    let error = replace(&to, store).unwrap_err();
    assert!(matches!(error, BackupError::Unreadable { .. }), "{error:?}");
}

#[test]
fn a_restore_ends_logins_but_not_api_keys() {
    let (from, accounts) = filled();
    let ann = accounts.account_named("ann").unwrap().unwrap().id;
    let end = Timestamp(NOW.0 + 1_000);
    assert!(accounts.begin_guest(ann, &[1; 32], end, &note()).unwrap());
    assert!(accounts.issue_password_link(ann, &note()).unwrap().is_some());
    let client = store::ClientRow {
        id: "client".to_owned(),
        name: "a program".to_owned(),
        redirect_uris: String::new(),
        grant_types: "authorization_code".to_owned(),
        auth_method: "none".to_owned(),
        secret_hash: None,
        registration_hash: [2; 32],
        created_at: NOW,
        used_at: None,
    };
    assert!(accounts.add_client(&client, &note()).unwrap());
    let code = |redirect_uri: &str| store::CodeRow {
        client_id: "client".to_owned(),
        account: ann,
        redirect_uri: redirect_uri.to_owned(),
        scope: "quote".to_owned(),
        challenge: None,
        family: None,
        created_at: NOW,
        expires_at: end,
    };
    let tokens = store::NewTokens {
        access_hash: [3; 32],
        refresh_hash: [4; 32],
        family: "family",
        client_id: "client",
        account: ann,
        scope: "quote",
        access_expires_at: end,
        refresh_expires_at: end,
    };
    accounts.add_code(&[5; 32], &code("used"), &note()).unwrap();
    assert_eq!(accounts.redeem_code(&[5; 32], &tokens, &note()).unwrap(), store::Redemption::Yes);
    accounts.add_code(&[6; 32], &code("unused"), &note()).unwrap();

    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(from.home.path(), &to).unwrap();
    drop(accounts);
    replace(&to, from.home.path()).unwrap();
    restore(&to, &back).run(&mut on).unwrap();
    for accounts in [opened(from.home.path()), opened(&back)] {
        assert!(accounts.browser(&[1; 32], NOW).unwrap().is_none());
        assert!(accounts.password_link(ann).unwrap().is_none());
        assert!(accounts.token(&[3; 32]).unwrap().is_none() && accounts.token(&[4; 32]).unwrap().is_none());
        assert!(!accounts.family_is_there("family").unwrap());
        assert!(accounts.code(&[5; 32]).unwrap().is_none() && accounts.code(&[6; 32]).unwrap().is_none());
        assert!(accounts.client("client").unwrap().is_some(), "programs stay registered");
        assert!(accounts.credential_by_key("key of ann").unwrap().is_some());
    }
}
