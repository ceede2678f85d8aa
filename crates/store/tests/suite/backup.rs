//! Backups while the store is in use, what is found wrong with them, and the way back.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use market::Timestamp;
use store::{
    AccountId, AccountTerms, Accounts, AuditFilter, AuditNote, Backup, BackupError, Credential, Existing,
    KeyFile, Manifest, NewAccountRow, Part, Progress, Restore, Restored, Scope, Stage, Store, StoreError,
    era, verify,
};

use crate::fixture::{Fresh, NOW, block, fresh, minutes, put, spans};

pub(crate) const LATER: Timestamp = Timestamp(NOW.0 + 100);

pub(crate) fn on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub(crate) fn add(accounts: &Accounts, name: &str) -> AccountId {
    let id = accounts.take_id().unwrap();
    let account = NewAccountRow {
        name: name.to_owned(),
        region: "ap".to_owned(),
        role: "user".to_owned(),
        created_at: NOW,
        terms: AccountTerms { level: 0, quota: None, rate: None, connections: 10 },
        rights: Vec::new(),
    };
    let credential = Credential {
        app_key: format!("key of {name}"),
        account: id,
        app_secret: vec![1, 2, 3],
        token_hash: *blake3::hash(name.as_bytes()).as_bytes(),
        token_expires_at: Timestamp(NOW.0 + 1_000),
        created_at: NOW,
    };
    accounts.add(id, &account, &credential, &note()).unwrap();
    id
}

fn note() -> AuditNote<'static> {
    AuditNote { at: NOW, actor: "operator", reason: "a test" }
}

/// A store with two blocks, an account and a key.
pub(crate) fn filled() -> (Fresh, Accounts) {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 4), block(5, 8)]);
    let accounts = Accounts::open(fresh.dir.path(), NOW).unwrap();
    add(&accounts, "ann");
    fs::write(fresh.dir.path().join("secret.key"), [7; 32]).unwrap();
    (fresh, accounts)
}

pub(crate) fn backup(store: &Path, to: &Path) -> Result<Manifest, BackupError> {
    Backup { store, to, key: KeyFile::Include, chandler: "1.2.3", now: NOW }.make(&mut on)
}

pub(crate) fn restore<'a>(from: &'a Path, store: &'a Path) -> Restore<'a> {
    Restore {
        from,
        store,
        scope: Scope::All,
        key: None,
        existing: Existing::Refuse,
        chandler: "1.2.3",
        now: LATER,
        actor: "operator",
    }
}

pub(crate) fn replace(from: &Path, store: &Path) -> Result<Restored, BackupError> {
    Restore { existing: Existing::Replace, ..restore(from, store) }.run(&mut on)
}

/// Every block of a store with its bytes, as text.
pub(crate) fn content(dir: &Path) -> String {
    let store = Store::open(dir, store::Access::Read).unwrap();
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let mut text = String::new();
    for info in snapshot.all_series().unwrap() {
        for entry in snapshot.blocks(&info.series, None, None).unwrap() {
            let mut bytes = Vec::new();
            snapshot.block(entry.id, &mut bytes).unwrap();
            text += &format!("{} {} {}\n", info.series, entry.id, String::from_utf8(bytes).unwrap());
        }
    }
    text
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn events(accounts: &Accounts) -> Vec<(String, String)> {
    let rows = accounts.audit(&AuditFilter { limit: 100, ..AuditFilter::default() }).unwrap();
    rows.into_iter().map(|row| (row.event, row.reason)).collect()
}

#[test]
fn a_backup_says_what_is_in_it_and_restores_to_the_same() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    let manifest = backup(from.dir.path(), &to).unwrap();
    assert_eq!(names(&to), ["MANIFEST.json", "accounts.db", "candles.db", "secret.key"]);
    assert_eq!(names(dir.path()), ["backup"], "nothing is left beside it");
    assert_eq!((manifest.format, manifest.chandler.as_str()), (1, "1.2.3"));
    assert_eq!(manifest.created_at, NOW.to_string());
    let counts = manifest.counts;
    assert_eq!((counts.series, counts.blocks, counts.candles, counts.accounts), (1, 2, 8, 1));
    assert_eq!(verify(&to, &mut on).unwrap(), manifest);
    store::check_pages(&to, Part::Accounts).unwrap();

    let restored = restore(&to, &back).run(&mut on).unwrap();
    assert_eq!((restored.parts.as_slice(), &restored.kept), (&[Part::Candles, Part::Accounts][..], &None));
    assert_eq!(content(&back), content(from.dir.path()));
    assert_eq!(fs::read(back.join("secret.key")).unwrap(), [7; 32]);
    let accounts = Accounts::open(&back, NOW).unwrap();
    assert!(accounts.account_named("ann").unwrap().is_some());
    let told = format!("candles and accounts of the backup of {NOW}");
    assert_eq!(events(&accounts).first().unwrap(), &("store.restored".to_owned(), told));
    assert!(!names(&back).iter().any(|name| name.contains("partial")), "{:?}", names(&back));
    // What comes next goes on where the other stopped.
    let store = Store::open(&back, store::Access::Read).unwrap();
    let next = put(&store, &minutes("700.HK"), &[], &[block(9, 9)]);
    assert_eq!(next.iter().map(|entry| entry.id).collect::<Vec<_>>(), [3]);
}

#[cfg(unix)]
#[test]
fn a_backup_and_what_is_restored_from_it_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(from.dir.path(), &to).unwrap();
    restore(&to, &back).run(&mut on).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&to), 0o700);
    for name in names(&to) {
        assert_eq!(mode(&to.join(&name)), 0o600, "{name}");
    }
    for part in Part::ALL {
        assert_eq!(mode(&back.join(part.file_name())), 0o600, "{part:?}");
    }
}

#[test]
fn a_backup_is_of_one_commit_though_imports_and_accounts_go_on() {
    let (from, accounts) = filled();
    let series = minutes("5.HK");
    // Enough that the copy takes several steps.
    let wide = |at: i64| store::NewBlock { bytes: vec![9; 100_000], ..block(at, at) };
    put(&from.store, &series, &[], &(0..300).map(wide).collect::<Vec<_>>());
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    let before = content_of_series(from.dir.path());
    let mut steps = 0;
    // One writer for all of it, as an import has: when it ends it would wait for the copy, to fold in the log.
    let mut writer = from.store.writer().unwrap();
    let mut watch = |progress: Progress| {
        if progress.stage == Stage::Copy && progress.part == Part::Candles {
            let mut batch = writer.begin().unwrap();
            batch.replace_blocks(&series, &[], &[wide(1_000 + steps)]).unwrap();
            batch.commit().unwrap();
            add(&accounts, &format!("later {steps}"));
            steps += 1;
        }
        ControlFlow::Continue(())
    };
    let backup = Backup { store: from.dir.path(), to: &to, key: KeyFile::Include, chandler: "1", now: NOW };
    let manifest = backup.make(&mut watch).unwrap();
    assert!(steps > 2, "{steps}");
    assert_eq!((manifest.counts.blocks, manifest.counts.accounts), (302, 1));
    assert_eq!(content_of_series(&to), before);
    assert!(content_of_series(from.dir.path()) > before);
    let mut reader = Store::open(&to, store::Access::Read).unwrap().reader().unwrap();
    assert!(reader.check(store::Depth::Full, |_, _, _| None).unwrap().is_empty());
}

fn content_of_series(dir: &Path) -> (u64, u64) {
    let mut reader = Store::open(dir, store::Access::Read).unwrap().reader().unwrap();
    let all = reader.snapshot().unwrap().all_series().unwrap();
    (all.iter().map(|one| one.rows).sum(), all.iter().map(|one| one.bytes).sum())
}

#[test]
fn a_backup_that_is_stopped_or_fails_leaves_nothing() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    for (stage, part) in [(Stage::Verify, Part::Candles), (Stage::Verify, Part::Accounts)] {
        let mut watch = |progress: Progress| match (progress.stage, progress.part) == (stage, part) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let backup =
            Backup { store: from.dir.path(), to: &to, key: KeyFile::Include, chandler: "1", now: NOW };
        assert!(matches!(backup.make(&mut watch), Err(BackupError::Stopped)));
        assert_eq!(names(dir.path()), [""; 0]);
    }
    let absent = backup(&dir.path().join("nowhere"), &to).unwrap_err();
    assert!(matches!(absent, BackupError::Store(StoreError::Absent { .. })), "{absent:?}");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_folder_that_is_there_is_never_written_to() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    fs::create_dir(&to).unwrap();
    assert!(matches!(backup(from.dir.path(), &to), Err(BackupError::Taken { .. })));
    assert_eq!(names(&to), [""; 0]);
    fs::remove_dir(&to).unwrap();
    fs::create_dir(dir.path().join("backup.partial")).unwrap();
    assert!(matches!(backup(from.dir.path(), &to), Err(BackupError::Unfinished { .. })));
    assert_eq!(names(dir.path()), ["backup.partial"], "another may be writing it");
}

#[test]
fn a_flipped_bit_in_any_file_is_found_and_nothing_is_restored() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(from.dir.path(), &to).unwrap();
    for name in names(&to) {
        let path = to.join(&name);
        let whole = fs::read(&path).unwrap();
        let places = [0, whole.len() / 3, whole.len() / 2, whole.len() - 1];
        // Every byte of the manifest, which is short.
        let all = 0..if name == "MANIFEST.json" { whole.len() } else { 0 };
        for place in places.into_iter().chain(all) {
            let mut bent = whole.clone();
            bent[place] ^= 1;
            fs::write(&path, &bent).unwrap();
            let error = verify(&to, &mut on).unwrap_err();
            let found = matches!(
                error,
                BackupError::Differs { .. } | BackupError::Manifest { .. } | BackupError::Newer { .. }
            );
            assert!(found, "{name} {place}: {error:?}");
            restore(&to, &back).run(&mut on).unwrap_err();
        }
        for cut in [&whole[..whole.len() - 1], &[whole.as_slice(), b"x"].concat()] {
            fs::write(&path, cut).unwrap();
            verify(&to, &mut on).unwrap_err();
            restore(&to, &back).run(&mut on).unwrap_err();
        }
        fs::remove_file(&path).unwrap();
        verify(&to, &mut on).unwrap_err();
        restore(&to, &back).run(&mut on).unwrap_err();
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(names(&back).iter().filter(|name| *name != "writer.lock").count(), 0, "{:?}", names(&back));
    verify(&to, &mut on).unwrap();
    restore(&to, &back).run(&mut on).unwrap();
}

#[test]
fn no_name_in_a_manifest_leads_out_of_the_backup() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(from.dir.path(), &to).unwrap();
    let path = to.join("MANIFEST.json");
    let whole = fs::read_to_string(&path).unwrap();
    for name in
        ["../candles.db", "/etc/passwd", "writer.lock", "candles.db/../x", "CANDLES.DB", "", "candles.db-wal"]
    {
        fs::write(&path, whole.replacen("candles.db", name, 1)).unwrap();
        let error = restore(&to, &back).run(&mut on).unwrap_err();
        // The name alone is enough: the digest of the manifest is not what stands between.
        assert!(
            matches!(&error, BackupError::Manifest { reason, .. } if reason.contains("unknown variant")),
            "{error:?}"
        );
    }
    assert!(!back.exists());
}

#[test]
fn a_manifest_of_a_later_format_is_told_apart_from_a_wrong_one() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(from.dir.path(), &to).unwrap();
    for (text, is_newer) in [
        (r#"{"format": 2, "something": "else"}"#, true),
        (r#"{"format": 0}"#, false),
        (r#"{"format": 1}"#, false),
        ("", false),
        ("[]", false),
        ("\u{feff}{}", false),
        (&"[".repeat(60_000), false),
        (&" ".repeat(70_000), false),
    ] {
        fs::write(to.join("MANIFEST.json"), text).unwrap();
        let error = Manifest::read(&to).unwrap_err();
        assert_eq!(matches!(error, BackupError::Newer { found: 2, known: 1, .. }), is_newer, "{error:?}");
        assert!(is_newer || matches!(error, BackupError::Manifest { .. }), "{error:?}");
    }
    for absent in [dir.path(), &dir.path().join("nowhere"), &to.join("candles.db")] {
        assert!(matches!(Manifest::read(absent), Err(BackupError::Absent { .. })));
    }
}

#[test]
fn a_store_that_is_there_is_replaced_only_on_request_and_kept() {
    let (from, accounts) = filled();
    let store = from.dir.path();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(store, &to).unwrap();
    let old = content(store);
    put(&from.store, &minutes("5.HK"), &[], &[block(1, 1)]);
    let bea = add(&accounts, "bea");
    let new = content(store);
    assert!(matches!(restore(&to, store).run(&mut on), Err(BackupError::Exists { .. })));
    assert_eq!(content(store), new);

    let restored = replace(&to, store).unwrap();
    assert_eq!(content(store), old);
    assert_eq!(restored.gone, ["bea"]);
    assert!(accounts.account(bea).unwrap().is_none());
    let kept = restored.kept.unwrap();
    assert_eq!(content(&kept), new);

    // And back again.
    let back = Restore {
        now: Timestamp(LATER.0 + 1),
        existing: Existing::ReplaceAndForget,
        ..restore(&kept, store)
    };
    let restored = back.run(&mut on).unwrap();
    assert_eq!((content(store), restored.kept), (new, None));
    assert!(accounts.account(bea).unwrap().is_some());
    let restores = events(&accounts).into_iter().filter(|(event, _)| event == "store.restored").count();
    assert_eq!(restores, 1, "the audit is that of the backup, and the row of its restore");
}

#[test]
fn whoever_reads_sees_the_old_state_to_its_end_and_then_the_new_one() {
    let (from, _accounts) = filled();
    let store = from.dir.path();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(store, &to).unwrap();
    put(&from.store, &minutes("5.HK"), &[], &[block(1, 1)]);
    let (mut one, mut other) = (from.store.reader().unwrap(), from.store.reader().unwrap());
    let version = other.version().unwrap();
    let snapshot = one.snapshot().unwrap();
    assert_eq!(snapshot.all_series().unwrap().len(), 2);
    replace(&to, store).unwrap();
    assert_eq!(spans(&snapshot.blocks(&minutes("5.HK"), None, None).unwrap()), "1..=1");
    drop(snapshot);
    assert_eq!(one.snapshot().unwrap().all_series().unwrap().len(), 1);
    assert_eq!(other.view().all_series().unwrap().len(), 1);
    assert!(other.version().unwrap() > version && era(other.version().unwrap()) == era(version) + 1);
}

#[test]
fn versions_rise_and_numbers_are_given_once_whatever_is_restored() {
    let (from, accounts) = filled();
    let store = from.dir.path();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(store, &to).unwrap();
    let series = minutes("700.HK");
    let (mut reader, mut versions, mut blocks, mut people) =
        (from.store.reader().unwrap(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..3 {
        blocks.extend(
            put(&from.store, &series, &[], &[block(10 + round, 10 + round)]).iter().map(|one| one.id),
        );
        people.push(add(&accounts, "someone").0);
        versions.push((reader.version().unwrap(), accounts.version().unwrap()));
        let restore = Restore { now: Timestamp(LATER.0 + round), ..restore(&to, store) };
        Restore { existing: Existing::ReplaceAndForget, ..restore }.run(&mut on).unwrap();
        versions.push((reader.version().unwrap(), accounts.version().unwrap()));
    }
    assert!(versions.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1), "{versions:?}");
    for numbers in [&mut blocks, &mut people] {
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    }
    assert!(reader.check(store::Depth::Full, |_, _, _| None).unwrap().is_empty());
}

#[test]
fn an_account_that_was_revoked_since_stays_so_and_ended_sessions_stay_ended() {
    let (from, accounts) = filled();
    let store = from.dir.path();
    let bea = add(&accounts, "bea");
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(store, &to).unwrap();
    accounts.revoke(bea, &note()).unwrap();
    let epoch = accounts.account(bea).unwrap().unwrap().epoch;
    let restored = replace(&to, store).unwrap();
    assert_eq!(restored.still_revoked, ["bea"]);
    let row = accounts.account(bea).unwrap().unwrap();
    assert_eq!((row.revoked_at, row.epoch), (Some(NOW), epoch));
    let told: Vec<String> = events(&accounts).into_iter().take(2).map(|(event, _)| event).collect();
    assert_eq!(told, ["store.restored", "account.revoked"]);
}

#[test]
fn a_number_that_two_histories_gave_to_two_accounts_ends_the_sessions_of_both() {
    let (from, accounts) = filled();
    let store = from.dir.path();
    let dir = tempfile::tempdir().unwrap();
    let (common, other, diverged) =
        (dir.path().join("common"), dir.path().join("other"), dir.path().join("diverged"));
    backup(store, &common).unwrap();
    restore(&common, &other).run(&mut on).unwrap();
    let id = add(&accounts, "bea");
    assert_eq!(add(&Accounts::open(&other, NOW).unwrap(), "cal"), id);
    backup(&other, &diverged).unwrap();
    replace(&diverged, store).unwrap();
    let row = accounts.account(id).unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.epoch), ("cal", 1));
}

#[test]
fn one_half_can_be_restored_alone() {
    let (from, accounts) = filled();
    let store = from.dir.path();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(store, &to).unwrap();
    let old = content(store);
    let (bea, series) = (add(&accounts, "bea"), minutes("5.HK"));
    put(&from.store, &series, &[], &[block(1, 1)]);
    let alone = |scope, at| Restore {
        scope,
        existing: Existing::ReplaceAndForget,
        now: Timestamp(LATER.0 + at),
        ..restore(&to, store)
    };
    alone(Scope::Candles, 0).run(&mut on).unwrap();
    assert_eq!(content(store), old);
    assert!(accounts.account(bea).unwrap().is_some());
    let told = ("store.restored".to_owned(), format!("candles of the backup of {NOW}"));
    assert_eq!(events(&accounts).first().unwrap(), &told);

    put(&from.store, &series, &[], &[block(1, 1)]);
    alone(Scope::Accounts, 1).run(&mut on).unwrap();
    assert_ne!(content(store), old);
    assert!(accounts.account(bea).unwrap().is_none());
}

#[test]
fn the_key_may_be_kept_elsewhere_and_must_be_the_right_one() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    let made = Backup { store: from.dir.path(), to: &to, key: KeyFile::LeaveOut, chandler: "1", now: NOW };
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

    // In place, the key that is there must be the one.
    replace(&to, from.dir.path()).unwrap();
    fs::write(from.dir.path().join("secret.key"), [8; 32]).unwrap();
    assert!(matches!(replace(&to, from.dir.path()), Err(BackupError::OtherKey { .. })));
}

#[test]
fn a_store_without_accounts_has_a_backup_without_them() {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 4)]);
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(fresh.dir.path(), &to).unwrap();
    assert_eq!(names(&to), ["MANIFEST.json", "candles.db"]);
    restore(&to, &back).run(&mut on).unwrap();
    assert_eq!(content(&back), content(fresh.dir.path()));
    let other = dir.path().join("other");
    let accounts = Restore { scope: Scope::Accounts, ..restore(&to, &other) };
    assert!(matches!(accounts.run(&mut on), Err(BackupError::Lacks { part: Part::Accounts, .. })));
}

#[test]
fn a_restore_waits_for_no_import_and_disturbs_none() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(from.dir.path(), &to).unwrap();
    let old = content(from.dir.path());
    let _writer = from.store.writer().unwrap();
    let busy = replace(&to, from.dir.path()).unwrap_err();
    assert!(matches!(busy, BackupError::Store(StoreError::Busy { .. })), "{busy:?}");
    assert_eq!(content(from.dir.path()), old);
}

#[test]
fn a_restore_that_is_stopped_leaves_the_store_as_it_was() {
    let (from, accounts) = filled();
    let store = from.dir.path();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(store, &to).unwrap();
    put(&from.store, &minutes("5.HK"), &[], &[block(1, 1)]);
    add(&accounts, "bea");
    let new = content(store);
    for stage in [Stage::Copy, Stage::Verify] {
        let mut watch = |progress: Progress| match progress.stage == stage {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let stopped = Restore { existing: Existing::Replace, ..restore(&to, store) }.run(&mut watch);
        assert!(matches!(stopped, Err(BackupError::Stopped)), "{stopped:?}");
        assert_eq!(content(store), new);
        assert!(accounts.account_named("bea").unwrap().is_some());
        assert!(!names(store).iter().any(|name| name.contains("partial") || name.contains("before")));
    }
    // What a crash has left is cleared away.
    fs::create_dir(store.join("restore.partial")).unwrap();
    fs::write(store.join("restore.partial/candles.db"), "half").unwrap();
    replace(&to, store).unwrap();
}

#[test]
fn a_log_without_its_database_is_not_taken_for_a_part_of_the_restored_one() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(from.dir.path(), &to).unwrap();
    fs::create_dir(&back).unwrap();
    fs::write(back.join("candles.db-wal"), "of another").unwrap();
    assert!(matches!(restore(&to, &back).run(&mut on), Err(BackupError::Leftover { .. })));
}

#[test]
fn a_store_that_cannot_be_read_is_not_replaced_in_place() {
    let (from, accounts) = filled();
    let store = from.dir.path();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(store, &to).unwrap();
    drop(accounts);
    fs::write(store.join("candles.db"), [0x55; 20_000]).unwrap();
    let error = replace(&to, store).unwrap_err();
    assert!(matches!(error, BackupError::Unreadable { .. }), "{error:?}");
}

#[test]
fn what_is_good_once_and_every_login_ends_with_a_restore_and_api_keys_go_on() {
    let (from, accounts) = filled();
    let ann = accounts.account_named("ann").unwrap().unwrap().id;
    let end = Timestamp(NOW.0 + 1_000);
    assert!(accounts.begin_guest(ann, &[1; 32], end, &note()).unwrap());
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
    assert_eq!(accounts.redeem_code(&[5; 32], &tokens, &note()).unwrap(), store::Redeemed::Yes);
    accounts.add_code(&[6; 32], &code("unused"), &note()).unwrap();

    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    backup(from.dir.path(), &to).unwrap();
    replace(&to, from.dir.path()).unwrap();
    restore(&to, &back).run(&mut on).unwrap();
    for accounts in [accounts, Accounts::open(&back, NOW).unwrap()] {
        assert!(accounts.browser(&[1; 32], NOW).unwrap().is_none());
        assert!(accounts.token(&[3; 32]).unwrap().is_none() && accounts.token(&[4; 32]).unwrap().is_none());
        assert!(!accounts.family_is_there("family").unwrap());
        assert!(accounts.code(&[5; 32]).unwrap().is_none() && accounts.code(&[6; 32]).unwrap().is_none());
        assert!(accounts.client("client").unwrap().is_some(), "programs stay registered");
        assert!(accounts.credential_by_key("key of ann").unwrap().is_some());
    }
}
