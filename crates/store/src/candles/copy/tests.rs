//! Tests of the local copy. A SQLite store takes the role of the shared database, so no PostgreSQL
//! server is needed.

use std::ops::ControlFlow;
use std::time::Duration;

use market::{Action, Date, Grain, Symbol, Timestamp};

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::queue::Work;
use super::sql::SHARED;
use super::worker::Worker;
use super::{FOLDER, LocalCopy, Shared, make_private};
use crate::candles::block::NewBlock;
use crate::candles::copy::{CopyLoad, CopySettings};
use crate::candles::margin::Margin;
use crate::candles::security::Security;
use crate::candles::series::{Lane, Series};
use crate::candles::store::{Access, Store};
use crate::candles::trades::TradeSizes;
use crate::engine::home::{Home, Part};
use crate::engine::postgres::Pace;
use crate::engine::{Db, Role, Sql, StoreError};

const NOW: Timestamp = Timestamp(1_763_200_000);
const UNTIL: Timestamp = Timestamp(i64::MAX);

/// A shared database and a node's cache, in temporary directories.
struct House {
    far_dir: tempfile::TempDir,
    cache: tempfile::TempDir,
    far: Store,
}

impl House {
    fn new() -> House {
        let (far_dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let far = shared(far_dir.path());
        House { far_dir, cache, far }
    }

    fn settings(&self) -> CopySettings {
        let dir = self.cache.path().join("cache");
        CopySettings { dir, bytes_max: 1 << 30, offline_window: Duration::from_secs(3_600) }
    }

    fn node(&self) -> Store {
        self.node_with(&self.settings())
    }

    fn node_with(&self, settings: &CopySettings) -> Store {
        self.far.clone().with_copy(settings).unwrap()
    }

    /// Makes every query for a symbol fail on the shared database.
    fn lose(&self) {
        script(self.far_dir.path(), "alter table security rename to lost");
    }

    /// Returns the database files of the copy.
    fn files(&self) -> Vec<std::path::PathBuf> {
        let files = std::fs::read_dir(self.settings().dir.join("candles")).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let mut files: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|ext| ext == "db")).collect();
        files.sort();
        files
    }
}

fn shared(dir: &std::path::Path) -> Store {
    let store = Store::open(dir, Access::Write { now: NOW }).unwrap();
    let db = Db::open(&dir.join("candles.db"), Role::Writer).unwrap();
    db.script("prepare for nodes", SHARED).unwrap();
    store.with_nodes()
}

fn script(dir: &std::path::Path, text: &str) {
    let db = Db::open(&dir.join("candles.db"), Role::Writer).unwrap();
    db.script("change the database", text).unwrap();
}

fn symbol(text: &str) -> Symbol {
    text.parse().unwrap()
}

fn minutes(text: &str) -> Series {
    Series { symbol: symbol(text), grain: Grain::Minute, lane: Lane::Regular }
}

/// Returns a block of ten rows with recognizable bytes.
fn block(first: i64, word: &str) -> NewBlock {
    let bytes = format!("{first} {word}").into_bytes();
    NewBlock { first: Timestamp(first), last: Timestamp(first + 9), rows: 10, bytes }
}

fn put(store: &Store, series: &Series, removed: &[i64], added: &[NewBlock]) -> Vec<i64> {
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let entries = batch.replace_blocks(series, removed, added).unwrap();
    batch.commit().unwrap();
    entries.iter().map(|entry| entry.id).collect()
}

/// Returns all bodies of a series as text, newest first.
fn bodies(store: &Store, series: &Series) -> Result<String, StoreError> {
    let mut all = Vec::new();
    store.reader()?.view().bodies_back(series, UNTIL, |body| {
        all.push(String::from_utf8(body.bytes.to_vec()).unwrap());
        ControlFlow::Continue(())
    })?;
    Ok(all.join(", "))
}

fn load(store: &Store) -> CopyLoad {
    store.copy_load().unwrap()
}

/// Queries symbols, and waits until they are in the copy.
fn hold(node: &Store, symbols: &[&str]) {
    let mut reader = node.reader().unwrap();
    for text in symbols {
        reader.view().security(&symbol(text)).unwrap();
    }
    node.settle_copy();
}

#[test]
fn a_requested_symbol_is_served_without_the_shared_database() {
    let house = House::new();
    let (series, other) = (minutes("700.HK"), minutes("5.HK"));
    put(&house.far, &series, &[], &[block(0, "a"), block(10, "b"), block(20, "c")]);
    put(&house.far, &other, &[], &[block(0, "d")]);
    let node = house.node();
    assert_eq!(bodies(&node, &series).unwrap(), "20 c, 10 b, 0 a");
    node.settle_copy();
    assert_eq!(bodies(&node, &series).unwrap(), "20 c, 10 b, 0 a");
    node.settle_copy();
    let CopyLoad { symbols, current, hits, misses, .. } = load(&node);
    assert_eq!((symbols, current, hits, misses), (1, 1, 1, 1));

    let mut reader = node.reader().unwrap();
    house.lose();
    assert_eq!(
        {
            let mut all = Vec::new();
            let each = |body: crate::candles::bodies::Body<'_>| {
                all.push(body.entry.first.0);
                ControlFlow::Continue(())
            };
            reader.view().bodies_back(&series, UNTIL, each).unwrap();
            all
        },
        [20, 10, 0]
    );
    let snapshot = reader.snapshot_of(&series.symbol).unwrap();
    assert_eq!(snapshot.security(&series.symbol).unwrap(), Some(Security::new(series.symbol.clone())));
    assert_eq!(snapshot.series_of(&series.symbol).unwrap().len(), 1);
    assert_eq!(snapshot.version().unwrap(), 2);
    let entries = snapshot.blocks(&series, Some(Timestamp(5)), Some(Timestamp(15))).unwrap();
    let mut bytes = Vec::new();
    snapshot.block(&entries[1], &mut bytes).unwrap();
    assert_eq!(bytes, b"10 b");
}

#[test]
fn all_rows_of_a_symbol_are_copied() {
    let house = House::new();
    let name = symbol("700.HK");
    let date = |text: &str| -> Date { text.parse().unwrap() };
    let factor = |text: &str| market::MarginFactor::parse(text).unwrap();
    let margin = Margin { symbol: name.clone(), im: factor("0.4"), mm: factor("0.3"), fm: factor("0.2") };
    let mut writer = house.far.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let security =
        Security { name_en: Some("Tencent".to_owned()), decimals: 2, ..Security::new(name.clone()) };
    batch.put_security(&security).unwrap();
    batch.put_margin(&margin).unwrap();
    let action = Action {
        ex_date: date("2024-05-17"),
        cash: market::adjust::Amount::parse("3.4").unwrap(),
        split: market::adjust::Amount::parse("1").unwrap(),
        bonus: market::adjust::Amount::parse("0").unwrap(),
        rights: market::adjust::Amount::parse("0").unwrap(),
        rights_price: market::adjust::Amount::parse("0").unwrap(),
    };
    batch.replace_actions(&name, std::slice::from_ref(&action)).unwrap();
    batch.replace_trades(&name, date("2024-05-16"), 0, &[block(0, "x"), block(9, "y")]).unwrap();
    batch.replace_trades(&name, date("2024-05-17"), 0, &[block(20, "z")]).unwrap();
    batch.replace_blocks(&minutes("700.HK"), &[], &[block(0, "a")]).unwrap();
    batch.commit().unwrap();
    let node = house.node();
    hold(&node, &["700.HK"]);
    // Derived data is copied as well.
    let mut batch = writer.begin().unwrap();
    batch.put_factors(&name, b"factors").unwrap();
    let sizes = TradeSizes { large_percent: 30, medium_percent: 30, large_from: 5, medium_from: 2 };
    batch.put_trade_sizes(&name, date("2024-05-17"), &sizes).unwrap();
    batch.commit().unwrap();
    drop(writer);
    node.settle_copy();
    hold(&node, &["700.HK"]);

    let (mut near, mut far) = (node.reader().unwrap(), house.far.reader().unwrap());
    let before = load(&node).misses;
    let (near, far) = (near.snapshot_of(&name).unwrap(), far.snapshot().unwrap());
    assert_eq!(near.security(&name).unwrap(), Some(security));
    assert_eq!(near.decimals(&name).unwrap(), Some(2));
    assert_eq!(near.margin(&name).unwrap(), Some(margin));
    assert_eq!(near.stored_actions(&name).unwrap(), far.stored_actions(&name).unwrap());
    assert_eq!(near.actions(&name).unwrap(), [action]);
    assert_eq!(near.factors(&name).unwrap().as_deref(), Some(b"factors".as_slice()));
    assert_eq!(near.series_of(&name).unwrap(), far.series_of(&name).unwrap());
    let days = near.trade_days(&name).unwrap();
    assert_eq!(days, far.trade_days(&name).unwrap());
    assert_eq!(days[1].sizes, Some(sizes));
    assert_eq!(near.trade_days_back(&name, date("2024-05-16"), 5).unwrap().len(), 1);
    let words: Vec<Vec<u8>> = near
        .trade_blocks(&days[0])
        .unwrap()
        .iter()
        .map(|entry| near.with_trade_block(entry, <[u8]>::to_vec).unwrap())
        .collect();
    assert_eq!(words, [b"0 x".to_vec(), b"9 y".to_vec()]);
    assert_eq!(load(&node).misses, before);
    assert_eq!(load(&node).blocks_fetched, 2);
}

#[test]
fn the_copy_caches_that_a_symbol_does_not_exist() {
    let house = House::new();
    let node = house.node();
    hold(&node, &["700.HK"]);
    let mut reader = node.reader().unwrap();
    house.lose();
    assert_eq!(reader.view().security(&symbol("700.HK")).unwrap(), None);
    assert_eq!(reader.view().series_of(&symbol("700.HK")).unwrap(), []);
    reader.view().security(&symbol("5.HK")).unwrap_err();
}

#[test]
fn a_commit_becomes_visible_atomically() {
    let house = House::new();
    let all = ["1.HK", "2.HK", "3.HK"].map(minutes);
    for series in &all {
        put(&house.far, series, &[], &[block(0, "old")]);
    }
    let node = house.node();
    hold(&node, &["1.HK", "2.HK", "3.HK"]);
    let version = load(&node).version;
    let mut writer = house.far.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    for series in &all {
        batch.replace_blocks(series, &[], &[block(10, "new")]).unwrap();
    }
    batch.commit().unwrap();
    // The copy may be behind the shared database, but must not show a partial commit.
    let mut reader = node.reader().unwrap();
    let blocks: Vec<usize> =
        all.iter().map(|series| reader.view().blocks(series, None, None).unwrap().len()).collect();
    assert!(blocks == [1, 1, 1] || blocks == [2, 2, 2] || load(&node).version > version, "{blocks:?}");
    node.settle_copy();
    assert_eq!(load(&node).version, version + 1);
    assert_eq!(load(&node).current, 0);
    for _ in 0..2 {
        for series in &all {
            assert_eq!(reader.view().blocks(series, None, None).unwrap().len(), 2);
        }
        node.settle_copy();
    }
    assert_eq!(load(&node).current, 3);
    assert_eq!(reader.version().unwrap(), version + 1);
    assert_eq!(node.version_reader().unwrap().version().unwrap(), version + 1);
}

#[test]
fn unchanged_blocks_of_a_symbol_are_not_fetched_again() {
    let house = House::new();
    let series = minutes("700.HK");
    let ids = put(&house.far, &series, &[], &[block(0, "a"), block(10, "b"), block(20, "c")]);
    let node = house.node();
    hold(&node, &["700.HK"]);
    bodies(&node, &series).unwrap();
    node.settle_copy();
    assert_eq!(load(&node).blocks_fetched, 3);
    put(&house.far, &series, &ids[2..], &[block(20, "c2"), block(30, "d")]);
    node.settle_copy();
    hold(&node, &["700.HK"]);
    assert_eq!(bodies(&node, &series).unwrap(), "30 d, 20 c2, 10 b, 0 a");
    assert_eq!(load(&node).blocks_fetched, 5);
    // The replaced body is removed from the copy.
    node.settle_copy();
    let stored: i64 = near_number(&house, "select count(*) from block_body");
    assert_eq!(stored, 4);
}

fn near_number(house: &House, text: &'static str) -> i64 {
    let db = Db::open(house.files().last().unwrap(), Role::Reader).unwrap();
    db.one(Sql::new("query", text), [], |row| row.get(0)).unwrap()
}

#[test]
fn a_snapshot_does_not_see_replaced_blocks() {
    let house = House::new();
    let series = minutes("700.HK");
    let ids = put(&house.far, &series, &[], &[block(0, "a"), block(10, "b")]);
    let node = house.node();
    hold(&node, &["700.HK"]);
    // One of the bodies is in the copy.
    let mut reader = node.reader().unwrap();
    reader.view().bodies_back(&series, Timestamp(10), |_| ControlFlow::Break(())).unwrap();
    node.settle_copy();
    let mut reader = node.reader().unwrap();
    let snapshot = reader.snapshot_of(&series.symbol).unwrap();
    put(&house.far, &series, &ids, &[block(0, "a2"), block(10, "b2")]);
    node.settle_copy();
    hold(&node, &["700.HK"]);
    let entries = snapshot.blocks(&series, None, None).unwrap();
    let mut bytes = Vec::new();
    snapshot.block(&entries[0], &mut bytes).unwrap();
    assert_eq!(bytes, b"0 a");
    // SQLite removes replaced bodies immediately, whereas PostgreSQL retains them for ten minutes.
    let gone = snapshot.block(&entries[1], &mut bytes).unwrap_err();
    assert!(matches!(gone, StoreError::Replaced { .. }), "{gone}");
    assert_eq!(snapshot.version().unwrap(), 1);
    drop(snapshot);
    assert_eq!(bodies(&node, &series).unwrap(), "10 b2, 0 a2");
}

#[test]
fn full_snapshots_and_lists_read_the_shared_database() {
    let house = House::new();
    for text in ["1.HK", "2.HK"] {
        put(&house.far, &minutes(text), &[], &[block(0, "a")]);
    }
    let node = house.node();
    hold(&node, &["1.HK"]);
    let mut reader = node.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.securities().unwrap().len(), 2);
    assert_eq!(snapshot.all_series().unwrap().len(), 2);
    assert_eq!(snapshot.totals().unwrap().series, 2);
    put(&house.far, &minutes("1.HK"), &[], &[block(10, "b")]);
    node.settle_copy();
    hold(&node, &["1.HK", "2.HK"]);
    assert_eq!(snapshot.blocks(&minutes("1.HK"), None, None).unwrap().len(), 1);
    assert_eq!(snapshot.version().unwrap(), 2);
    drop(snapshot);
    // In a snapshot of `1.HK`, another symbol may be at a later version.
    put(&house.far, &minutes("2.HK"), &[], &[block(10, "b")]);
    node.settle_copy();
    let snapshot = reader.snapshot_of(&symbol("1.HK")).unwrap();
    assert_eq!(snapshot.blocks(&minutes("1.HK"), None, None).unwrap().len(), 2);
    assert_eq!(snapshot.blocks(&minutes("2.HK"), None, None).unwrap().len(), 2);
    assert_eq!(snapshot.securities().unwrap().len(), 2);
}

#[test]
fn the_least_recently_used_symbols_are_evicted() {
    let house = House::new();
    let all: Vec<Series> = (1..=8).map(|number| minutes(&format!("{number}.HK"))).collect();
    let large = "x".repeat(100_000);
    for series in &all {
        put(&house.far, series, &[], &[block(0, &large)]);
    }
    let node = house.node_with(&CopySettings { bytes_max: 450_000, ..house.settings() });
    for series in &all {
        hold(&node, &[series.symbol.as_str()]);
        bodies(&node, series).unwrap();
        node.settle_copy();
        // The first symbol is used in every round.
        bodies(&node, &all[0]).unwrap();
        node.settle_copy();
    }
    let CopyLoad { bytes, symbols, evicted, .. } = load(&node);
    assert!(bytes <= 450_000 && bytes > 200_000, "{bytes}");
    assert_eq!(symbols + evicted, 8);
    let mut reader = node.reader().unwrap();
    house.lose();
    reader.view().security(&all[0].symbol).unwrap().unwrap();
    reader.view().security(&all[7].symbol).unwrap().unwrap();
    reader.view().security(&all[1].symbol).unwrap_err();
}

#[test]
fn a_repeatedly_filled_file_does_not_grow() {
    let house = House::new();
    let all: Vec<Series> = (1..=40).map(|number| minutes(&format!("{number}.HK"))).collect();
    let large = "x".repeat(20_000);
    for series in &all {
        let blocks: Vec<NewBlock> = (0..10).map(|at| block(at * 10, &large)).collect();
        put(&house.far, series, &[], &blocks);
    }
    let bytes_max = 2_000_000;
    let node = house.node_with(&CopySettings { bytes_max, ..house.settings() });
    for _ in 0..2 {
        for series in &all {
            hold(&node, &[series.symbol.as_str()]);
            bodies(&node, series).unwrap();
            node.settle_copy();
        }
    }
    let CopyLoad { bytes, evicted, .. } = load(&node);
    assert!(bytes <= bytes_max && evicted >= 50, "{bytes} {evicted}");
    drop(node);
    let file = std::fs::metadata(&house.files()[0]).unwrap().len();
    assert!(file <= bytes_max * 5 / 4, "{file} bytes for {bytes_max}");
}

#[test]
fn a_body_larger_than_the_copy_is_still_served() {
    let house = House::new();
    let series = minutes("700.HK");
    put(&house.far, &series, &[], &[block(0, &"x".repeat(100_000))]);
    let node = house.node_with(&CopySettings { bytes_max: 50_000, ..house.settings() });
    for _ in 0..3 {
        assert_eq!(bodies(&node, &series).unwrap().len(), 100_002);
        node.settle_copy();
    }
    assert!(load(&node).bytes <= 50_000);
}

#[test]
fn a_reopened_copy_detects_missed_changes() {
    let house = House::new();
    for text in ["1.HK", "2.HK"] {
        put(&house.far, &minutes(text), &[], &[block(0, "a")]);
    }
    let node = house.node();
    hold(&node, &["1.HK", "2.HK"]);
    bodies(&node, &minutes("1.HK")).unwrap();
    node.settle_copy();
    drop(node);
    put(&house.far, &minutes("2.HK"), &[], &[block(10, "b")]);
    let node = house.node();
    assert_eq!((load(&node).symbols, load(&node).current), (2, 1));
    assert_eq!(bodies(&node, &minutes("1.HK")).unwrap(), "0 a");
    assert_eq!(bodies(&node, &minutes("2.HK")).unwrap(), "10 b, 0 a");
    assert_eq!(load(&node).hits, 1);
    assert_eq!(house.files().len(), 1);
}

#[test]
fn a_copy_of_another_database_is_not_used() {
    let house = House::new();
    put(&house.far, &minutes("1.HK"), &[], &[block(0, "a")]);
    hold(&house.node(), &["1.HK"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = shared(elsewhere.path());
    put(&other, &minutes("1.HK"), &[], &[block(0, "b")]);
    let node = other.with_copy(&house.settings()).unwrap();
    assert_eq!(load(&node).symbols, 0);
    assert_eq!(bodies(&node, &minutes("1.HK")).unwrap(), "0 b");
}

#[test]
fn a_copy_is_recreated_after_a_rollback_of_the_shared_database() {
    for change in [
        // The shared database is restored from a backup that precedes the last commit.
        "update counter set next = 1 where name = 'version'; delete from lineage where version > 1",
        // The shared database is restored from the same backup, and other commits follow.
        "update counter set next = 5 where name = 'version'; delete from lineage where version > 1;
         insert into lineage values (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')",
    ] {
        let house = House::new();
        for at in [0, 10, 20] {
            put(&house.far, &minutes("1.HK"), &[], &[block(at, "a")]);
        }
        let node = house.node();
        hold(&node, &["1.HK"]);
        assert_eq!(load(&node).current, 1);
        script(house.far_dir.path(), change);
        node.settle_copy();
        assert_eq!((load(&node).symbols, load(&node).begun_anew), (0, 1), "{change}");
        let mut reader = node.reader().unwrap();
        assert_eq!(reader.view().blocks(&minutes("1.HK"), None, None).unwrap().len(), 3);
        node.settle_copy();
        assert_eq!(load(&node).current, 1);
        assert_eq!(house.files().len(), 1);
    }
}

#[test]
fn readers_of_a_discarded_copy_switch_to_the_new_one() {
    let house = House::new();
    put(&house.far, &minutes("1.HK"), &[], &[block(0, "a")]);
    let node = house.node();
    hold(&node, &["1.HK"]);
    let mut reader = node.reader().unwrap();
    reader.view().security(&symbol("1.HK")).unwrap().unwrap();
    script(house.far_dir.path(), "update identity set id = 'another'");
    node.settle_copy();
    hold(&node, &["1.HK"]);
    let before = load(&node).hits;
    reader.view().security(&symbol("1.HK")).unwrap().unwrap();
    assert_eq!(load(&node).hits, before + 1);
}

#[test]
fn a_damaged_copy_is_never_used() {
    let house = House::new();
    let mut writer = house.far.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch
        .put_security(&Security { name_en: Some("One".to_owned()), ..Security::new(symbol("1.HK")) })
        .unwrap();
    batch.commit().unwrap();
    drop(writer);
    put(&house.far, &minutes("1.HK"), &[], &[block(0, "a")]);
    for damage in [
        "update security set name_en = 'Two'",
        "delete from security",
        "delete from series",
        "delete from block_index",
        "update block_body set body = x'00'",
    ] {
        let node = house.node();
        hold(&node, &["1.HK"]);
        bodies(&node, &minutes("1.HK")).unwrap();
        node.settle_copy();
        // The damage does not update seals and row counts.
        let conn = rusqlite::Connection::open(house.files().last().unwrap()).unwrap();
        conn.execute_batch(&format!("pragma foreign_keys = off; {damage}")).unwrap();
        drop(conn);
        let mut reader = node.reader().unwrap();
        let name = reader.view().security(&symbol("1.HK")).unwrap().unwrap().name_en;
        assert_eq!(name.as_deref(), Some("One"), "{damage}");
        assert_eq!(bodies(&node, &minutes("1.HK")).unwrap(), "0 a", "{damage}");
        node.settle_copy();
        assert_eq!(load(&node).begun_anew, 1, "{damage}");
        hold(&node, &["1.HK"]);
        assert_eq!(load(&node).current, 1, "{damage}");
        drop(node);
    }
}

#[test]
fn a_file_that_is_not_a_copy_is_replaced() {
    let house = House::new();
    put(&house.far, &minutes("1.HK"), &[], &[block(0, "a")]);
    drop(house.node());
    let file = house.files().pop().unwrap();
    std::fs::write(
        &file,
        b"not a database, though longer than a header would be, which is a hundred bytes .........",
    )
    .unwrap();
    let node = house.node();
    hold(&node, &["1.HK"]);
    assert_eq!(load(&node).current, 1);
    assert!(!file.exists());
}

#[test]
fn an_inconsistent_symbol_is_fetched_again() {
    let house = House::new();
    put(&house.far, &minutes("1.HK"), &[], &[block(0, "a")]);
    let node = house.node();
    hold(&node, &["1.HK"]);
    bodies(&node, &minutes("1.HK")).unwrap();
    node.settle_copy();
    assert_eq!(load(&node).blocks_fetched, 1);
    node.reader().unwrap().view().doubt(&symbol("1.HK"));
    node.settle_copy();
    assert_eq!(load(&node).symbols, 0);
    hold(&node, &["1.HK"]);
    bodies(&node, &minutes("1.HK")).unwrap();
    assert_eq!(load(&node).blocks_fetched, 2);
}

#[test]
fn a_cache_directory_is_locked_by_one_process() {
    let house = House::new();
    let node = house.node();
    let refused = house.far.clone().with_copy(&house.settings()).unwrap_err();
    assert!(matches!(refused, StoreError::CacheInUse { .. }), "{refused}");
    assert!(refused.to_string().contains("used by another server (process "), "{refused}");
    drop(node);
    drop(house.node());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for dir in [house.settings().dir, house.settings().dir.join("candles")] {
            assert_eq!(std::fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}

#[test]
fn a_copy_is_served_during_the_offline_window() {
    for (offline_window, answers) in [(Duration::from_secs(3_600), true), (Duration::ZERO, false)] {
        let house = House::new();
        put(&house.far, &minutes("1.HK"), &[], &[block(0, "a")]);
        let node = house.node_with(&CopySettings { offline_window, ..house.settings() });
        hold(&node, &["1.HK"]);
        let mut reader = node.reader().unwrap();
        reader.view().security(&symbol("1.HK")).unwrap().unwrap();
        script(house.far_dir.path(), "alter table lineage rename to gone");
        node.settle_copy();
        let CopyLoad { is_reachable, is_serving, last_error, .. } = load(&node);
        assert_eq!((is_reachable, is_serving), (false, answers));
        assert!(last_error.is_some());
        let misses = load(&node).misses;
        reader.view().security(&symbol("1.HK")).unwrap().unwrap();
        assert_eq!(load(&node).misses == misses, answers);
        // The copy recovers when the shared database is reachable again.
        script(house.far_dir.path(), "alter table gone rename to lineage");
        node.settle_copy();
        assert_eq!((load(&node).is_reachable, load(&node).is_serving), (true, true));
    }
}

#[test]
fn concurrent_readers_see_a_consistent_symbol_during_changes() {
    let house = House::new();
    let series = minutes("1.HK");
    // Each state has one more block than the previous state, and all blocks of a state have the
    // same bytes.
    let mut ids = put(&house.far, &series, &[], &[block(0, "0")]);
    let node = house.node();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let read = || {
            let (mut reader, mut seen, mut last) = (node.reader().unwrap(), 0, 0);
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let snapshot = reader.snapshot_of(&series.symbol).unwrap();
                let (version, entries) =
                    (snapshot.version().unwrap(), snapshot.blocks(&series, None, None).unwrap());
                assert_eq!(entries.len() as i64, version, "half of a commit");
                assert!(version >= last, "back in time");
                last = version;
                let words: Result<Vec<String>, StoreError> = entries
                    .iter()
                    .map(|entry| {
                        snapshot.with_block(entry, |bytes| String::from_utf8(bytes.to_vec()).unwrap())
                    })
                    .collect();
                match words {
                    Ok(words) => {
                        let word = format!(" {}", entries.len() - 1);
                        assert!(words.iter().all(|found| found.ends_with(&word)), "{words:?}");
                        seen += 1;
                    }
                    Err(StoreError::Replaced { .. }) => {}
                    // Only `Replaced` is allowed: SQLite may already have removed the bodies of the
                    // previous state.
                    Err(error) => panic!("{error}"),
                }
                drop(snapshot);
                let mut words = Vec::new();
                let walked = reader.view().bodies_back(&series, UNTIL, |body| {
                    words.push(String::from_utf8(body.bytes.to_vec()).unwrap());
                    ControlFlow::Continue(())
                });
                match walked {
                    Ok(()) => {
                        let word = format!(" {}", words.len() - 1);
                        assert!(words.iter().all(|found| found.ends_with(&word)), "{words:?}");
                    }
                    Err(StoreError::Replaced { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            seen
        };
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(read)).collect();
        for state in 1..30 {
            let blocks: Vec<NewBlock> = (0..=state).map(|at| block(at * 10, &state.to_string())).collect();
            ids = put(&house.far, &series, &ids, &blocks);
            node.settle_copy();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let seen: u32 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(seen > 0);
    });
    node.settle_copy();
    assert_eq!(bodies(&node, &series).unwrap().matches(" 29").count(), 30);
}

#[test]
fn more_symbols_than_a_batch_holds_are_all_fetched() {
    let house = House::new();
    let mut writer = house.far.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let all: Vec<Symbol> = (1..=100).map(|number| symbol(&format!("{number}.HK"))).collect();
    all.iter().for_each(|symbol| batch.ensure_security(symbol).unwrap());
    batch.commit().unwrap();
    let node = house.node();
    let mut reader = node.reader().unwrap();
    all.iter().for_each(|symbol| assert!(reader.view().security(symbol).unwrap().is_some()));
    node.settle_copy();
    assert_eq!(load(&node).current, 100);
}

#[test]
fn a_copy_behind_the_announced_version_is_not_used() {
    let house = House::new();
    put(&house.far, &minutes("1.HK"), &[], &[block(0, "a")]);
    hold(&house.node(), &["1.HK"]);
    let home = Home::of(&house.far_dir.path().into(), Part::Candles, Pace::Usual).unwrap();
    let copy = LocalCopy::open(&home, &house.settings()).unwrap();
    let has = || copy.mark(&symbol("1.HK"), copy.number()).is_some();
    let version = copy.version();
    assert!(has());
    // The announcement takes effect without the worker thread, which may be busy.
    copy.shared.announce(version + 1);
    assert!(!has());
    // The announced version decreases if the database was rolled back.
    copy.shared.announce(version);
    assert!(has());
}

#[test]
fn eviction_polls_the_shared_database_between_rounds() {
    let house = House::new();
    let all: Vec<String> = (1..=100).map(|number| format!("{number}.HK")).collect();
    for text in &all {
        put(&house.far, &minutes(text), &[], &[block(0, "a")]);
    }
    hold(&house.node(), &all.iter().map(String::as_str).collect::<Vec<_>>());
    // The cache is opened again with almost no space.
    let settings = CopySettings { bytes_max: 1, ..house.settings() };
    let dir = settings.dir.join(FOLDER);
    make_private(&dir).unwrap();
    let shared = Arc::new(Shared::new(dir, &settings));
    let far = Db::open(&house.far_dir.path().join("candles.db"), Role::Reader).unwrap();
    let mut worker = Worker::open(shared.clone(), far).unwrap();
    let (mut gone, mut turns) = (0, 0);
    while shared.held.sum().symbols > 0 {
        put(&house.far, &minutes("other.HK"), &[], &[block(10 * turns, "b")]);
        worker.turn(&Work::default()).unwrap();
        turns += 1;
        assert_eq!(shared.version.load(Ordering::Acquire), 100 + turns, "it did not look");
        let evicted = shared.evicted.load(Ordering::Relaxed);
        assert!((1..=32).contains(&(evicted - gone)), "{evicted} after {gone}");
        gone = evicted;
        // Eviction continues in the next round without a new request.
        let goes_on = shared.held.sum().symbols > 0;
        assert_eq!(shared.queue.has_work(), goes_on);
        shared.queue.take(std::time::Instant::now()).unwrap();
    }
    assert_eq!((gone, turns), (100, 4));
}
