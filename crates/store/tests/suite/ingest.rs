use market::Timestamp;
use store::{BlockEntry, INGEST_ANSWERS_KEPT, Lane, PartialMinute, StoreError, TailChange};

use crate::fixture::{Fresh, block, fresh, minutes, put, symbol};

/// Appends a batch with this body. Returns its id.
fn append(fresh: &Fresh, body: &[u8], commit_us: i64) -> i64 {
    let mut log = fresh.store.ingest_log().unwrap();
    let append = log.append().unwrap();
    let push_from = append.reserve_pushes(commit_us, 8).unwrap();
    append.put(push_from, body).unwrap();
    let id = append.id();
    append.commit().unwrap();
    id
}

#[test]
fn batches_are_read_in_the_order_of_their_commits() {
    let fresh = fresh();
    assert_eq!([b"a", b"b", b"c"].map(|body| append(&fresh, body, 100)), [1, 2, 3]);
    let mut reader = fresh.store.reader().unwrap();
    let batches = reader.view().ingest_batches(1, 3).unwrap();
    assert_eq!(batches.iter().map(|batch| batch.body.as_slice()).collect::<Vec<_>>(), [b"b", b"c"]);
    assert_eq!(reader.view().ingest_newest().unwrap(), 3);
    // Push numbers begin with the time of the commit, and are unique.
    let all = reader.view().ingest_batches(0, 9).unwrap();
    assert_eq!(all.iter().map(|batch| batch.push_from).collect::<Vec<_>>(), [100, 108, 116]);
    append(&fresh, b"d", 1_000);
    append(&fresh, b"e", 50);
    let last = reader.view().ingest_batches(3, 9).unwrap();
    assert_eq!(last.iter().map(|batch| batch.push_from).collect::<Vec<_>>(), [1_000, 1_008]);
}

#[test]
fn an_abandoned_batch_is_not_stored() {
    let fresh = fresh();
    let mut log = fresh.store.ingest_log().unwrap();
    let abandoned = log.append().unwrap();
    abandoned.put(1, b"x").unwrap();
    abandoned.put_answer("feed", 7, "{}").unwrap();
    drop(abandoned);
    let append = log.append().unwrap();
    assert_eq!((append.id(), append.last_seq("feed").unwrap()), (1, None));
    assert!(append.batches_after(0).unwrap().is_empty());
}

#[test]
fn the_last_responses_to_a_source_are_stored() {
    let fresh = fresh();
    let mut log = fresh.store.ingest_log().unwrap();
    let append = log.append().unwrap();
    for seq in [1, 2, 2 + INGEST_ANSWERS_KEPT] {
        append.put_answer("feed", seq, &format!("answer {seq}")).unwrap();
    }
    append.put_answer("other", 5, "x").unwrap();
    append.commit().unwrap();
    let append = log.append().unwrap();
    assert_eq!(append.last_seq("feed").unwrap(), Some(2 + INGEST_ANSWERS_KEPT));
    assert_eq!(append.last_seq("other").unwrap(), Some(5));
    let answer = |seq| append.answer("feed", seq).unwrap();
    assert_eq!(answer(1), None);
    assert_eq!(answer(2), None);
    assert_eq!(answer(2 + INGEST_ANSWERS_KEPT).as_deref(), Some("answer 1002"));
}

#[test]
fn trade_ids_are_unique_per_source_symbol_and_day() {
    let fresh = fresh();
    let (apple, tencent) = (symbol("AAPL.US"), symbol("700.HK"));
    let day = "2026-07-15".parse().unwrap();
    let next = "2026-07-16".parse().unwrap();
    let mut log = fresh.store.ingest_log().unwrap();
    let append = log.append().unwrap();
    let ids = [(&apple, day, "7"), (&apple, day, "7"), (&apple, next, "7"), (&tencent, day, "7")];
    assert_eq!(append.add_trades("feed", &ids, 10).unwrap(), [true, false, true, true]);
    assert_eq!(append.add_trades("other", &ids[..1], 10).unwrap(), [true]);
    append.commit().unwrap();
    let append = log.append().unwrap();
    assert!(append.forget_trades(10).unwrap());
    assert_eq!(append.add_trades("feed", &ids, 11).unwrap(), [false; 4]);
    assert!(append.forget_trades(11).unwrap());
    assert_eq!(append.add_trades("feed", &ids, 11).unwrap(), [true, false, true, true]);
}

#[test]
fn trade_ids_are_removed_in_portions() {
    let fresh = fresh();
    let (apple, day) = (symbol("AAPL.US"), "2026-07-15".parse().unwrap());
    let numbers: Vec<String> = (0..10_001).map(|number| number.to_string()).collect();
    let ids: Vec<_> = numbers.iter().map(|id| (&apple, day, id.as_str())).collect();
    let mut log = fresh.store.ingest_log().unwrap();
    let append = log.append().unwrap();
    append.add_trades("feed", &ids, 10).unwrap();
    assert!(!append.forget_trades(11).unwrap());
    let left = append.add_trades("feed", &ids, 11).unwrap();
    assert_eq!(left.iter().filter(|is_new| !**is_new).count(), 1);
    assert!(append.forget_trades(11).unwrap());
    assert_eq!(append.add_trades("feed", &ids, 11).unwrap().iter().filter(|is_new| **is_new).count(), 1);
}

#[test]
fn batches_are_removed_up_to_a_position() {
    let fresh = fresh();
    for commit_us in [100, 200, 300] {
        append(&fresh, b"x", commit_us);
    }
    let mut log = fresh.store.ingest_log().unwrap();
    let mut writer = fresh.store.ingest_writer().unwrap();
    assert!(matches!(writer.begin(), Err(StoreError::Unfit { .. })), "the lock is not held");
    writer.lock().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.ingest_applied_through(1).unwrap();
    batch.commit().unwrap();
    let append = log.append().unwrap();
    append.forget_batches(append.state().unwrap().1).unwrap();
    append.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    let left = reader.view().ingest_batches(0, 9).unwrap();
    assert_eq!(left.iter().map(|batch| batch.id).collect::<Vec<_>>(), [2, 3], "the second is not merged");
    assert_eq!(reader.view().ingest_applied().unwrap(), 1);
    assert_eq!(log.state().unwrap().1, 1);
}

#[test]
fn minutes_are_partial_until_they_are_marked_as_final() {
    let fresh = fresh();
    put(&fresh.store, &minutes("AAPL.US"), &[], &[block(60, 180)]);
    let minute = |at: i64, lane| PartialMinute {
        symbol: symbol("AAPL.US"),
        lane,
        at: Timestamp(at),
        final_at: Timestamp(at + 65),
    };
    let mut writer = fresh.store.ingest_writer().unwrap();
    writer.lock().unwrap();
    let mut batch = writer.begin().unwrap();
    let partial = [minute(60, Lane::Regular), minute(120, Lane::Regular), minute(120, Lane::Extended)];
    batch.put_partial_minutes(&partial).unwrap();
    batch.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    assert_eq!(reader.view().partial_minutes(&symbol("AAPL.US")).unwrap().len(), 3);
    assert_eq!(reader.view().next_final_minute().unwrap(), Some(Timestamp(125)));
    assert_eq!(reader.view().minutes_final_by(Timestamp(125)).unwrap(), [minute(60, Lane::Regular)]);
    let version = reader.version().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.finish_minutes(&[(symbol("AAPL.US"), Lane::Regular, Timestamp(120))]).unwrap();
    batch.commit().unwrap();
    assert_eq!(reader.view().partial_minutes(&symbol("AAPL.US")).unwrap(), [minute(120, Lane::Extended)]);
    assert!(reader.version().unwrap() > version, "accounts wait for final minutes");
}

#[test]
fn an_import_and_a_merge_exclude_each_other() {
    let fresh = fresh();
    let mut merger = fresh.store.ingest_writer().unwrap();
    let importer = fresh.store.writer().unwrap();
    assert!(matches!(merger.lock(), Err(StoreError::Busy { .. })));
    // The log does not wait for the import.
    assert_eq!(append(&fresh, b"x", 1), 1);
    drop(importer);
    merger.lock().unwrap();
    merger.unlock();
    drop(fresh.store.writer().unwrap());
}

#[test]
fn transactions_of_two_mergers_exclude_each_other_and_imports() {
    let fresh = fresh();
    let [mut one, mut other] = [(); 2].map(|()| fresh.store.ingest_writer().unwrap());
    let import = fresh.store.writer().unwrap();
    let busy = |merger: &mut store::IngestWriter| {
        let begun = merger.lock_each_transaction().and_then(|()| merger.begin().map(drop));
        matches!(begun, Err(StoreError::Busy { .. }))
    };
    assert!(busy(&mut one));
    drop(import);
    for through in [1, 2] {
        one.lock_each_transaction().unwrap();
        let mut batch = one.begin().unwrap();
        batch.ingest_applied_through(through).unwrap();
        batch.commit().unwrap();
        one.unlock();
        // Nothing of the lock remains.
        assert!(!busy(&mut other));
        other.unlock();
    }
    assert_eq!(fresh.store.reader().unwrap().view().ingest_applied().unwrap(), 2);
    drop(fresh.store.writer().unwrap());
}

/// Replaces the last blocks of many series, and compares the store with one in which they were
/// replaced individually.
#[test]
fn replacing_blocks_together_equals_replacing_them_one_by_one() {
    let (one, other) = (fresh(), fresh());
    let all: Vec<_> = (0..40).map(|number| minutes(&format!("S{number}.US"))).collect();
    let [old, same] = [&one, &other].map(|fresh| -> Vec<BlockEntry> {
        let mut writer = fresh.store.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        let added = [block(60, 119), block(120, 180)];
        let last = |series| batch.replace_blocks(series, &[], &added).unwrap()[1];
        let last = all.iter().map(last).collect();
        batch.commit().unwrap();
        last
    });
    assert_eq!(old, same);
    let new: Vec<_> = (0..40).map(|number| block(120, 200 + number)).collect();

    let mut writer = one.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let changes = all.iter().zip(&old).zip(&new);
    let changes: Vec<TailChange<'_>> =
        changes.map(|((series, old), new)| TailChange { series, old: *old, new }).collect();
    let entries = batch.replace_tails(&changes).unwrap();
    batch.commit().unwrap();
    let mut importer = other.store.writer().unwrap();
    let mut batch = importer.begin().unwrap();
    for (((series, old), new), entry) in all.iter().zip(&old).zip(&new).zip(&entries) {
        let replaced = batch.replace_blocks(series, &[old.id], std::slice::from_ref(new)).unwrap();
        assert_eq!(replaced, [*entry]);
    }
    batch.commit().unwrap();

    for series in &all {
        let read = |fresh: &Fresh| {
            let mut reader = fresh.store.reader().unwrap();
            let snapshot = reader.snapshot().unwrap();
            let entries = snapshot.blocks(series, None, None).unwrap();
            let mut bytes = Vec::new();
            snapshot.block(&entries[1], &mut bytes).unwrap();
            (snapshot.series(series).unwrap(), entries, bytes)
        };
        assert_eq!(read(&one), read(&other));
    }
    // One of them is no longer the last block, so nothing changes.
    let mut batch = writer.begin().unwrap();
    let fresh_block = block(120, 999);
    let changes: Vec<TailChange<'_>> = [(0, entries[0]), (1, old[1])]
        .map(|(place, old)| TailChange { series: &all[place], old, new: &fresh_block })
        .to_vec();
    batch.replace_tails(&changes).unwrap_err();
    batch.commit().unwrap_err();
    assert_eq!(one.store.reader().unwrap().view().blocks(&all[0], None, None).unwrap()[1], entries[0]);
}

#[test]
fn merges_run_while_an_import_is_paused() {
    let fresh = fresh();
    let mut import = fresh.store.writer().unwrap();
    let mut merges = fresh.store.ingest_writer().unwrap();
    assert!(matches!(merges.lock(), Err(StoreError::Busy { .. })));
    assert!(!import.has_ingest().unwrap());
    append(&fresh, b"x", 100);
    assert!(import.has_ingest().unwrap());
    import.pause();
    merges.lock().unwrap();
    assert!(matches!(fresh.store.writer(), Err(StoreError::Busy { .. })), "another import is excluded");
    let mut batch = merges.begin().unwrap();
    batch.ingest_applied_through(1).unwrap();
    batch.commit().unwrap();
    merges.unlock();
    let batch = import.begin().unwrap();
    assert_eq!(batch.ingest_applied().unwrap(), 1);
    assert!(matches!(merges.lock(), Err(StoreError::Busy { .. })));
    batch.commit().unwrap();
    assert!(matches!(merges.lock(), Err(StoreError::Busy { .. })), "the import is not paused");
    drop(import);
    merges.lock().unwrap();
}
