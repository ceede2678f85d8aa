use market::Timestamp;
use store::{
    Batch, ImportChange, ImportId, ImportProgress, ImportRecord, ImportState, NewImport, QUARANTINE_TEXT_MAX,
    QuarantineOf, QuarantineRow, Series,
};

use crate::fixture::{NOW, block, fresh, minutes, symbol};

const LATER: Timestamp = Timestamp(NOW.0 + 60);

fn file(name: &str, content: u8, options: &str) -> NewImport {
    NewImport {
        file: name.to_owned(),
        digest: [content; 32],
        bytes: 5_000_000_000,
        kind: "candles".to_owned(),
        options: options.to_owned(),
        started_at: NOW,
    }
}

fn progress(state: ImportState, rows: u64) -> ImportProgress {
    ImportProgress {
        state,
        rows_read: rows + 1,
        rows_done: rows,
        added: rows + 2,
        replaced: rows + 3,
        unchanged: rows + 4,
        quarantined: rows + 5,
        message: Some(format!("{rows} rows")),
    }
}

fn row(import_id: ImportId, line: u64, symbol: Option<&str>) -> QuarantineRow {
    let (text, reason) = (format!("row {line}"), "high is below low".to_owned());
    QuarantineRow { import_id, line, symbol: symbol.map(str::to_owned), text, reason }
}

#[test]
fn an_import_record_is_updated_until_the_import_ends() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let id = batch.start_import(&file("a.csv", 1, "tz=HK")).unwrap();
    let started = ImportRecord {
        id,
        file: "a.csv".to_owned(),
        digest: [1; 32],
        bytes: 5_000_000_000,
        kind: "candles".to_owned(),
        options: "tz=HK".to_owned(),
        state: ImportState::Running,
        started_at: NOW,
        finished_at: None,
        rows_read: 0,
        rows_done: 0,
        added: 0,
        replaced: 0,
        unchanged: 0,
        quarantined: 0,
        message: None,
    };
    assert_eq!(batch.import(id).unwrap(), Some(started.clone()));
    batch.checkpoint_import(id, &progress(ImportState::Running, 10), LATER).unwrap();
    let running = batch.import(id).unwrap().unwrap();
    assert_eq!((running.state, running.finished_at, running.rows_done), (ImportState::Running, None, 10));
    batch.checkpoint_import(id, &progress(ImportState::Done, 20), LATER).unwrap();
    batch.commit().unwrap();
    let done = ImportRecord {
        state: ImportState::Done,
        finished_at: Some(LATER),
        rows_read: 21,
        rows_done: 20,
        added: 22,
        replaced: 23,
        unchanged: 24,
        quarantined: 25,
        message: Some("20 rows".to_owned()),
        ..started
    };
    assert_eq!(fresh.store.reader().unwrap().snapshot().unwrap().imports().unwrap(), [done]);
}

#[test]
fn the_last_import_of_a_file_with_the_same_options_is_found() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let first = batch.start_import(&file("a.csv", 1, "x")).unwrap();
    let second = batch.start_import(&file("renamed.csv", 1, "x")).unwrap();
    let other = batch.start_import(&file("a.csv", 1, "y")).unwrap();
    batch.start_import(&file("b.csv", 2, "x")).unwrap();
    batch.checkpoint_import(first, &progress(ImportState::Done, 9), LATER).unwrap();
    let find = |content: u8, options: &str| {
        batch.find_import(&[content; 32], options).unwrap().map(|found| found.id)
    };
    assert_eq!(find(1, "x"), Some(second));
    assert_eq!(find(1, "y"), Some(other));
    assert_eq!(find(1, "z"), None);
    assert_eq!(find(3, "x"), None);
}

#[test]
fn the_next_writer_marks_a_dead_import_as_interrupted() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let states = [ImportState::Running, ImportState::Done, ImportState::Failed, ImportState::Interrupted];
    for (state, content) in states.into_iter().zip(0..) {
        let id = batch.start_import(&file("a.csv", content, "")).unwrap();
        batch.checkpoint_import(id, &progress(state, 7), LATER).unwrap();
    }
    batch.commit().unwrap();
    let seen = || -> Vec<ImportState> {
        let mut reader = fresh.store.reader().unwrap();
        let imports = reader.snapshot().unwrap().imports().unwrap();
        imports.into_iter().map(|record| record.state).collect()
    };
    drop(writer);
    assert_eq!(seen(), states, "a reader judges nobody");
    let mut writer = fresh.store.writer().unwrap();
    let expected =
        [ImportState::Interrupted, ImportState::Done, ImportState::Failed, ImportState::Interrupted];
    assert_eq!(seen(), expected);
    let dead = writer.begin().unwrap().find_import(&[0; 32], "").unwrap().unwrap();
    assert_eq!((dead.rows_done, dead.finished_at), (7, None), "the checkpoint is where to go on");
}

#[test]
fn progress_of_an_unknown_import_is_refused() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.checkpoint_import(ImportId(5), &progress(ImportState::Done, 1), LATER).unwrap_err();
    let mut batch = {
        drop(batch);
        writer.begin().unwrap()
    };
    batch.add_quarantine(&[row(ImportId(5), 1, None)]).unwrap_err();
}

#[test]
fn ranges_of_one_import_are_merged() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let first = batch.start_import(&file("a.csv", 1, "")).unwrap();
    let second = batch.start_import(&file("b.csv", 2, "")).unwrap();
    let series = minutes("700.HK");
    let extended: Series = "700.HK/1m+ext".parse().unwrap();
    let mut add = |id: ImportId, series: &Series, rows: u64, first: i64, last: i64| {
        batch.add_import_series(id, series, rows, Timestamp(first), Timestamp(last)).unwrap();
    };
    add(second, &series, 1, 5, 5);
    add(first, &series, 10, 100, 200);
    add(first, &series, 20, 50, 150);
    add(first, &series, 30, 120, 300);
    add(first, &extended, 7, 1, 2);
    add(first, &minutes("5.HK"), 1_000, 1, 9);
    let sources: Vec<(String, String, u64, i64, i64)> = batch
        .import_sources(&symbol("700.HK"))
        .unwrap()
        .into_iter()
        .map(|source| {
            (source.import.file, source.series.to_string(), source.rows, source.first.0, source.last.0)
        })
        .collect();
    let expected = [
        ("a.csv", "700.HK/1m+ext", 7, 1, 2),
        ("a.csv", "700.HK/1m", 60, 50, 300),
        ("b.csv", "700.HK/1m", 1, 5, 5),
    ];
    let expected = expected
        .map(|(file, series, rows, first, last)| (file.to_owned(), series.to_owned(), rows, first, last));
    assert_eq!(sources, expected);
}

#[test]
fn quarantined_rows_are_listed_by_import_and_by_symbol() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let first = batch.start_import(&file("a.csv", 1, "")).unwrap();
    let second = batch.start_import(&file("b.csv", 2, "")).unwrap();
    batch.add_quarantine(&[]).unwrap();
    batch.add_quarantine(&[row(first, 9, Some("700.HK")), row(first, 3, None)]).unwrap();
    batch.add_quarantine(&[row(second, 1, Some("700.HK")), row(second, 2, Some("nonsense"))]).unwrap();
    batch.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let check = |of: QuarantineOf<'_>, expected: &[(&str, u64)]| {
        let found = snapshot.quarantine(of, 100).unwrap();
        let found: Vec<(&str, u64)> =
            found.iter().map(|entry| (entry.file.as_str(), entry.row.line)).collect();
        assert_eq!(found, expected, "{of:?}");
        assert_eq!(snapshot.quarantine_count(of).unwrap(), expected.len() as u64, "{of:?}");
        assert_eq!(snapshot.quarantine(of, 1).unwrap().len(), expected.len().min(1), "{of:?}");
    };
    check(QuarantineOf::All, &[("a.csv", 9), ("a.csv", 3), ("b.csv", 1), ("b.csv", 2)]);
    check(QuarantineOf::Import(first), &[("a.csv", 9), ("a.csv", 3)]);
    check(QuarantineOf::Symbol("700.HK"), &[("a.csv", 9), ("b.csv", 1)]);
    check(QuarantineOf::Symbol("5.HK"), &[]);
    let entry = snapshot.quarantine(QuarantineOf::All, 1).unwrap().remove(0);
    assert_eq!(entry.row, row(first, 9, Some("700.HK")));
}

#[test]
fn long_external_texts_are_truncated() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let id = batch.start_import(&file("a.csv", 1, "")).unwrap();
    let long = "騰".repeat(QUARANTINE_TEXT_MAX + 1);
    let exact = "騰".repeat(QUARANTINE_TEXT_MAX);
    let given =
        QuarantineRow { text: long.clone(), reason: long.clone(), symbol: Some(long), ..row(id, 1, None) };
    batch.add_quarantine(&[given]).unwrap();
    let stored = cut(&batch);
    assert_eq!(
        stored,
        QuarantineRow { text: exact.clone(), reason: exact.clone(), symbol: Some(exact), ..row(id, 1, None) }
    );
}

#[test]
fn a_quarantined_row_may_contain_a_nul() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let id = batch.start_import(&file("a.csv", 1, "")).unwrap();
    batch.add_quarantine(&[QuarantineRow { text: "7\0,1".to_owned(), ..row(id, 1, None) }]).unwrap();
    assert_eq!(cut(&batch).text, "7\u{fffd},1");
}

fn cut(batch: &Batch<'_>) -> QuarantineRow {
    batch.quarantine(QuarantineOf::All, 1).unwrap().remove(0).row
}

#[test]
fn the_last_import_is_the_most_recently_started() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    assert_eq!(batch.last_import().unwrap(), None);
    let first = batch.start_import(&file("a.csv", 1, "")).unwrap();
    let second = batch.start_import(&file("b.csv", 2, "")).unwrap();
    batch.checkpoint_import(first, &progress(ImportState::Done, 1), LATER).unwrap();
    batch.commit().unwrap();
    let last = fresh.store.reader().unwrap().view().last_import().unwrap().unwrap();
    assert_eq!((last.id, last.file.as_str(), last.state), (second, "b.csv", ImportState::Running));
}

#[test]
fn the_ledger_and_the_quarantine_are_paged() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let ids: Vec<ImportId> =
        (1..=3).map(|number| batch.start_import(&file("a.csv", number, "")).unwrap()).collect();
    batch.add_quarantine(&[row(ids[0], 7, Some("700.HK")), row(ids[1], 2, Some("5.HK"))]).unwrap();
    batch.add_quarantine(&[row(ids[0], 8, Some("5.HK")), row(ids[0], 9, None)]).unwrap();
    batch.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let imports = |before: Option<ImportId>, limit: u32| -> Vec<ImportId> {
        snapshot.imports_before(before, limit).unwrap().into_iter().map(|record| record.id).collect()
    };
    assert_eq!(imports(None, 2), [ids[2], ids[1]]);
    assert_eq!(imports(Some(ids[1]), 2), [ids[0]]);
    assert!(imports(Some(ids[0]), 2).is_empty());
    for (of, lines) in [
        (QuarantineOf::All, vec![7, 2, 8, 9]),
        (QuarantineOf::Import(ids[0]), vec![7, 8, 9]),
        (QuarantineOf::Symbol("5.HK"), vec![2, 8]),
    ] {
        let (mut after, mut seen) = (0, Vec::new());
        while let [(place, entry)] = snapshot.quarantine_after(of, after, 1).unwrap().as_slice() {
            after = *place;
            seen.push(entry.row.line);
        }
        assert_eq!(seen, lines, "{of:?}");
    }
}

#[test]
fn import_changes_are_stored_in_order_until_they_are_undone() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let first = batch.start_import(&file("a.csv", 1, "")).unwrap();
    let second = batch.start_import(&file("b.csv", 2, "")).unwrap();
    let change = |import, from: i64, until: i64| ImportChange {
        import,
        series: minutes("700.HK"),
        first: Timestamp(from),
        last: Timestamp(until),
        added: vec![1, 2, 3],
        replaced: vec![from as u8],
    };
    let (a, b, c) = (change(first, 0, 9), change(first, 20, 29), change(second, 29, 40));
    for change in [&a, &b, &c] {
        batch.add_import_change(change).unwrap();
    }
    assert_eq!(batch.import_changes(first).unwrap(), [b.clone(), a.clone()]);
    let since =
        |batch: &Batch<'_>, change: &ImportChange| batch.changed_since(change).unwrap().map(|by| by.id);
    assert_eq!((since(&batch, &a), since(&batch, &b), since(&batch, &c)), (None, Some(second), None));
    batch.undo_import(second, "undone").unwrap();
    assert_eq!(since(&batch, &b), None);
    let record = batch.import(second).unwrap().unwrap();
    assert_eq!((record.state, record.message.as_deref()), (ImportState::Undone, Some("undone")));
    batch.commit().unwrap();
    drop(writer);
    let mut reader = fresh.store.reader().unwrap();
    assert_eq!(reader.snapshot().unwrap().import_changes(first).unwrap(), [b, a]);
    assert_eq!(reader.check_tables(store::Depth::Full).unwrap(), []);
}

#[test]
fn a_symbol_is_removed_with_all_references() {
    let fresh = fresh();
    let (series, day) = (minutes("700.HK"), market::Date::constant(2024, 1, 2));
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let id = batch.start_import(&file("a.csv", 1, "")).unwrap();
    batch.replace_blocks(&series, &[], &[block(1, 2), block(3, 4)]).unwrap();
    batch.add_import_series(id, &series, 2, Timestamp(1), Timestamp(4)).unwrap();
    batch.replace_trades(&series.symbol, day, 0, &[block(1, 2)]).unwrap();
    batch.add_import_trades(id, &series.symbol, 1, Timestamp(1), Timestamp(2)).unwrap();
    batch.commit().unwrap();
    let mut batch = writer.begin().unwrap();
    // The security has candles, so the call does not remove it.
    batch.remove_bare_security(&series.symbol).unwrap();
    assert!(batch.security(&series.symbol).unwrap().is_some());
    batch.remove_series(&series).unwrap();
    batch.remove_trades(&series.symbol).unwrap();
    batch.remove_bare_security(&series.symbol).unwrap();
    assert!(batch.security(&series.symbol).unwrap().is_none());
    batch.commit().unwrap();
    drop(writer);
    let mut reader = fresh.store.reader().unwrap();
    assert_eq!(reader.check_tables(store::Depth::Full).unwrap(), []);
    assert_eq!(reader.snapshot().unwrap().all_series().unwrap(), []);
}

#[test]
fn a_security_that_has_candles_is_not_removed() {
    let fresh = fresh();
    let series = minutes("700.HK");
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_blocks(&series, &[], &[block(1, 2)]).unwrap();
    batch.remove_security(&series.symbol).unwrap_err();
}
