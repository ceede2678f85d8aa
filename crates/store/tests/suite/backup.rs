//! Tests of backups of a store in use, and of their verification.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use market::Timestamp;
use store::{
    AccountId, Accounts, AuditFilter, AuditNote, Backup, BackupError, Existing, KeyFile, Manifest, Part,
    Progress, Restore, Restored, Scope, Stage, Store, StoreError, verify,
};

use crate::accounts;
use crate::fixture::{Fresh, NOW, block, fresh, minutes, put};

pub(crate) const LATER: Timestamp = Timestamp(NOW.0 + 100);

pub(crate) fn on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub(crate) fn add(accounts: &Accounts, name: &str) -> AccountId {
    accounts::add(accounts, name).unwrap()
}

pub(crate) fn note() -> AuditNote<'static> {
    accounts::note(NOW)
}

/// Returns a store with two blocks, an account and a key.
pub(crate) fn filled() -> (Fresh, Accounts) {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 4), block(5, 8)]);
    let accounts = Accounts::open(fresh.home.path(), NOW).unwrap();
    add(&accounts, "ann");
    fs::write(fresh.home.path().join("secret.key"), [7; 32]).unwrap();
    (fresh, accounts)
}

/// Returns a filled store, and its backup in a separate directory.
pub(crate) fn saved() -> (Fresh, Accounts, tempfile::TempDir) {
    let (from, accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    backup(from.home.path(), &dir.path().join("backup")).unwrap();
    (from, accounts, dir)
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

/// Returns every block of a store with its bytes, as text.
pub(crate) fn content(dir: &Path) -> String {
    let store = Store::open(dir, store::Access::Read).unwrap();
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let mut text = String::new();
    for info in snapshot.all_series().unwrap() {
        for entry in snapshot.blocks(&info.series, None, None).unwrap() {
            let mut bytes = Vec::new();
            snapshot.block(&entry, &mut bytes).unwrap();
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

pub(crate) fn events(accounts: &Accounts) -> Vec<(String, String)> {
    let rows = accounts.audit(&AuditFilter { limit: 100, ..AuditFilter::default() }).unwrap();
    rows.into_iter().map(|row| (row.event, row.reason)).collect()
}

#[test]
fn a_backup_lists_its_contents_and_restores_them() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    let manifest = backup(from.home.path(), &to).unwrap();
    assert_eq!(names(&to), ["MANIFEST.json", "accounts.db", "candles.db", "secret.key"]);
    assert_eq!(names(dir.path()), ["backup"], "nothing is left beside it");
    assert_eq!((manifest.format, manifest.chandler.as_str()), (1, "1.2.3"));
    assert_eq!(manifest.created_at, NOW.to_string());
    let counts = manifest.counts;
    assert_eq!((counts.series, counts.blocks, counts.candles, counts.accounts), (1, 2, 8, 1));
    assert_eq!(verify(&to, &mut on).unwrap(), manifest);
    store::check_pages(&to, Part::Accounts).unwrap();

    let restored = restore(&to, &back).run(&mut on).unwrap();
    assert_eq!(
        (restored.parts.as_slice(), &restored.previous),
        (&[Part::Candles, Part::Accounts][..], &None)
    );
    assert_eq!(content(&back), content(from.home.path()));
    assert_eq!(fs::read(back.join("secret.key")).unwrap(), [7; 32]);
    let accounts = Accounts::open(&back, NOW).unwrap();
    assert!(accounts.account_named("ann").unwrap().is_some());
    let actual = format!("candles and accounts of the backup of {NOW}");
    assert_eq!(events(&accounts).first().unwrap(), &("store.restored".to_owned(), actual));
    assert!(!names(&back).iter().any(|name| name.contains("partial")), "{:?}", names(&back));
    // The restored store allocates the next ids of the original store.
    let store = Store::open(&back, store::Access::Read).unwrap();
    let next = put(&store, &minutes("700.HK"), &[], &[block(9, 9)]);
    assert_eq!(next.iter().map(|entry| entry.id).collect::<Vec<_>>(), [3]);
}

#[cfg(unix)]
#[test]
fn a_backup_and_a_restored_store_are_private_to_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let (_from, _accounts, dir) = saved();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
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
fn a_backup_is_consistent_during_imports() {
    let (from, accounts) = filled();
    let series = minutes("5.HK");
    // There is enough data that the copy takes several steps.
    let wide = |at: i64| store::NewBlock { bytes: vec![9; 100_000], ..block(at, at) };
    put(&from.store, &series, &[], &(0..300).map(wide).collect::<Vec<_>>());
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    let before = content_of_series(from.home.path());
    let mut steps = 0;
    // One writer is used for all batches, as in an import. Dropping the writer would wait for the
    // copy, because it checkpoints the WAL.
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
    let backup = Backup { store: from.home.path(), to: &to, key: KeyFile::Include, chandler: "1", now: NOW };
    let manifest = backup.make(&mut watch).unwrap();
    assert!(steps > 2, "{steps}");
    assert_eq!((manifest.counts.blocks, manifest.counts.accounts), (302, 1));
    assert_eq!(content_of_series(&to), before);
    assert!(content_of_series(from.home.path()) > before);
    let mut reader = Store::open(&to, store::Access::Read).unwrap().reader().unwrap();
    assert!(reader.check(store::Depth::Full, |_, _, _| None).unwrap().is_empty());
}

fn content_of_series(dir: &Path) -> (u64, u64) {
    let mut reader = Store::open(dir, store::Access::Read).unwrap().reader().unwrap();
    let all = reader.snapshot().unwrap().all_series().unwrap();
    (all.iter().map(|one| one.rows).sum(), all.iter().map(|one| one.bytes).sum())
}

#[test]
fn a_stopped_or_failed_backup_leaves_no_files() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    for (stage, part) in [(Stage::Verify, Part::Candles), (Stage::Verify, Part::Accounts)] {
        let mut watch = |progress: Progress| match (progress.stage, progress.part) == (stage, part) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let backup =
            Backup { store: from.home.path(), to: &to, key: KeyFile::Include, chandler: "1", now: NOW };
        assert!(matches!(backup.make(&mut watch), Err(BackupError::Stopped)));
        assert_eq!(names(dir.path()), [""; 0]);
    }
    let absent = backup(&dir.path().join("nowhere"), &to).unwrap_err();
    assert!(matches!(absent, BackupError::Store(StoreError::Absent { .. })), "{absent:?}");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_backup_fails_if_the_accounts_were_lost() {
    let (from, accounts) = filled();
    drop(accounts);
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    fs::write(from.home.path().join("accounts.db"), b"").unwrap();
    let refused = backup(from.home.path(), &to).unwrap_err();
    assert!(matches!(refused, BackupError::Store(StoreError::Emptied { .. })), "{refused:?}");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn an_existing_folder_is_never_written_to() {
    let (from, _accounts) = filled();
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    fs::create_dir(&to).unwrap();
    assert!(matches!(backup(from.home.path(), &to), Err(BackupError::Taken { .. })));
    assert_eq!(names(&to), [""; 0]);
    fs::remove_dir(&to).unwrap();
    fs::create_dir(dir.path().join("backup.partial")).unwrap();
    assert!(matches!(backup(from.home.path(), &to), Err(BackupError::Unfinished { .. })));
    assert_eq!(names(dir.path()), ["backup.partial"], "another may be writing it");
}

#[test]
fn a_flipped_bit_in_any_file_prevents_a_restore() {
    let (_from, _accounts, dir) = saved();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    for name in names(&to) {
        let path = to.join(&name);
        let whole = fs::read(&path).unwrap();
        let places = [0, whole.len() / 3, whole.len() / 2, whole.len() - 1];
        // Every byte of the manifest is changed, because it is short.
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
    assert!(names(&back).iter().all(|name| name.ends_with(".lock")), "{:?}", names(&back));
    verify(&to, &mut on).unwrap();
    restore(&to, &back).run(&mut on).unwrap();
}

#[test]
fn a_manifest_cannot_name_files_outside_the_backup() {
    let (_from, _accounts, dir) = saved();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    let path = to.join("MANIFEST.json");
    let whole = fs::read_to_string(&path).unwrap();
    for name in
        ["../candles.db", "/etc/passwd", "writer.lock", "candles.db/../x", "CANDLES.DB", "", "candles.db-wal"]
    {
        fs::write(&path, whole.replacen("candles.db", name, 1)).unwrap();
        let error = restore(&to, &back).run(&mut on).unwrap_err();
        // The name is rejected before the manifest's digest is checked.
        assert!(
            matches!(&error, BackupError::Manifest { reason, .. } if reason.contains("unknown variant")),
            "{error:?}"
        );
    }
    assert!(!back.exists());
}

#[test]
fn a_newer_manifest_is_distinguished_from_an_invalid_one() {
    let (_from, _accounts, dir) = saved();
    let to = dir.path().join("backup");
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
