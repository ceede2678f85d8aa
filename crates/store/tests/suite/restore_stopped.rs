//! Tests of restores that are stopped, killed or refused, and of the files that they leave.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use market::Timestamp;
use store::{
    Accounts, Backup, BackupError, Existing, KeyFile, Manifest, Part, Progress, Restore, Scope, Stage,
    StoreError, verify,
};

use crate::backup::{LATER, add, backup, content, filled, names, on, replace, restore, saved};
use crate::fixture::{Fresh, NOW, block, minutes, put};

/// Returns a store that was changed since its backup, and the directory with the backup.
fn gone_on() -> (Fresh, tempfile::TempDir) {
    let (from, accounts, dir) = saved();
    put(&from.store, &minutes("5.HK"), &[], &[block(1, 1)]);
    add(&accounts, "bea");
    (from, dir)
}

fn has_bea(store: &Path) -> bool {
    Accounts::open(store, NOW).unwrap().account_named("bea").unwrap().is_some()
}

/// Returns the files of a directory, except for lock files and files that exist only while a
/// connection is open.
fn lasting(dir: &Path) -> Vec<String> {
    let is_passing = |name: &String| ["-wal", "-shm", ".lock"].iter().any(|ending| name.ends_with(ending));
    names(dir).into_iter().filter(|name| !is_passing(name)).collect()
}

#[test]
fn a_stopped_restore_changes_nothing_at_any_step() {
    let (from, dir) = gone_on();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    let (there, new) = (lasting(store), content(store));
    let mut stages = Vec::new();
    for moment in 0.. {
        let mut request = 0;
        let mut watch = |progress: Progress| {
            request += 1;
            if request <= moment {
                return ControlFlow::Continue(());
            }
            stages.push(progress.stage);
            ControlFlow::Break(())
        };
        match (Restore { existing: Existing::Replace, ..restore(&to, store) }).run(&mut watch) {
            Ok(restored) => {
                assert!(restored.previous.is_some() && content(store) != new);
                break;
            }
            Err(error) => assert!(matches!(error, BackupError::Stopped), "{moment}: {error:?}"),
        }
        assert_eq!(content(store), new, "{moment}");
        assert_eq!(lasting(store), there, "{moment}");
        assert!(has_bea(store), "{moment}");
    }
    for stage in [Stage::Copy, Stage::Verify, Stage::Replace] {
        assert!(stages.contains(&stage), "{stages:?}");
    }
}

#[test]
fn a_stopped_restore_leaves_an_empty_folder_empty() {
    let (_from, dir) = gone_on();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    let mut watch = |progress: Progress| match progress.stage {
        Stage::Replace => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    assert!(matches!(restore(&to, &back).run(&mut watch), Err(BackupError::Stopped)));
    assert_eq!(names(&back), ["merge.lock", "server.lock", "writer.lock"]);
}

#[test]
fn a_prepared_restore_can_be_examined_and_is_removed_on_drop() {
    let (from, dir) = gone_on();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    let (there, new) = (lasting(store), content(store));
    let prepared = Restore { existing: Existing::Replace, ..restore(&to, store) }.prepare(&mut on).unwrap();
    assert_eq!(content(prepared.dir()), content(&to));
    store::check_pages(prepared.dir(), Part::Accounts).unwrap();
    assert!(matches!(from.store.writer(), Err(StoreError::Busy { .. })), "no import may begin");
    drop(prepared);
    assert_eq!((lasting(store), content(store)), (there, new));
    from.store.writer().unwrap();
}

#[test]
fn a_store_older_than_the_baseline_is_not_backed_up() {
    let (from, accounts) = filled();
    drop(accounts);
    from.home.damage("candles", "update migration set version = 8");
    let dir = tempfile::tempdir().unwrap();
    let error = backup(from.home.path(), &dir.path().join("backup")).unwrap_err();
    assert!(matches!(error, BackupError::Store(StoreError::TooOld { found: 8, .. })), "{error:?}");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_restore_that_fails_halfway_can_be_repeated() {
    let (from, dir) = gone_on();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    // A directory in place of the marker file prevents the removal of the marker.
    fs::create_dir(store.join("restore.unfinished")).unwrap();
    let error = replace(&to, store).unwrap_err();
    let BackupError::Half { previous: Some(stored), .. } = &error else { panic!("{error:?}") };
    let says = error.to_string();
    assert!(says.contains("is only partly restored: run the same command again, or go back with"), "{says}");
    assert!(says.contains(&stored.display().to_string()), "{says}");
    assert!(content(stored).contains("5.HK"));
    verify(stored, &mut on).unwrap();

    fs::remove_dir(store.join("restore.unfinished")).unwrap();
    let restored = replace(&to, store).unwrap();
    assert!(!has_bea(store));
    assert_eq!(content(store), content(&to));
    // The backup made by the first restore still exists, although both restores began within one
    // second.
    assert_ne!(restored.previous.as_ref(), Some(stored));
    assert!(content(stored).contains("5.HK"));
}

#[test]
fn a_half_restored_store_is_refused() {
    let (from, dir) = gone_on();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    // This is the state after a kill between the databases: the accounts are replaced but the
    // candles are not, and the marker and the staged files exist.
    let accounts = Restore { scope: Scope::Accounts, existing: Existing::Replace, ..restore(&to, store) };
    accounts.run(&mut on).unwrap();
    fs::create_dir(store.join("restore.partial")).unwrap();
    fs::copy(to.join("candles.db"), store.join("restore.partial/candles.db")).unwrap();
    fs::write(store.join("restore.unfinished"), "saved").unwrap();
    for access in [store::Access::Read, store::Access::Look, store::Access::Write { now: NOW }] {
        let refused = store::Store::open(store, access).unwrap_err();
        let says =
            "contains an incomplete restore of the backup saved: run the same `chandler restore` again";
        assert!(refused.to_string().contains(says), "{refused}");
    }
    for refused in [Accounts::open(store, NOW), Accounts::look(store)] {
        assert!(matches!(refused, Err(StoreError::HalfRestored { .. })), "{refused:?}");
    }
    replace(&to, store).unwrap();
    assert!(!has_bea(store));
    assert_eq!(content(store), content(&to));
    assert!(!names(store).iter().any(|name| name.starts_with("restore.")), "{:?}", names(store));
}

#[test]
fn a_backup_is_never_restored_over() {
    let (from, dir) = gone_on();
    let to = dir.path().join("backup");
    let manifest = Manifest::read(&to).unwrap();
    let other = dir.path().join("other");
    backup(from.home.path(), &other).unwrap();
    let mut targets = vec![to.clone(), to.join("."), dir.path().join("other/../backup"), other];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&to, dir.path().join("link")).unwrap();
        targets.push(dir.path().join("link"));
    }
    for target in targets {
        for existing in [Existing::Refuse, Existing::Replace, Existing::ReplaceAndForget] {
            let refused = Restore { existing, ..restore(&to, &target) }.run(&mut on).unwrap_err();
            assert!(matches!(refused, BackupError::IsBackup { .. }), "{refused:?}");
        }
    }
    assert_eq!(names(&to), ["MANIFEST.json", "accounts.db", "candles.db", "secret.key"]);
    assert_eq!(verify(&to, &mut on).unwrap(), manifest);
}

#[test]
fn a_trailing_separator_in_a_path_is_ignored() {
    let (from, dir) = gone_on();
    for name in ["one/", "two//", "three/."] {
        backup(from.home.path(), &dir.path().join(name)).unwrap();
    }
    assert_eq!(names(dir.path()), ["backup", "one", "three", "two"]);
    let taken = backup(from.home.path(), &dir.path().join("one/")).unwrap_err();
    assert!(matches!(taken, BackupError::Taken { .. }), "{taken:?}");
    let above = backup(from.home.path(), &dir.path().join("one/..")).unwrap_err();
    assert!(matches!(above, BackupError::Taken { .. }), "{above:?}");
}

#[test]
fn a_backup_cannot_have_a_reserved_name() {
    let (from, accounts) = filled();
    drop(accounts);
    let store = from.home.path();
    let there = lasting(store);
    for name in [
        "candles.db-journal",
        "accounts.db-journal",
        "accounts.lock.partial",
        "jobs.lock",
        "server.lock",
        "restore.partial",
        "restore.unfinished",
        "saved.partial",
    ] {
        let refused = backup(store, &store.join(name)).unwrap_err();
        assert!(matches!(refused, BackupError::Reserved { .. }), "{name}: {refused:?}");
    }
    assert_eq!(lasting(store), there);
    let inside = store.join("saved");
    backup(store, &inside).unwrap();
    put(&from.store, &minutes("5.HK"), &[], &[block(1, 1)]);
    replace(&inside, store).unwrap();
    assert_eq!(content(store), content(&inside));
}

#[test]
fn leftover_files_are_found_before_anything_is_replaced() {
    let (_from, dir) = gone_on();
    let to = dir.path().join("backup");
    for (index, name) in
        ["candles.db-wal", "candles.db-journal", "accounts.db-wal", "accounts.db-shm"].iter().enumerate()
    {
        let back = dir.path().join(format!("back {index}"));
        fs::create_dir(&back).unwrap();
        fs::write(back.join(name), "of another").unwrap();
        let refused = restore(&to, &back).run(&mut on).unwrap_err();
        assert!(matches!(&refused, BackupError::Leftover { path } if path.ends_with(name)), "{refused:?}");
        assert_eq!(names(&back), [name, "merge.lock", "server.lock", "writer.lock"]);
        fs::remove_file(back.join(name)).unwrap();
        restore(&to, &back).run(&mut on).unwrap();
    }
}

#[test]
fn a_restore_removes_only_leftovers_of_killed_restores() {
    let (from, dir) = gone_on();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    let (left, others) = ("before-restore-20251115T094640Z.partial", ["mine.partial", "before-restore-mine"]);
    for name in others.iter().chain([&left]) {
        fs::create_dir(store.join(name)).unwrap();
        fs::write(store.join(name).join("candles.db"), "half").unwrap();
    }
    // During an import the lock is not available, so nothing is removed.
    let writer = from.store.writer().unwrap();
    replace(&to, store).unwrap_err();
    assert!(store.join(left).exists());
    drop(writer);
    replace(&to, store).unwrap();
    assert!(!store.join(left).exists());
    assert!(others.iter().all(|name| store.join(name).join("candles.db").exists()));
}

#[test]
fn restores_within_one_second_make_separate_backups() {
    let (from, dir) = gone_on();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    let stored: Vec<_> = (0..3).map(|_| replace(&to, store).unwrap().previous.unwrap()).collect();
    assert!(stored[0] != stored[1] && stored[1] != stored[2] && stored[0] != stored[2], "{stored:?}");
    assert!(content(&stored[0]).contains("5.HK") && !content(&stored[1]).contains("5.HK"));
    for path in &stored {
        verify(path, &mut on).unwrap();
    }
}

#[test]
fn accounts_without_candles_are_backed_up_and_replaced() {
    let (from, dir) = gone_on();
    let to = dir.path().join("backup");
    let bare = dir.path().join("bare");
    Restore { scope: Scope::Accounts, ..restore(&to, &bare) }.run(&mut on).unwrap();
    add(&Accounts::open(&bare, NOW).unwrap(), "cal");
    let there = lasting(&bare);
    let replacing = Restore { existing: Existing::Replace, ..restore(&to, &bare) };
    let mut watch = |progress: Progress| match progress.stage {
        Stage::Replace => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    assert!(matches!(replacing.run(&mut watch), Err(BackupError::Stopped)));
    assert_eq!(lasting(&bare), there, "no candles have appeared");
    let restored = Restore { now: Timestamp(LATER.0 + 1), ..replacing }.run(&mut on).unwrap();
    assert_eq!(restored.gone, ["cal"]);
    assert_eq!(content(&bare), content(&to));
    assert_eq!(Manifest::read(&restored.previous.unwrap()).unwrap().counts.accounts, 2);
    drop(from);
}

/// Changing the owner of a directory requires root, so this test does nothing for other users.
#[cfg(unix)]
#[test]
fn files_restored_by_root_belong_to_the_folders_owner() {
    use std::os::unix::fs::{MetadataExt, chown};
    const OTHER_USER: u32 = 54_321;
    let (_from, dir) = gone_on();
    let (to, back) = (dir.path().join("backup"), dir.path().join("back"));
    fs::create_dir(&back).unwrap();
    if chown(&back, Some(OTHER_USER), Some(OTHER_USER)).is_err() {
        return;
    }
    restore(&to, &back).run(&mut on).unwrap();
    // The accounts were not opened yet, so their lock file does not exist.
    let stored = replace(&to, &back).unwrap().previous.unwrap();
    let saved = back.join("saved");
    Backup { store: &back, to: &saved, key: KeyFile::Include, chandler: "1", now: NOW }
        .make(&mut on)
        .unwrap();
    for folder in [&back, &stored, &saved] {
        for name in names(folder) {
            let found = fs::symlink_metadata(folder.join(&name)).unwrap();
            assert_eq!((found.uid(), found.gid()), (OTHER_USER, OTHER_USER), "{name}");
        }
    }
}
