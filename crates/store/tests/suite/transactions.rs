use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use store::{Access, ImportState, NewImport, Security, Store, StoreError, StoreUrl};

use crate::fixture::{HELD_ON, NOW, block, fresh, minutes, put, spans, symbol};

#[test]
fn a_dropped_batch_changes_nothing() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.put_security(&Security::new(symbol("5.HK"))).unwrap();
    let entries = batch.replace_blocks(&minutes("700.HK"), &[], &[block(1, 2)]).unwrap();
    assert_eq!(
        batch.blocks(&minutes("700.HK"), None, None).unwrap(),
        entries,
        "a batch sees its own changes"
    );
    drop(batch);
    let batch = writer.begin().unwrap();
    assert_eq!(batch.securities().unwrap(), []);
    assert_eq!(batch.all_series().unwrap(), []);
    assert_eq!(batch.version().unwrap(), 0);
    batch.block(&entries[0], &mut Vec::new()).unwrap_err();
}

#[test]
fn a_batch_with_a_failed_change_cannot_be_committed() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let series = minutes("700.HK");
    // The first block is already written when the second block is refused.
    batch.replace_blocks(&series, &[], &[block(1, 5), block(5, 9)]).unwrap_err();
    assert!(matches!(batch.commit(), Err(StoreError::Unfit { .. })));
    assert_eq!(writer.begin().unwrap().blocks(&series, None, None).unwrap(), []);
}

#[test]
fn readers_do_not_see_an_open_batch() {
    let fresh = fresh();
    let series = minutes("700.HK");
    put(&fresh.store, &series, &[], &[block(1, 2)]);
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_blocks(&series, &[], &[block(3, 4)]).unwrap();
    let mut reader = fresh.store.reader().unwrap();
    let see =
        |reader: &mut store::Reader| spans(&reader.snapshot().unwrap().blocks(&series, None, None).unwrap());
    assert_eq!(see(&mut reader), "1..=2");
    batch.commit().unwrap();
    assert_eq!(see(&mut reader), "1..=2 3..=4");
}

#[test]
fn a_snapshot_does_not_see_later_commits() {
    let fresh = fresh();
    let series = minutes("700.HK");
    let old = put(&fresh.store, &series, &[], &[block(1, 2)]);
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.blocks(&series, None, None).unwrap(), old);
    put(&fresh.store, &series, &[old[0].id], &[block(1, 3)]);
    assert_eq!(snapshot.blocks(&series, None, None).unwrap(), old);
    let mut bytes = Vec::new();
    snapshot.block(&old[0], &mut bytes).unwrap();
    assert_eq!(bytes, b"1..=2");
    drop(snapshot);
    assert_eq!(spans(&reader.snapshot().unwrap().blocks(&series, None, None).unwrap()), "1..=3");
}

#[test]
fn only_one_writer_exists_at_a_time() {
    let fresh = fresh();
    let writer = fresh.store.writer().unwrap();
    let busy = fresh.store.clone().writer().unwrap_err();
    let pid = std::process::id();
    assert!(matches!(busy, StoreError::Busy { pid: Some(found), .. } if found == pid), "{busy:?}");
    let message = busy.to_string();
    assert!(message.starts_with("another import is writing to the store at "), "{message}");
    assert!(message.contains(&format!("(process {pid})")), "{message}");
    fresh.store.reader().unwrap().snapshot().unwrap().all_series().unwrap();
    drop(writer);
    fresh.store.writer().unwrap();
}

/// Environment variable with the store's location, for the process that is killed.
const DOOMED_PLACE: &str = "STORE_TEST_DOOMED_PLACE";

#[test]
fn a_killed_writer_leaves_no_partial_batch_and_no_lock() {
    let fresh = fresh();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "transactions::doomed_writer", "--ignored", "--nocapture"])
        .env(DOOMED_PLACE, fresh.home.text())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap().contains("half done")));
    let busy = fresh.store.writer().unwrap_err();
    assert!(matches!(busy, StoreError::Busy { pid: Some(pid), .. } if pid == child.id()), "{busy:?}");
    child.kill().unwrap();
    child.wait().unwrap();

    let mut writer = once_it_is_let_go(|| fresh.store.writer());
    let batch = writer.begin().unwrap();
    assert_eq!(spans(&batch.blocks(&minutes("700.HK"), None, None).unwrap()), "1..=2");
    let states: Vec<ImportState> = batch.imports().unwrap().into_iter().map(|record| record.state).collect();
    assert_eq!(states, [ImportState::Interrupted]);
    drop(batch);
    drop(writer);
    assert_eq!(fresh.store.reader().unwrap().check(store::Depth::Full, |_, _, _| None).unwrap(), []);
}

/// Retries until the lock of a killed process is released, which may take until its lease expires.
fn once_it_is_let_go<T>(take: impl Fn() -> Result<T, StoreError>) -> T {
    let killed = Instant::now();
    loop {
        match take() {
            Err(StoreError::Busy { .. }) if killed.elapsed() < HELD_ON => {
                std::thread::sleep(Duration::from_millis(50));
            }
            other => return other.unwrap(),
        }
    }
}

#[test]
#[ignore = "not a test: the process that the test above starts and kills"]
fn doomed_writer() {
    let place: StoreUrl = std::env::var(DOOMED_PLACE).unwrap().parse().unwrap();
    let store = Store::open(&place, Access::Write { now: NOW }).unwrap();
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let import = NewImport {
        file: "a.csv".to_owned(),
        digest: [0; 32],
        bytes: 1,
        kind: "candles".to_owned(),
        options: String::new(),
        started_at: NOW,
    };
    batch.start_import(&import).unwrap();
    batch.replace_blocks(&minutes("700.HK"), &[], &[block(1, 2)]).unwrap();
    batch.commit().unwrap();
    let mut batch = writer.begin().unwrap();
    // The blocks exceed the page cache, so that a part of them is in the WAL at the time of the
    // kill.
    let large = store::NewBlock { bytes: vec![7; 15 << 20], ..block(3, 4) };
    let second = store::NewBlock { first: market::Timestamp(5), last: market::Timestamp(6), ..large.clone() };
    batch.replace_blocks(&minutes("700.HK"), &[], &[large, second]).unwrap();
    println!("half done");
    // Waits until the parent process kills this process or ends.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
