//! Tests of a store whose creation was killed: retrying the command succeeds, and a reader returns
//! a specific error.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use store::{Access, Accounts, Store, StoreError};

use crate::fixture::{NOW, block, fresh, minutes, put};

const WRITE: Access = Access::Write { now: NOW };

/// Names and contents of files.
type Files = Vec<(String, Vec<u8>)>;

/// Returns the files of a directory, as they would be found after a power failure.
fn image(dir: &Path) -> Files {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    entries.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// Returns the states in which a kill may leave a new database: without pages, with pages to be
/// rolled back, without tables, with tables only in the WAL, and complete.
fn images(database: &str, create: impl Fn(&Path)) -> Vec<(&'static str, Files)> {
    let mut images =
        vec![("nothing", Vec::new()), ("an empty file", vec![(database.to_owned(), Vec::new())])];
    // Before SQLite switches to WAL mode, it writes the old state to a rollback journal, and then
    // writes the pages.
    let dir = tempfile::tempdir().unwrap();
    let conn = Connection::open(dir.path().join(database)).unwrap();
    conn.execute_batch("pragma page_size = 4096; pragma cache_size = 1; begin immediate; create table a (x)")
        .unwrap();
    images.push(("a journal", image(dir.path())));
    for number in 0..40 {
        // The rows exceed the page cache, so that pages are written to the file before the commit.
        conn.execute_batch(&format!("create table t{number} (x)")).unwrap();
        conn.execute("insert into a values (zeroblob(20000))", []).unwrap();
    }
    let spilled = image(dir.path());
    assert!(
        spilled.iter().any(|(name, bytes)| name.ends_with("-journal") && bytes.len() > 512),
        "a hot journal"
    );
    assert!(spilled.iter().any(|(name, bytes)| name == database && bytes.len() > 8_192));
    images.push(("a hot journal", spilled.clone()));
    // The journal exists, but no page was written yet.
    let mut empty = spilled;
    empty.iter_mut().filter(|(name, _)| name == database).for_each(|(_, bytes)| bytes.clear());
    images.push(("a journal beside an empty file", empty));
    conn.execute_batch("rollback").unwrap();
    drop(conn);
    // The database has only a header, with and without an open transaction.
    let dir = tempfile::tempdir().unwrap();
    let conn = Connection::open(dir.path().join(database)).unwrap();
    conn.execute_batch("pragma page_size = 4096; pragma journal_mode = wal").unwrap();
    images.push(("a header", image(dir.path())));
    conn.execute_batch("pragma cache_size = 1; begin immediate; create table a (x); create table b (x)")
        .unwrap();
    images.push(("a transaction in the log", image(dir.path())));
    conn.execute_batch("rollback").unwrap();
    drop(conn);
    // The complete database is copied while a reader has it open.
    let dir = tempfile::tempdir().unwrap();
    let reader = {
        create(dir.path());
        let conn = Connection::open(dir.path().join(database)).unwrap();
        conn.execute_batch("begin; select count(*) from migration").ok();
        conn
    };
    images.push(("everything", image(dir.path())));
    drop(reader);
    images
}

fn put_down(files: &[(String, Vec<u8>)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, bytes)| fs::write(dir.path().join(name), bytes).unwrap());
    dir
}

#[test]
fn an_interrupted_store_creation_can_be_retried() {
    let create = |dir: &Path| drop(Store::open(dir, WRITE).unwrap());
    for (what, files) in images("candles.db", create) {
        // A reader reports that there is no store, and creates nothing.
        let dir = put_down(&files);
        match Store::open(dir.path(), Access::Read) {
            Ok(_) => assert_eq!(what, "everything"),
            Err(error) => assert!(matches!(error, StoreError::Absent { .. }), "{what}: {error:?}"),
        }
        for dir in [dir, put_down(&files)] {
            let store = Store::open(dir.path(), WRITE).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            put(&store, &minutes("700.HK"), &[], &[block(0, 9)]);
            let mut reader = store.reader().unwrap();
            assert_eq!(reader.check(store::Depth::Full, |_, _, _| None).unwrap(), [], "{what}");
            assert!(!dir.path().join("candles.db-journal").exists(), "{what}");
        }
    }
}

#[test]
fn an_interrupted_account_creation_can_be_retried() {
    let create = |dir: &Path| drop(Accounts::open(dir, NOW).unwrap());
    for (what, files) in images("accounts.db", create) {
        let dir = put_down(&files);
        let accounts = Accounts::open(dir.path(), NOW).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert!(accounts.is_empty().unwrap(), "{what}");
        assert_eq!(accounts.check(store::Depth::Full).unwrap(), [], "{what}");
    }
}

#[test]
fn a_read_only_open_reports_an_interrupted_creation() {
    let create = |dir: &Path| drop(Store::open(dir, WRITE).unwrap());
    let hot = images("candles.db", create).into_iter().find(|(what, _)| *what == "a hot journal").unwrap().1;
    let dir = put_down(&hot);
    let looked = Store::open(dir.path(), Access::Look).unwrap_err();
    assert!(matches!(looked, StoreError::Interrupted { .. }), "{looked:?}");
    let mut left = image(dir.path());
    left.sort();
    let mut hot = hot;
    hot.sort();
    assert_eq!(left, hot);
}

#[test]
fn a_reader_rolls_back_an_interrupted_change() {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(0, 9)]);
    // The database of a backup has no WAL. Another tool was killed while it changed the database.
    let conn = Connection::open(fresh.store.path().unwrap()).unwrap();
    conn.execute_batch("pragma journal_mode = delete; pragma cache_size = 1; begin immediate").unwrap();
    for number in 0..40 {
        conn.execute_batch(&format!("create table t{number} (x); delete from block_index")).unwrap();
        conn.execute("insert into t0 values (zeroblob(20000))", []).unwrap();
    }
    let dir = put_down(&image(fresh.home.path()));
    assert!(fs::metadata(dir.path().join("candles.db-journal")).unwrap().len() > 512);
    let store = Store::open(dir.path(), Access::Read).unwrap();
    assert_eq!(store.reader().unwrap().view().blocks(&minutes("700.HK"), None, None).unwrap().len(), 1);
}
