//! Tests of several servers on one database, each with a local copy of candles. All servers see
//! each import, and serve cached symbols while the database is unreachable.

use std::ops::ControlFlow;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use store::{
    Access, CopyLoad, CopySettings, IngestLog, NewBlock, Series, Store, StoreError, StoreNews, StoreUrl,
};

use crate::fixture::{Home, NOW, block, minutes, put, symbol};
use crate::wire::{Mode, Wire};

/// A server and its local copy.
struct Node {
    store: Store,
    _cache: tempfile::TempDir,
}

fn node(place: impl Into<StoreUrl>) -> Node {
    let cache = tempfile::tempdir().unwrap();
    let dir = cache.path().to_owned();
    let settings = CopySettings { dir, bytes_max: 1 << 30, offline_window: Duration::from_secs(600) };
    let store = Store::open(place, Access::Read).unwrap().with_copy(&settings).unwrap();
    Node { store, _cache: cache }
}

impl Node {
    fn load(&self) -> CopyLoad {
        self.store.copy_load().unwrap()
    }

    /// Queries symbols, and waits until they are in the local copy.
    fn hold(&self, symbols: &[&str]) {
        let mut reader = self.store.reader().unwrap();
        for text in symbols {
            reader.view().security(&symbol(text)).unwrap();
        }
        self.store.settle_copy();
    }

    /// Returns the bodies of all blocks of a series, newest first.
    fn bodies(&self, series: &Series) -> Result<String, StoreError> {
        let mut all = Vec::new();
        self.store.reader()?.view().bodies_back(series, market::Timestamp(i64::MAX), |body| {
            all.push(String::from_utf8(body.bytes.to_vec()).unwrap());
            ControlFlow::Continue(())
        })?;
        Ok(all.join(" "))
    }
}

/// Waits until a node receives a notification.
fn hear(news: &mpsc::Receiver<StoreNews>, wanted: StoreNews) {
    while news.recv_timeout(Duration::from_secs(30)).unwrap() != wanted {}
}

#[test]
fn a_node_is_notified_of_appended_batches_and_of_merges() {
    let home = Home::new();
    let store = written(&home);
    let node = node(&home);
    let (sender, news) = mpsc::channel();
    node.store.on_news(move |one| sender.send(one).unwrap());
    // Waits until the node has read the version.
    node.store.settle_copy();
    let mut log = store.ingest_log().unwrap();
    let append = |log: &mut IngestLog| {
        let append = log.append().unwrap();
        append.put(1, b"x").unwrap();
        append.commit().unwrap();
    };
    // A notification before the node listens is lost.
    while news.recv_timeout(Duration::from_millis(50)) != Ok(StoreNews::Ingested) {
        append(&mut log);
    }
    put(&store, &minutes("1.HK"), &[], &[block(0, 9)]);
    hear(&news, StoreNews::Changed);
    append(&mut log);
    hear(&news, StoreNews::Ingested);
}

fn written(home: &Home) -> Store {
    Store::open(home, Access::Write { now: NOW }).unwrap()
}

#[test]
fn an_import_becomes_visible_atomically_on_every_server() {
    let home = Home::new();
    let store = written(&home);
    let all = ["1.HK", "2.HK", "3.HK"].map(minutes);
    for series in &all {
        put(&store, series, &[], &[block(0, 9)]);
    }
    let nodes = [node(&home), node(&home)];
    nodes.iter().for_each(|node| node.hold(&["1.HK", "2.HK", "3.HK"]));
    for round in 1..=5 {
        let mut writer = store.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        for series in &all {
            batch.replace_blocks(series, &[], &[block(round * 10, round * 10 + 9)]).unwrap();
        }
        batch.commit().unwrap();
        let committed = Instant::now();
        let version = store.reader().unwrap().version().unwrap();
        // The copies update without a query, by notification or polling.
        for node in &nodes {
            while node.load().version < version {
                assert!(committed.elapsed() < Duration::from_secs(10), "it never came");
                std::thread::yield_now();
            }
        }
        for node in &nodes {
            for series in &all {
                let blocks = node.store.reader().unwrap().view().blocks(series, None, None).unwrap();
                assert_eq!(blocks.len() as i64, round + 1);
            }
        }
    }
}

#[test]
fn a_replaced_state_is_readable_in_an_open_snapshot() {
    let home = Home::new();
    let store = written(&home);
    let series = minutes("700.HK");
    let old = put(&store, &series, &[], &[block(0, 9), block(10, 19)]);
    let node = node(&home);
    node.hold(&["700.HK"]);
    let mut reader = node.store.reader().unwrap();
    let snapshot = reader.snapshot_of(&series.symbol).unwrap();
    let ids: Vec<i64> = old.iter().map(|entry| entry.id).collect();
    put(&store, &series, &ids, &[block(0, 4), block(5, 19)]);
    node.store.settle_copy();
    let mut bytes = Vec::new();
    for entry in snapshot.blocks(&series, None, None).unwrap() {
        snapshot.block(&entry, &mut bytes).unwrap();
        assert_eq!(bytes, format!("{}..={}", entry.first.0, entry.last.0).into_bytes());
    }
    assert_eq!(snapshot.version().unwrap(), 1);
    drop(snapshot);
    assert_eq!(node.bodies(&series).unwrap(), "5..=19 0..=4");
    // The retired bodies are no longer part of the store.
    assert_eq!(store.reader().unwrap().check(store::Depth::Full, |_, _, _| None).unwrap(), []);
    // The next import removes the retired bodies after their retention has ended.
    assert_eq!(home.number("candles", "select count(*) from block_body"), 4);
    home.damage("candles", "update retired_body set at_us = at_us - 700000000");
    drop(store.writer().unwrap());
    assert_eq!(home.number("candles", "select count(*) from block_body"), 2);
    assert_eq!(home.number("candles", "select count(*) from retired_body"), 0);
}

#[test]
fn a_disconnected_server_serves_cached_symbols() {
    let home = Home::new();
    let store = written(&home);
    for text in ["1.HK", "2.HK"] {
        put(&store, &minutes(text), &[], &[block(0, 9)]);
    }
    let wire = Wire::to(home.on_server().server().port());
    let place: StoreUrl =
        home.on_server().url_of("postgres", wire.port, "&connect_timeout=2").parse().unwrap();
    let node = node(&place);
    node.hold(&["1.HK"]);
    node.bodies(&minutes("1.HK")).unwrap();
    node.store.settle_copy();
    wire.set(Mode::Refuse);
    node.store.settle_copy();
    assert!(!node.load().is_reachable && node.load().is_serving);
    node.store.probe().unwrap();
    assert_eq!(node.bodies(&minutes("1.HK")).unwrap(), "0..=9");
    let away = node.bodies(&minutes("2.HK")).unwrap_err();
    assert!(matches!(away, StoreError::Away { .. }), "{away:?}");
    let away = node.store.reader().unwrap().snapshot().map(drop).unwrap_err();
    assert!(matches!(away, StoreError::Away { .. }), "{away:?}");
    put(&store, &minutes("1.HK"), &[], &[block(10, 19)]);
    wire.set(Mode::Pass);
    let cut = Instant::now();
    while !node.load().is_reachable || node.load().version < 3 {
        assert!(cut.elapsed() < Duration::from_secs(20), "it never came back");
        std::thread::yield_now();
    }
    assert_eq!(node.bodies(&minutes("1.HK")).unwrap(), "10..=19 0..=9");
    assert_eq!(node.bodies(&minutes("2.HK")).unwrap(), "0..=9");
}

#[test]
fn a_copy_of_a_recreated_database_is_not_used() {
    let home = Home::new();
    let store = written(&home);
    put(&store, &minutes("1.HK"), &[], &[block(0, 9)]);
    let cache = tempfile::tempdir().unwrap();
    let settings = CopySettings {
        dir: cache.path().to_owned(),
        bytes_max: 1 << 30,
        offline_window: Duration::from_secs(600),
    };
    let first =
        Node { store: store.clone().with_copy(&settings).unwrap(), _cache: tempfile::tempdir().unwrap() };
    first.hold(&["1.HK"]);
    assert_eq!(first.load().current, 1);
    drop(first);
    let schema = home.on_server().schema("candles");
    home.on_server().database_sql(&format!("drop schema {schema} cascade")).unwrap();
    let store = written(&home);
    put(&store, &minutes("1.HK"), &[], &[block(0, 4)]);
    let second = Node { store: store.with_copy(&settings).unwrap(), _cache: cache };
    assert_eq!(second.load().symbols, 0);
    assert_eq!(second.bodies(&minutes("1.HK")).unwrap(), "0..=4");
}

/// The series is long enough that reading it needs several statements.
#[test]
fn long_series_are_read_completely() {
    let home = Home::new();
    let store = written(&home);
    let series = minutes("700.HK");
    let blocks: Vec<NewBlock> = (0..700).map(|at| block(at * 10, at * 10 + 9)).collect();
    put(&store, &series, &[], &blocks);
    let wanted: Vec<String> =
        (0..700).rev().map(|at: i64| format!("{}..={}", at * 10, at * 10 + 9)).collect();
    let node = node(&home);
    let direct = Node { store: store.clone(), _cache: tempfile::tempdir().unwrap() };
    assert_eq!(direct.bodies(&series).unwrap(), wanted.join(" "));
    for _ in 0..3 {
        assert_eq!(node.bodies(&series).unwrap(), wanted.join(" "));
        node.store.settle_copy();
    }
    assert_eq!(node.load().misses, 1);
    // Each body was fetched once for the first query, and at most once more for the copy.
    assert!(node.load().blocks_fetched <= 2 * 700, "{}", node.load().blocks_fetched);
    let mut reader = node.store.reader().unwrap();
    let snapshot = reader.snapshot_of(&series.symbol).unwrap();
    let entries = snapshot.blocks_back(&series, market::Timestamp(5_000), 900).unwrap();
    assert_eq!(entries.len(), 90);
}
