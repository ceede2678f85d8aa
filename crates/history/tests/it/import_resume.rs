//! An import that was stopped, or whose process died, resumes after its last checkpoint.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use history::import::{Context, Options, Outcome, Progress, Report, Sizes, import_sized};
use market::{Grain, Market, Timestamp};
use store::{ImportProgress, ImportState, Lane, NewBlock, NewImport, Series};

use crate::common::{Shop, minutes, symbol, venues};

/// Enough rows for many reader batches, so that a stop during the second commit is before the last
/// batch.
const ROWS: u64 = 110_001;
const SMALL: Sizes = Sizes { flush_rows: 5_000, block_rows: 500 };

/// Returns a file with one-minute candles of two symbols and invalid rows: bad prices, bad stamps,
/// and a duplicate at the end.
fn content() -> String {
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    let times = minutes(Market::Hk, "2023-01-03", "2024-07-31").time;
    for (row, time) in times.iter().take(ROWS as usize - 1).enumerate() {
        // Symbols alternate in runs of four minutes. With every third minute, the file would be
        // detected as 3-minute candles.
        let name = if row / 4 % 3 == 0 { "5.HK" } else { "700.HK" };
        let (time, low) = if row % 7_001 == 7_000 {
            (time + 30, 9)
        } else {
            (*time, if row % 5_003 == 5_002 { 11 } else { 9 })
        };
        text += &format!("{name},{time},10,12,{low},10,{row}\n");
    }
    text += &format!("5.HK,{},10,12,9,11,77\n", times[0]);
    text
}

/// Imports a file and stops after `commits` commits: the clock is read once per commit, and sets
/// the stop flag.
fn import_until(shop: &Shop, path: &std::path::Path, commits: u64) -> Report {
    let (stop, options, progress) = (AtomicBool::new(false), Options::default(), Progress::default());
    let seen = std::sync::atomic::AtomicU64::new(0);
    let now = || {
        if seen.fetch_add(1, Ordering::SeqCst) + 1 >= commits {
            stop.store(true, Ordering::SeqCst);
        }
        Timestamp(1_800_000_000)
    };
    let context = Context {
        store: &shop.store,
        venues: venues(),
        options: &options,
        now: &now,
        stop: &stop,
        progress: &progress,
    };
    import_sized(&context, &[path.to_owned()], SMALL).unwrap().remove(0)
}

fn uninterrupted() -> &'static Shop {
    static SHOP: OnceLock<Shop> = OnceLock::new();
    SHOP.get_or_init(|| {
        let shop = Shop::new();
        let file = shop.file("a.csv", content());
        let report = shop.import_with(&[file], &Options::default(), SMALL, &AtomicBool::new(false)).remove(0);
        assert_eq!(report.outcome, Outcome::Imported);
        assert_eq!((report.rows, report.quarantined), (ROWS, ROWS / 7_001 + ROWS / 5_003 + 1));
        shop
    })
}

fn check_same(shop: &Shop, whole: &Shop) {
    assert!(shop.content() == whole.content(), "the stored candles differ");
    assert_eq!(shop.quarantine(), whole.quarantine());
    assert_eq!(shop.ledger(), whole.ledger());
}

#[test]
fn a_resumed_import_equals_an_uninterrupted_one() {
    let whole = uninterrupted();
    for commits in [1, 2] {
        let shop = Shop::new();
        let file = shop.file("a.csv", content());
        let first = import_until(&shop, &file, commits);
        assert_eq!(first.outcome, Outcome::Interrupted);
        let stopped = shop.imports().remove(0);
        assert_eq!(stopped.state, ImportState::Interrupted);
        assert!(stopped.rows_done > 0 && stopped.rows_done < ROWS, "{stopped:?}");
        assert_eq!(stopped.added + stopped.quarantined, stopped.rows_done);
        let second = shop.import_with(&[file], &Options::default(), SMALL, &AtomicBool::new(false)).remove(0);
        assert_eq!((second.outcome, second.resumed_at), (Outcome::Imported, stopped.rows_done));
        // A report covers one run; the ledger covers all runs of the file.
        assert_eq!(second.added + second.quarantined, second.rows - second.resumed_at);
        check_same(&shop, whole);
    }
}

#[test]
fn a_stop_while_skipping_rows_keeps_the_checkpoint() {
    let shop = Shop::new();
    let file = shop.file("a.csv", content());
    import_until(&shop, &file, 2);
    let done = shop.imports()[0].rows_done;
    let report = shop
        .import_with(std::slice::from_ref(&file), &Options::default(), SMALL, &AtomicBool::new(true))
        .remove(0);
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert!(shop.imports()[0].rows_done >= done);
    shop.import_with(&[file], &Options::default(), SMALL, &AtomicBool::new(false));
    check_same(&shop, uninterrupted());
}

#[test]
fn an_import_is_resumed_after_a_crash() {
    let shop = Shop::new();
    let file = shop.file("a.csv", content());
    import_until(&shop, &file, 1);
    let stopped = shop.imports().remove(0);
    // A killed process leaves its ledger entry in the state `Running`.
    let mut writer = shop.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let progress = ImportProgress {
        state: ImportState::Running,
        rows_read: stopped.rows_read,
        rows_done: stopped.rows_done,
        added: stopped.added,
        replaced: stopped.replaced,
        unchanged: stopped.unchanged,
        quarantined: stopped.quarantined,
        message: None,
    };
    batch.checkpoint_import(stopped.id, &progress, Timestamp(0)).unwrap();
    batch.commit().unwrap();
    drop(writer);
    let report = shop.import_with(&[file], &Options::default(), SMALL, &AtomicBool::new(false)).remove(0);
    assert_eq!(report.resumed_at, stopped.rows_done);
    check_same(&shop, uninterrupted());
}

#[test]
fn a_checkpoint_may_be_within_a_batch() {
    let shop = Shop::new();
    let file = shop.file("a.csv", content());
    // The entry states that the first 12,345 rows are done, although none is stored: only later
    // rows may be imported.
    let bytes = std::fs::read(&file).unwrap();
    import_until(&shop, &file, 1);
    let entry = shop.imports().remove(0);
    let other = Shop::new();
    let file = other.file("a.csv", &bytes);
    let mut writer = other.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let new = NewImport {
        file: "a.csv".to_owned(),
        digest: entry.digest,
        bytes: entry.bytes,
        kind: entry.kind,
        options: entry.options,
        started_at: Timestamp(0),
    };
    let id = batch.start_import(&new).unwrap();
    let progress = ImportProgress {
        state: ImportState::Running,
        rows_read: 12_345,
        rows_done: 12_345,
        added: 0,
        replaced: 0,
        unchanged: 0,
        quarantined: 0,
        message: None,
    };
    batch.checkpoint_import(id, &progress, Timestamp(0)).unwrap();
    batch.commit().unwrap();
    drop(writer);
    let report = other.import_with(&[file], &Options::default(), SMALL, &AtomicBool::new(false)).remove(0);
    assert_eq!((report.resumed_at, report.rows), (12_345, ROWS));
    assert_eq!(report.added + report.quarantined, ROWS - 12_345);
    // The duplicate of the first row is still detected.
    assert_eq!(
        other.quarantine().last().map(String::as_str),
        Some("110002: duplicate timestamp in the file")
    );
}

#[test]
fn a_failing_store_ends_the_import_without_hanging() {
    let shop = Shop::new();
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    let times = minutes(Market::Hk, "2023-01-03", "2023-06-30").time;
    for time in times.iter().take(30_000) {
        text += &format!("5.HK,{time},10,12,9,10,1\n");
    }
    let file = shop.file("a.csv", text);
    let (first, last) = (Timestamp(times[0]), Timestamp(times[99]));
    let damaged = NewBlock { first, last, rows: 100, bytes: b"no block".to_vec() };
    let series = Series { symbol: symbol("5.HK"), grain: Grain::Minute, lane: Lane::Regular };
    let mut writer = shop.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.ensure_security(&series.symbol).unwrap();
    batch.replace_blocks(&series, &[], &[damaged]).unwrap();
    batch.commit().unwrap();
    drop(writer);
    let (stop, options, progress) = (AtomicBool::new(false), Options::default(), Progress::default());
    let now = || Timestamp(0);
    let context = Context {
        store: &shop.store,
        venues: venues(),
        options: &options,
        now: &now,
        stop: &stop,
        progress: &progress,
    };
    // The committer fails on the first flush, while the gatherer waits to send the next.
    let error = import_sized(&context, &[file.clone(), file], SMALL).unwrap_err();
    assert!(error.to_string().starts_with("stored block of 5.HK/1m at"), "{error}");
    assert!(shop.imports().is_empty());
}
