use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use store::{Access, Accounts, NewBlock, Store, StoreError};

use crate::accounts::add;
use crate::fixture::{Fresh, Home, NOW, block, fresh, minutes, put};

const WRITE: Access = Access::Write { now: NOW };

fn candles(fresh: &Fresh) -> PathBuf {
    fresh.home.path().join("candles.db")
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn reading_an_absent_store_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("deeper/still")] {
        let error = Store::open(&path, Access::Read).unwrap_err();
        assert!(matches!(&error, StoreError::Absent { place } if place.path() == Some(&*path)), "{error:?}");
    }
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn writing_creates_the_directories_and_opening_again_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deeper/still");
    let store = Store::open(&path, WRITE).unwrap();
    put(&store, &minutes("700.HK"), &[], &[block(1, 2)]);
    for access in [WRITE, Access::Read] {
        let store = Store::open(&path, access).unwrap();
        assert_eq!(store.reader().unwrap().snapshot().unwrap().all_series().unwrap().len(), 1);
    }
    assert!(names(&path).contains(&"candles.db".to_owned()));
}

#[test]
fn a_file_in_place_of_the_directory_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, "x").unwrap();
    for access in [Access::Read, WRITE] {
        let error = Store::open(&path, access).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_created_is_an_error() {
    let error = Store::open(Path::new("/proc/store"), WRITE).unwrap_err();
    assert!(matches!(error, StoreError::Io { what: "create the directory", .. }), "{error:?}");
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("candles.db");
    let text = "time,open,high,low,close\n".repeat(1_000);
    std::fs::write(&path, &text).unwrap();
    for access in [Access::Read, WRITE] {
        let error = Store::open(dir.path(), access).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_corrupted_header_is_an_error() {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 2)]);
    let mut file = std::fs::OpenOptions::new().write(true).open(candles(&fresh)).unwrap();
    file.write_all(&[0xff; 16]).unwrap();
    let error = Store::open(fresh.home.path(), Access::Read).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

#[test]
fn damage_in_the_middle_of_the_file_is_found_by_a_check() {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 2)]);
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(candles(&fresh)).unwrap();
    let mut whole = Vec::new();
    file.read_to_end(&mut whole).unwrap();
    for page in 1..whole.len() / 4_096 {
        file.seek(SeekFrom::Start(page as u64 * 4_096)).unwrap();
        file.write_all(&[0x5a; 200]).unwrap();
    }
    // Opening may already detect the damage. If it does not, the check must detect it.
    let findings = match fresh.store.reader() {
        Ok(mut reader) => reader.check(store::Depth::Full, |_, _, _| None).unwrap().len(),
        Err(error) => usize::from(matches!(error, StoreError::Damaged { .. })),
    };
    assert!(findings > 0);
}

#[test]
fn an_interrupted_creation_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("candles.db"), "").unwrap();
    let error = Store::open(dir.path(), Access::Read).unwrap_err();
    assert!(matches!(error, StoreError::Absent { .. }), "{error:?}");
    let store = Store::open(dir.path(), WRITE).unwrap();
    put(&store, &minutes("700.HK"), &[], &[block(1, 2)]);
}

#[cfg(unix)]
#[test]
fn account_files_are_private_to_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    add(&accounts, "alice").unwrap();
    for name in ["accounts.db", "accounts.db-wal"] {
        let mode = std::fs::metadata(home.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn pages_of_replaced_blocks_are_reused() {
    let fresh = fresh();
    let series = minutes("700.HK");
    let large = |at: i64| NewBlock { bytes: vec![1; 100_000], ..block(at, at) };
    let mut ids: Vec<i64> =
        put(&fresh.store, &series, &[], &[large(1), large(2)]).iter().map(|entry| entry.id).collect();
    let mut sizes = Vec::new();
    for _ in 0..6 {
        ids = put(&fresh.store, &series, &ids, &[large(1), large(2)]).iter().map(|entry| entry.id).collect();
        sizes.push(std::fs::metadata(candles(&fresh)).unwrap().len());
    }
    // The first replacement grows the file, because the new blocks are written before the old
    // blocks are freed.
    assert_eq!(sizes[1], sizes[5], "{sizes:?}");
}

#[test]
fn file_sizes_are_reported() {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[NewBlock { bytes: vec![1; 100_000], ..block(1, 1) }]);
    let sizes = fresh.store.file_sizes();
    assert!(sizes.candles > 100_000 && sizes.accounts == 0, "{sizes:?}");
}
