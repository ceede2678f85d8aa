//! Benchmark of store reads: `cargo run --release -p store --example measure_store [blocks]
//! [bytes]`.
//!
//! Fills a store in a temporary directory with random blocks and reads them in random order. Each
//! figure is the minimum, median and maximum of seven rounds.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for a terminal"
)]

use std::hint::black_box;
use std::time::Instant;

use market::{Grain, Timestamp};
use store::{Access, Lane, NewBlock, Series, Store};

const SERIES: usize = 100;
const ROWS: u32 = 4_000;
const SPAN: i64 = 60 * ROWS as i64;
const ROUNDS: usize = 7;

fn main() {
    let argument = |at: usize| std::env::args().nth(at).and_then(|text| text.parse::<usize>().ok());
    let (blocks, bytes) = (argument(1).unwrap_or(10_000), argument(2).unwrap_or(20_000));
    let each = blocks / SERIES;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Access::Write { now: Timestamp(0) }).unwrap();
    let all: Vec<Series> = (1..=SERIES)
        .map(|at| Series {
            symbol: format!("{at}.HK").parse().unwrap(),
            grain: Grain::Minute,
            lane: Lane::Regular,
        })
        .collect();
    let mut random = Random(1);
    let payload = fill(&store, &all, each, bytes, &mut random);

    let mut reader = store.reader().unwrap();
    let mut body = Vec::new();
    let reads = 20_000;
    let ids: Vec<i64> = (0..reads).map(|_| 1 + random.below(each * SERIES) as i64).collect();
    {
        let snapshot = reader.snapshot().unwrap();
        let entries: std::collections::HashMap<i64, store::BlockEntry> = all
            .iter()
            .flat_map(|series| snapshot.blocks(series, None, None).unwrap())
            .map(|entry| (entry.id, entry))
            .collect();
        report("block by id, snapshot open, copied", reads, || {
            for id in &ids {
                snapshot.block(&entries[id], &mut body).unwrap();
                black_box(&body);
            }
        });
        report("block by id, snapshot open, not copied", reads, || {
            for id in &ids {
                black_box(snapshot.with_block(&entries[id], |bytes| bytes[bytes.len() / 2]).unwrap());
            }
        });
        report("directory, 1,000 rows back from a point", reads, || {
            for id in &ids {
                let (series, at) = point(&all, *id, each);
                black_box(snapshot.blocks_back(series, at, 1_000).unwrap());
            }
        });
        report("directory, window in one block", reads, || {
            for id in &ids {
                let (series, at) = point(&all, *id, each);
                black_box(snapshot.blocks(series, Some(at), Some(Timestamp(at.0 + 600))).unwrap());
            }
        });
        report("one series' totals", reads, || {
            for id in &ids {
                black_box(snapshot.series(point(&all, *id, each).0).unwrap());
            }
        });
        report("one security", reads, || {
            for id in &ids {
                black_box(snapshot.security(&point(&all, *id, each).0.symbol).unwrap());
            }
        });
    }
    report("empty snapshot", reads, || {
        for _ in 0..reads {
            black_box(reader.snapshot().unwrap());
        }
    });
    report("request: snapshot, directory, one block", reads, || {
        for id in &ids {
            let (series, at) = point(&all, *id, each);
            let snapshot = reader.snapshot().unwrap();
            let entries = snapshot.blocks(series, Some(at), Some(Timestamp(at.0 + 600))).unwrap();
            snapshot.block(&entries[0], &mut body).unwrap();
            black_box(&body);
        }
    });
    drop(reader);
    held(&store, &ids);
    drop(store.writer().unwrap());
    let file = std::fs::metadata(store.path().unwrap()).unwrap().len();
    let over = (file as f64 / payload as f64 - 1.0) * 100.0;
    println!("file {file} bytes for {payload} bytes of blocks: {over:.1} % over");
}

/// Measures the lower bound: all reads reuse one prepared statement and bypass this crate's reader.
fn held(store: &Store, ids: &[i64]) {
    let conn = rusqlite::Connection::open(store.path().unwrap()).unwrap();
    conn.execute_batch("begin").unwrap();
    let mut statement = conn.prepare("select body from block_body where id = $1").unwrap();
    let mut body = Vec::new();
    report("floor: block by id, statement held, copied", ids.len(), || {
        for id in ids {
            let mut rows = statement.query([id]).unwrap();
            let row = rows.next().unwrap().unwrap();
            body.clear();
            body.extend_from_slice(row.get_ref(0).unwrap().as_blob().unwrap());
            black_box(&body);
        }
    });
}

fn fill(store: &Store, all: &[Series], each: usize, bytes: usize, random: &mut Random) -> u64 {
    let started = Instant::now();
    let mut payload = 0;
    let mut writer = store.writer().unwrap();
    for series in all {
        let added: Vec<NewBlock> = (0..each)
            .map(|at| {
                // Block sizes vary, as in a real store. Blocks of equal size would hide the unused
                // space at the end of pages.
                let len = bytes / 2 + random.below(bytes);
                payload += len as u64;
                let first = at as i64 * SPAN;
                let bytes = (0..len).map(|_| random.next() as u8).collect();
                NewBlock { first: Timestamp(first), last: Timestamp(first + SPAN - 60), rows: ROWS, bytes }
            })
            .collect();
        let mut batch = writer.begin().unwrap();
        batch.replace_blocks(series, &[], &added).unwrap();
        batch.commit().unwrap();
    }
    println!(
        "{} blocks written in {:.1} s, {} commits",
        each * all.len(),
        started.elapsed().as_secs_f64(),
        all.len()
    );
    payload
}

fn point(all: &[Series], id: i64, each: usize) -> (&Series, Timestamp) {
    let at = id as usize - 1;
    (&all[at / each], Timestamp((at % each) as i64 * SPAN + SPAN / 2))
}

fn report(what: &str, count: usize, mut round: impl FnMut()) {
    let mut us: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            round();
            started.elapsed().as_secs_f64() * 1e6 / count as f64
        })
        .collect();
    us.sort_by(f64::total_cmp);
    println!("{what:<45} {:>6.2} / {:>6.2} / {:>6.2} us", us[0], us[ROUNDS / 2], us[ROUNDS - 1]);
}

/// An xorshift generator. An external crate could change its sequence between versions, which would
/// make results incomparable.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}
