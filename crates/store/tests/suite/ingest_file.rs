//! Tests of the log of ingested batches on SQLite, which is a file next to the candle database.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use store::{Access, Depth, Finding, IngestLog, MoveError, Part, Store, StoreUrl, check_pages};

use crate::backup::{backup, filled, replace, restore};
use crate::fixture::{NOW, fresh};
use crate::transfer::{findings, transfer};

/// Appends batches with these numbers of a source. Returns the ids.
fn append(log: &mut IngestLog, numbers: &[i64]) -> Vec<i64> {
    let add = |number: &i64| {
        let append = log.append().unwrap();
        let push_from = append.reserve_pushes(100, 8).unwrap();
        append.put(push_from, number.to_string().as_bytes()).unwrap();
        append.put_answer("feed", *number, "{}").unwrap();
        let id = append.id();
        append.commit().unwrap();
        id
    };
    numbers.iter().map(add).collect()
}

fn merge_through(store: &Store, id: i64) {
    let mut writer = store.ingest_writer().unwrap();
    writer.lock().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.ingest_applied_through(id).unwrap();
    batch.commit().unwrap();
}

/// Returns the last merged batch, and the ids and bodies of all batches.
fn logged(place: &StoreUrl) -> (i64, Vec<(i64, String)>) {
    let store = Store::open(place, Access::Read).unwrap();
    let mut reader = store.reader().unwrap();
    let batches = reader.view().ingest_batches(0, i64::MAX).unwrap();
    let body = |batch: store::IngestBatch| (batch.id, String::from_utf8(batch.body).unwrap());
    (reader.view().ingest_applied().unwrap(), batches.into_iter().map(body).collect())
}

fn rows(all: &[(i64, &str)]) -> Vec<(i64, String)> {
    all.iter().map(|(id, body)| (*id, (*body).to_owned())).collect()
}

fn file(dir: &Path) -> std::path::PathBuf {
    dir.join("ingest.db")
}

fn remove(dir: &Path) {
    for name in ["ingest.db", "ingest.db-wal", "ingest.db-shm"] {
        fs::remove_file(dir.join(name)).ok();
    }
}

#[test]
fn a_backup_contains_the_unmerged_batches() {
    let (fresh, _accounts) = filled();
    let mut log = fresh.store.ingest_log().unwrap();
    append(&mut log, &[11, 12, 13]);
    merge_through(&fresh.store, 1);
    let dir = tempfile::tempdir().unwrap();
    let (to, other) = (dir.path().join("backup"), dir.path().join("other"));
    backup(fresh.home.path(), &to).unwrap();
    check_pages(&to, Part::Candles).unwrap();
    assert!(!file(&to).exists());
    assert_eq!(findings(&to.as_path().into()), 0);

    restore(&to, &other).run(&mut crate::backup::on).unwrap();
    let unmerged = rows(&[(2, "12"), (3, "13")]);
    assert_eq!(logged(&other.as_path().into()), (1, unmerged.clone()));
    let restored = Store::open(&other, Access::Write { now: NOW }).unwrap();
    let mut again = restored.ingest_log().unwrap();
    assert!(file(&other).exists());
    assert_eq!(again.append().unwrap().last_seq("feed").unwrap(), Some(13));
    assert_eq!(logged(&other.as_path().into()), (1, unmerged));
    assert_eq!(append(&mut again, &[14]), [4]);
    assert_eq!(findings(&other.as_path().into()), 0);
    // The original store continues to accept batches.
    assert_eq!(append(&mut log, &[14, 15]), [4, 5]);
}

#[test]
fn a_restore_replaces_the_log() {
    let (fresh, accounts) = filled();
    let mut log = fresh.store.ingest_log().unwrap();
    append(&mut log, &[11, 12]);
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("backup");
    backup(fresh.home.path(), &to).unwrap();
    append(&mut log, &[13, 14]);
    drop((log, accounts));
    let previous = replace(&to, fresh.home.path()).unwrap().previous.unwrap();
    assert!(!file(fresh.home.path()).exists());
    let place = StoreUrl::from(fresh.home.path());
    assert_eq!(logged(&place), (0, rows(&[(1, "11"), (2, "12")])));
    let four = rows(&[(1, "11"), (2, "12"), (3, "13"), (4, "14")]);
    assert_eq!(logged(&previous.into()), (0, four));
    assert_eq!(append(&mut fresh.store.ingest_log().unwrap(), &[13]), [3]);
}

#[test]
fn a_move_includes_the_log() {
    let (fresh, _accounts) = filled();
    let from = StoreUrl::from(fresh.home.path());
    let mut log = fresh.store.ingest_log().unwrap();
    append(&mut log, &[11, 12]);
    merge_through(&fresh.store, 1);
    let dir = tempfile::tempdir().unwrap();
    let to = StoreUrl::from(dir.path());
    transfer(&from, &to).unwrap().finish().unwrap();
    assert_eq!(logged(&to), (1, rows(&[(2, "12")])));
    assert_eq!(findings(&to), 0);
    let moved = Store::open(&to, Access::Write { now: NOW }).unwrap();
    assert_eq!(append(&mut moved.ingest_log().unwrap(), &[13]), [3]);
    // A process that had opened the log of the source appends to its new log.
    assert_eq!(append(&mut log, &[13]), [3]);
    assert_eq!(logged(&from), (1, rows(&[(2, "12"), (3, "13")])));
    assert_eq!(findings(&from), 0);
}

#[test]
fn a_lost_or_foreign_log_is_created_again() {
    let (one, two) = (fresh(), fresh());
    append(&mut one.store.ingest_log().unwrap(), &[11, 12, 13]);
    append(&mut two.store.ingest_log().unwrap(), &[21]);
    merge_through(&one.store, 3);
    remove(one.home.path());
    let place = StoreUrl::from(one.home.path());
    assert_eq!(logged(&place), (3, Vec::new()));
    // Ids of merged batches are not reused.
    assert_eq!(append(&mut one.store.ingest_log().unwrap(), &[14]), [4]);

    fs::copy(file(two.home.path()), file(one.home.path())).unwrap();
    assert_eq!(logged(&place), (3, Vec::new()));
    assert_eq!(append(&mut one.store.ingest_log().unwrap(), &[15]), [4]);
}

#[test]
fn an_interrupted_creation_of_the_log_is_repeated() {
    let fresh = fresh();
    // Complete, but its key was not recorded in the candle database.
    let other = crate::fixture::fresh();
    append(&mut other.store.ingest_log().unwrap(), &[21, 22]);
    fs::copy(file(other.home.path()), file(fresh.home.path())).unwrap();
    assert_eq!(append(&mut fresh.store.ingest_log().unwrap(), &[11]), [1]);
    // An empty file.
    let empty = crate::fixture::fresh();
    fs::write(file(empty.home.path()), b"").unwrap();
    assert_eq!(append(&mut empty.store.ingest_log().unwrap(), &[11]), [1]);
}

#[test]
fn a_lost_log_is_not_replaced_by_its_initial_rows() {
    let (fresh, _accounts) = filled();
    append(&mut fresh.store.ingest_log().unwrap(), &[11, 12, 13]);
    let dir = tempfile::tempdir().unwrap();
    let (to, other) = (dir.path().join("backup"), dir.path().join("other"));
    backup(fresh.home.path(), &to).unwrap();
    restore(&to, &other).run(&mut crate::backup::on).unwrap();
    let restored = Store::open(&other, Access::Write { now: NOW }).unwrap();
    assert_eq!(append(&mut restored.ingest_log().unwrap(), &[14]), [4]);
    remove(&other);
    let mut log = restored.ingest_log().unwrap();
    assert_eq!(log.append().unwrap().last_seq("feed").unwrap(), None);
    // A merge does not wait for the lost batches.
    assert_eq!(logged(&other.as_path().into()), (3, Vec::new()));
    assert_eq!(append(&mut log, &[15]), [4]);
    assert_eq!(logged(&other.as_path().into()), (3, rows(&[(4, "15")])));
    assert_eq!(findings(&other.as_path().into()), 0);
}

#[test]
fn a_reader_sees_the_batches_of_a_replaced_log() {
    let fresh = fresh();
    append(&mut fresh.store.ingest_log().unwrap(), &[11]);
    let mut reader = fresh.store.reader().unwrap();
    assert_eq!(reader.view().ingest_newest().unwrap(), 1);
    merge_through(&fresh.store, 1);
    remove(fresh.home.path());
    append(&mut fresh.store.ingest_log().unwrap(), &[12]);
    assert_eq!(reader.view().ingest_newest().unwrap(), 2);
    let bodies: Vec<_> =
        reader.view().ingest_batches(0, 9).unwrap().into_iter().map(|batch| batch.body).collect();
    assert_eq!(bodies, [b"12"]);
}

#[test]
fn appending_continues_after_a_failed_comparison_of_the_log() {
    let fresh = fresh();
    let mut log = fresh.store.ingest_log().unwrap();
    append(&mut log, &[11]);
    let candles = Connection::open(fresh.store.path().unwrap()).unwrap();
    candles.execute_batch("alter table counter rename to hidden").unwrap();
    log.append().unwrap_err();
    candles.execute_batch("alter table hidden rename to counter").unwrap();
    assert_eq!(append(&mut log, &[12]), [2]);
}

#[test]
fn a_move_fails_if_a_batch_is_appended_in_the_meantime() {
    for has_log in [true, false] {
        let (fresh, _accounts) = filled();
        if has_log {
            append(&mut fresh.store.ingest_log().unwrap(), &[11]);
        }
        let (from, dir) = (StoreUrl::from(fresh.home.path()), tempfile::tempdir().unwrap());
        let copied = transfer(&from, &StoreUrl::from(dir.path())).unwrap();
        append(&mut fresh.store.ingest_log().unwrap(), &[12]);
        let refused = copied.finish().unwrap_err();
        assert!(matches!(refused, MoveError::Changed { .. }), "{refused:?}");
    }
}

#[test]
fn a_backup_fails_if_a_batch_is_missing() {
    let (fresh, _accounts) = filled();
    let mut log = fresh.store.ingest_log().unwrap();
    append(&mut log, &[11, 12]);
    let damaging = log.append().unwrap();
    damaging.put(200, b"13").unwrap();
    damaging.forget_batches(1).unwrap();
    damaging.commit().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let refused = backup(fresh.home.path(), &dir.path().join("one")).unwrap_err();
    assert!(refused.to_string().contains("ingest.db is damaged"), "{refused}");
    merge_through(&fresh.store, 3);
    backup(fresh.home.path(), &dir.path().join("two")).unwrap();
}

#[test]
fn a_check_includes_the_log() {
    let (fresh, _accounts) = filled();
    append(&mut fresh.store.ingest_log().unwrap(), &[11, 12]);
    let place = StoreUrl::from(fresh.home.path());
    assert_eq!(findings(&place), 0);
    let log = Connection::open(file(fresh.home.path())).unwrap();
    log.execute_batch("delete from ingest_batch where id = 1").unwrap();
    drop(log);
    let found = || fresh.store.checker().unwrap().check_tables(Depth::Full).unwrap();
    assert!(matches!(&found()[..], [Finding::IngestLog(_)]), "{:?}", found());
    remove(fresh.home.path());
    fs::write(file(fresh.home.path()), [7; 8_192]).unwrap();
    assert!(matches!(&found()[..], [Finding::IngestLog(_)]), "{:?}", found());
}
