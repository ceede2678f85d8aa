//! Tests of trade days: their blocks, the references between days, and the check of blocks and
//! references.

use std::ops::ControlFlow;

use market::Date;
use store::{Finding, Store, StoreError, TradeSizes};

use crate::fixture::{Fresh, SEALED, block, fresh, symbol};

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

pub(crate) fn put(store: &Store, day: &str, stored: usize, blocks: &[(i64, i64)]) {
    let blocks: Vec<_> = blocks.iter().map(|(first, last)| block(*first, *last)).collect();
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_trades(&symbol("700.HK"), date(day), stored, &blocks).unwrap();
    batch.commit().unwrap();
}

/// Returns the trade days of a symbol up to and including `through`, newest first, with the bytes
/// of their blocks.
pub(crate) fn days(store: &Store, through: &str, limit: u32) -> Result<Vec<String>, StoreError> {
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let mut all = Vec::new();
    for day in snapshot.trade_days_back(&symbol("700.HK"), date(through), limit)? {
        let mut words = vec![day.day.to_string(), day.rows.to_string()];
        for entry in snapshot.trade_blocks(&day)? {
            words.push(
                snapshot.with_trade_block(&entry, |bytes| String::from_utf8_lossy(bytes).into_owned())?,
            );
        }
        all.push(words.join(" "));
    }
    Ok(all)
}

pub(crate) fn filled() -> Fresh {
    let fresh = fresh();
    put(&fresh.store, "2026-03-18", 0, &[(10, 19), (20, 29)]);
    put(&fresh.store, "2026-03-16", 0, &[(0, 4)]);
    put(&fresh.store, "2026-03-17", 0, &[(5, 9)]);
    fresh
}

pub(crate) fn findings(store: &Store) -> Vec<Finding> {
    let mut reader = store.reader().unwrap();
    reader.check_trades(|| ControlFlow::Continue(()), |_, _, _| None).unwrap().unwrap()
}

#[test]
fn days_are_read_back_newest_first_with_their_blocks() {
    let fresh = filled();
    let all = ["2026-03-18 20 10..=19 20..=29", "2026-03-17 5 5..=9", "2026-03-16 5 0..=4"];
    assert_eq!(days(&fresh.store, "2026-12-31", 9).unwrap(), all);
    assert_eq!(days(&fresh.store, "2026-03-17", 9).unwrap(), all[1..]);
    assert_eq!(days(&fresh.store, "2026-12-31", 2).unwrap(), all[..2]);
    assert!(days(&fresh.store, "2026-03-15", 9).unwrap().is_empty());
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert!(snapshot.trade_days_back(&symbol("5.HK"), date("2026-12-31"), 9).unwrap().is_empty());
    assert_eq!(snapshot.trade_day_count(&symbol("700.HK")).unwrap(), 3);
    let [traded] = snapshot.traded_symbols().unwrap().try_into().unwrap();
    assert_eq!((traded.days, traded.rows, traded.last), (3, 30, date("2026-03-18")));
    assert_eq!(findings(&fresh.store), []);
}

#[test]
fn the_first_blocks_of_a_day_can_be_retained() {
    let fresh = filled();
    put(&fresh.store, "2026-03-18", 1, &[(20, 24), (25, 40)]);
    assert_eq!(days(&fresh.store, "2026-03-18", 1).unwrap(), ["2026-03-18 31 10..=19 20..=24 25..=40"]);
    put(&fresh.store, "2026-03-18", 0, &[(11, 12)]);
    assert_eq!(days(&fresh.store, "2026-03-18", 1).unwrap(), ["2026-03-18 2 11..=12"]);
    assert_eq!(findings(&fresh.store), []);
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.replace_trades(&symbol("700.HK"), date("2026-03-18"), 0, &[]).unwrap_err();
    drop(batch);
    drop(writer);
    assert_eq!(days(&fresh.store, "2026-03-18", 1).unwrap(), ["2026-03-18 2 11..=12"]);
}

#[test]
fn replacing_trades_invalidates_size_thresholds_of_later_days() {
    let fresh = filled();
    let sizes = TradeSizes { large_percent: 30, medium_percent: 55, large_from: 7, medium_from: 5 };
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    for day in ["2026-03-16", "2026-03-17", "2026-03-18"] {
        batch.put_trade_sizes(&symbol("700.HK"), date(day), &sizes).unwrap();
    }
    batch.commit().unwrap();
    drop(writer);
    put(&fresh.store, "2026-03-17", 0, &[(5, 8)]);
    let mut reader = fresh.store.reader().unwrap();
    let stored: Vec<Option<TradeSizes>> = reader
        .snapshot()
        .unwrap()
        .trade_days(&symbol("700.HK"))
        .unwrap()
        .iter()
        .map(|day| day.sizes)
        .collect();
    assert_eq!(stored, [Some(sizes), Some(sizes), None]);
}

#[test]
fn missing_or_changed_trades_are_detected() {
    let by_seals_alone = [("delete from trade_day where day = '2026-03-17'", "days with trades")];
    let always = [
        ("delete from trade_index where day = '2026-03-18' and place = 1", "do not add up to"),
        ("delete from trade_index where day = '2026-03-18' and place = 0", ""),
        (
            "update trade_body set body = substr(body, 1, 1) where id = 1",
            "differs from the one that was written",
        ),
        ("update trade_day set row_count = 4 where day = '2026-03-16'", "do not add up to"),
        ("delete from trade_body where id = 1", "no body"),
    ];
    for (change, says) in always.into_iter().chain(by_seals_alone.into_iter().filter(|_| SEALED)) {
        let fresh = filled();
        fresh.home.damage("candles", change);
        days(&fresh.store, "2026-12-31", 9).unwrap_err();
        let found: Vec<String> = findings(&fresh.store).iter().map(Finding::to_string).collect();
        assert!(found.iter().any(|words| words.contains(says)), "{change}: {found:#?}");
    }
}
