use market::{Grain, Timestamp};
use store::{BLOCK_BYTES_MAX, BlockEntry, Lane, NewBlock, Series, StoreError, Tail, Totals, View};

use crate::fixture::{block, fresh, minutes, put, spans, symbol};

/// Returns blocks of ten rows each: 10..=19, 20..=29, a gap, 40..=49, 50..=59.
fn directory() -> [NewBlock; 4] {
    [block(10, 19), block(20, 29), block(40, 49), block(50, 59)]
}

/// Runs queries against the blocks of [`directory`] and compares the results with the expected
/// spans.
fn check<T>(
    ask: impl Fn(&View, &Series, T) -> Vec<BlockEntry>,
    table: impl IntoIterator<Item = (T, &'static str)>,
) where
    T: Copy + std::fmt::Debug,
{
    let fresh = fresh();
    let series = minutes("700.HK");
    put(&fresh.store, &series, &[], &directory());
    // Adjacent series detect a scan past the end of the series.
    put(&fresh.store, &minutes("699.HK"), &[], &[block(0, 100)]);
    put(&fresh.store, &Series { lane: Lane::Extended, ..series.clone() }, &[], &[block(0, 100)]);
    put(&fresh.store, &Series { grain: Grain::Minute15, ..series.clone() }, &[], &[block(0, 100)]);
    put(&fresh.store, &minutes("701.HK"), &[], &[block(0, 100)]);
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    for (question, expected) in table {
        assert_eq!(spans(&ask(&snapshot, &series, question)), expected, "{question:?}");
    }
}

#[test]
fn a_window_finds_the_blocks_it_overlaps() {
    let ask = |view: &View, series: &Series, (from, until): (Option<i64>, Option<i64>)| {
        view.blocks(series, from.map(Timestamp), until.map(Timestamp)).unwrap()
    };
    check(
        ask,
        [
            ((None, None), "10..=19 20..=29 40..=49 50..=59"),
            ((Some(10), Some(60)), "10..=19 20..=29 40..=49 50..=59"),
            ((Some(15), Some(16)), "10..=19"),
            // The window's end is exclusive, whereas a block's last timestamp is inclusive.
            ((Some(19), Some(20)), "10..=19"),
            ((Some(19), Some(21)), "10..=19 20..=29"),
            ((Some(20), Some(40)), "20..=29"),
            ((Some(0), Some(10)), ""),
            ((Some(0), Some(11)), "10..=19"),
            ((Some(30), Some(40)), ""),
            ((Some(35), Some(41)), "40..=49"),
            ((Some(60), Some(1_000)), ""),
            ((Some(59), None), "50..=59"),
            ((Some(30), None), "40..=49 50..=59"),
            ((Some(0), None), "10..=19 20..=29 40..=49 50..=59"),
            ((Some(60), None), ""),
            ((None, Some(20)), "10..=19"),
            ((None, Some(10)), ""),
            ((None, Some(1_000)), "10..=19 20..=29 40..=49 50..=59"),
            ((Some(50), Some(50)), ""),
            ((Some(55), Some(15)), ""),
            ((Some(i64::MIN), Some(i64::MAX)), "10..=19 20..=29 40..=49 50..=59"),
        ],
    );
}

#[test]
fn a_backward_scan_counts_only_rows_of_earlier_blocks() {
    let ask = |view: &View, series: &Series, (until, rows): (i64, usize)| {
        view.blocks_back(series, Timestamp(until), rows).unwrap()
    };
    check(
        ask,
        [
            ((60, 1), "50..=59"),
            ((60, 10), "50..=59"),
            ((60, 11), "40..=49 50..=59"),
            // A block that spans the point is returned in addition to the wanted rows.
            ((59, 10), "40..=49 50..=59"),
            ((55, 1), "40..=49 50..=59"),
            ((55, 0), "50..=59"),
            ((60, 0), ""),
            // A block that starts at the point does not precede it.
            ((50, 1), "40..=49"),
            ((35, 1), "20..=29"),
            ((35, 20), "10..=19 20..=29"),
            ((35, usize::MAX), "10..=19 20..=29"),
            ((11, 5), "10..=19"),
            ((10, 5), ""),
            ((i64::MAX, usize::MAX), "10..=19 20..=29 40..=49 50..=59"),
            ((i64::MIN, 5), ""),
        ],
    );
}

#[test]
fn a_forward_scan_counts_only_rows_of_later_blocks() {
    let ask = |view: &View, series: &Series, (from, rows): (i64, usize)| {
        view.blocks_forward(series, Timestamp(from), rows).unwrap()
    };
    check(
        ask,
        [
            ((10, 1), "10..=19"),
            ((10, 10), "10..=19"),
            ((10, 11), "10..=19 20..=29"),
            ((11, 10), "10..=19 20..=29"),
            ((19, 1), "10..=19 20..=29"),
            ((15, 0), "10..=19"),
            ((10, 0), ""),
            ((30, 1), "40..=49"),
            ((30, 20), "40..=49 50..=59"),
            ((59, 5), "50..=59"),
            ((60, 5), ""),
            ((0, 1), "10..=19"),
            ((i64::MIN, usize::MAX), "10..=19 20..=29 40..=49 50..=59"),
            ((i64::MAX, 5), ""),
        ],
    );
}

#[test]
fn an_unknown_series_has_no_blocks() {
    let fresh = fresh();
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let series = minutes("700.HK");
    assert_eq!(snapshot.blocks(&series, None, None).unwrap(), []);
    assert_eq!(snapshot.blocks_back(&series, Timestamp(5), 5).unwrap(), []);
    assert_eq!(snapshot.series(&series).unwrap(), None);
    assert_eq!(snapshot.all_series().unwrap(), []);
}

#[test]
fn bytes_are_read_back_unchanged() {
    let fresh = fresh();
    let sizes = [1, 100, 4_000, 4_061, 4_096, 20_000, 300_000];
    let added: Vec<NewBlock> = sizes
        .iter()
        .zip(0..)
        .map(|(size, at)| NewBlock {
            bytes: (0..*size).map(|byte| (byte % 251) as u8).collect(),
            ..block(at, at)
        })
        .collect();
    let entries = put(&fresh.store, &minutes("700.HK"), &[], &added);
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.blocks(&minutes("700.HK"), None, None).unwrap(), entries);
    let mut bytes = b"something from before".to_vec();
    for (entry, new) in entries.iter().zip(&added) {
        snapshot.block(entry, &mut bytes).unwrap();
        assert_eq!(bytes, new.bytes);
        assert_eq!(entry.bytes as usize, new.bytes.len());
        assert_eq!(snapshot.with_block(entry, <[u8]>::len).unwrap(), new.bytes.len());
    }
}

#[test]
fn a_missing_block_is_an_error() {
    let fresh = fresh();
    let mut reader = fresh.store.reader().unwrap();
    let never = BlockEntry {
        id: 7,
        first: Timestamp(0),
        last: Timestamp(0),
        rows: 1,
        bytes: 0,
        tail: Tail::default(),
    };
    let missing = reader.snapshot().unwrap().block(&never, &mut Vec::new()).unwrap_err();
    assert!(matches!(missing, StoreError::Damaged { what: "read a block", source: None, .. }), "{missing:?}");
}

#[test]
fn replacing_blocks_updates_the_totals_and_raises_the_version() {
    let fresh = fresh();
    let series = minutes("700.HK");
    let entries = put(&fresh.store, &series, &[], &directory());
    let mut reader = fresh.store.reader().unwrap();
    let before = reader.snapshot().unwrap().series(&series).unwrap().unwrap();
    assert_eq!((before.rows, before.blocks, before.bytes), (40, 4, 28));
    assert_eq!((before.first, before.last), (Timestamp(10), Timestamp(59)));

    put(&fresh.store, &series, &[entries[0].id, entries[3].id], &[block(5, 9), block(10, 15), block(60, 99)]);
    let snapshot = reader.snapshot().unwrap();
    let after = snapshot.series(&series).unwrap().unwrap();
    assert_eq!(
        spans(&snapshot.blocks(&series, None, None).unwrap()),
        "5..=9 10..=15 20..=29 40..=49 60..=99"
    );
    assert_eq!((after.rows, after.blocks, after.bytes), (71, 5, 33));
    assert_eq!((after.first, after.last), (Timestamp(5), Timestamp(99)));
    assert!(after.version > before.version);
    assert_eq!(snapshot.version().unwrap(), after.version);
    snapshot.block(&entries[0], &mut Vec::new()).unwrap_err();
}

#[test]
fn a_commit_to_another_series_does_not_change_the_version() {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(1, 2)]);
    let mut reader = fresh.store.reader().unwrap();
    let before = reader.snapshot().unwrap().series(&minutes("700.HK")).unwrap();
    put(&fresh.store, &minutes("9988.HK"), &[], &[block(1, 2)]);
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.series(&minutes("700.HK")).unwrap(), before);
    assert!(snapshot.version().unwrap() > before.unwrap().version);
}

#[test]
fn ids_and_versions_of_an_emptied_series_are_not_reused() {
    let fresh = fresh();
    let series = minutes("700.HK");
    let first = put(&fresh.store, &series, &[], &[block(1, 2)]);
    let mut reader = fresh.store.reader().unwrap();
    let before = reader.snapshot().unwrap().series(&series).unwrap().unwrap();
    put(&fresh.store, &series, &[first[0].id], &[]);
    assert_eq!(reader.snapshot().unwrap().series(&series).unwrap(), None);
    assert!(reader.snapshot().unwrap().version().unwrap() > before.version);
    let second = put(&fresh.store, &series, &[], &[block(1, 2)]);
    assert!(second[0].id > first[0].id);
    assert!(reader.snapshot().unwrap().series(&series).unwrap().unwrap().version > before.version + 1);
}

#[test]
fn invalid_blocks_are_refused() {
    let reversed = NewBlock { first: Timestamp(70), last: Timestamp(69), ..block(70, 70) };
    let large = NewBlock { bytes: vec![0; BLOCK_BYTES_MAX + 1], ..block(70, 70) };
    let table = [
        (vec![block(19, 19)], "overlaps"),
        (vec![block(29, 31)], "overlaps"),
        (vec![block(39, 40)], "overlaps"),
        (vec![block(0, 100)], "overlaps"),
        (vec![block(43, 44)], "overlaps"),
        (vec![block(10, 19)], "overlaps"),
        (vec![block(70, 75), block(75, 80)], "overlaps"),
        (vec![NewBlock { rows: 0, ..block(70, 70) }], "empty"),
        (vec![NewBlock { bytes: Vec::new(), ..block(70, 70) }], "empty"),
        (vec![reversed], "ends before it starts"),
        (vec![large], "more than"),
    ];
    let fresh = fresh();
    let series = minutes("700.HK");
    put(&fresh.store, &series, &[], &directory());
    for (added, reason) in table {
        let mut writer = fresh.store.writer().unwrap();
        let error = writer.begin().unwrap().replace_blocks(&series, &[], &added).unwrap_err();
        assert!(matches!(error, StoreError::Unfit { .. }) && error.to_string().contains(reason), "{error}");
    }
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let fits = [block(60, 60), block(30, 39), block(0, 9)];
    batch.replace_blocks(&series, &[], &fits).unwrap();
}

#[test]
fn a_block_of_another_series_is_not_removed() {
    let fresh = fresh();
    let entries = put(&fresh.store, &minutes("700.HK"), &[], &directory());
    put(&fresh.store, &minutes("701.HK"), &[], &directory());
    let mut writer = fresh.store.writer().unwrap();
    for (series, id) in [("701.HK", entries[0].id), ("702.HK", entries[0].id), ("700.HK", 999)] {
        let error = writer.begin().unwrap().replace_blocks(&minutes(series), &[id], &[]).unwrap_err();
        assert!(error.to_string().contains("is not one of its blocks"), "{error}");
    }
}

#[test]
fn series_are_listed_by_symbol_grain_and_lane() {
    let fresh = fresh();
    let series = [
        "AAPL.US/1d",
        "AAPL.US/own5m+ext",
        "AAPL.US/1m",
        "AAPL.US/own15m",
        "700.HK/60m",
        "AAPL.US/1m+overnight",
        "AAPL.US/1m+ext",
        "AAPL.US/15m",
    ];
    for text in series {
        let series: Series = text.parse().unwrap();
        assert_eq!(series.to_string(), text);
        put(&fresh.store, &series, &[], &[block(1, 2)]);
    }
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let names = |all: Vec<store::SeriesInfo>| -> Vec<String> {
        all.into_iter().map(|info| info.series.to_string()).collect()
    };
    let apple = [
        "AAPL.US/1m",
        "AAPL.US/1m+ext",
        "AAPL.US/1m+overnight",
        "AAPL.US/15m",
        "AAPL.US/own5m+ext",
        "AAPL.US/own15m",
        "AAPL.US/1d",
    ];
    assert_eq!(names(snapshot.series_of(&symbol("AAPL.US")).unwrap()), apple);
    assert_eq!(names(snapshot.all_series().unwrap())[1..], apple);
    assert_eq!(names(snapshot.all_series().unwrap())[0], "700.HK/60m");
}

/// Candles rolled up from one-minute candles and imported candles of the same period are
/// independent series.
#[test]
fn rolled_up_and_imported_candles_are_separate_series() {
    let fresh = fresh();
    let (rolled, own): (Series, Series) = ("700.HK/15m".parse().unwrap(), "700.HK/own15m".parse().unwrap());
    put(&fresh.store, &rolled, &[], &[block(10, 19)]);
    put(&fresh.store, &own, &[], &[block(15, 24)]);
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(spans(&snapshot.blocks(&rolled, None, None).unwrap()), "10..=19");
    let [entry] = snapshot.blocks(&own, None, None).unwrap()[..] else { panic!("one block") };
    assert_eq!(spans(&[entry]), "15..=24");
    drop(snapshot);
    put(&fresh.store, &own, &[entry.id], &[]);
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(spans(&snapshot.blocks(&rolled, None, None).unwrap()), "10..=19");
    assert_eq!(snapshot.series(&own).unwrap(), None);
}

#[test]
fn an_invalid_series_is_refused() {
    for text in [
        "",
        "700.HK",
        "700.HK/",
        "700.HK/2m",
        "700.HK/5m",
        "700.HK/own2m",
        "700.HK/1m+",
        "700.HK/1m+pre",
        "700/1m",
        "700.HK/1m/1m",
    ] {
        assert!(text.parse::<Series>().is_err(), "{text}");
    }
}

#[test]
fn totals_are_summed_and_block_reads_counted() {
    let fresh = fresh();
    assert_eq!(fresh.store.reader().unwrap().view().totals().unwrap(), Totals::default());
    put(&fresh.store, &minutes("700.HK"), &[], &directory());
    put(&fresh.store, &minutes("5.HK"), &[], &[block(0, 4)]);
    let mut reader = fresh.store.reader().unwrap();
    let bytes = directory().iter().chain(&[block(0, 4)]).map(|block| block.bytes.len() as u64).sum();
    assert_eq!(reader.view().totals().unwrap(), Totals { series: 2, candles: 45, blocks: 5, bytes });
    let before = fresh.store.blocks_read();
    let entries = reader.view().blocks(&minutes("700.HK"), None, None).unwrap();
    assert_eq!(fresh.store.blocks_read(), before, "a directory is no block");
    let mut body = Vec::new();
    for entry in &entries {
        reader.view().block(entry, &mut body).unwrap();
    }
    assert_eq!(fresh.store.blocks_read(), before + 4);
}
