//! Measures the bytes per candle and the encoding and decoding times for several block and page
//! sizes.
//!
//! Usage: `cargo run --release -p block --example measure-block [M1.BIN]`. The file contains
//! `[symbols, rows]`, followed for each symbol by the columns time, open, high, low, close, volume
//! and turnover. All numbers are little-endian i64, and prices and turnover are in thousandths.
//! Without a file, the example uses a random walk of similar shape.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement, not a server"
)]

use std::hint::black_box;
use std::time::Instant;

use block::{Block, Tuning, encode, encode_tuned};
use market::{Candles, Session};

const WINDOW: usize = 1000;
const SYMBOLS: usize = 40;
const READS: usize = 4000;

fn main() {
    let series = match std::env::args().nth(1) {
        Some(path) => read_series(&std::fs::read(path).unwrap()),
        None => (0..8).map(walk).collect(),
    };
    println!(
        "{:>6} {:>5} {:>5} {:>9} {:>9} {:>22} {:>22} {:>22}",
        "rows",
        "page",
        "level",
        "B/candle",
        "M rows/s",
        "window us p10/p50/p90",
        "block us p10/p50/p90",
        "closes us p10/p50/p90"
    );
    let default = [(4096, block::PAGE_ROWS, 6)];
    let others = [
        (4096, 256, 4),
        (4096, 256, 5),
        (4096, 256, 6),
        (4096, 512, 4),
        (4096, 512, 6),
        (8192, 256, 6),
        (8192, 512, 6),
    ];
    for (rows, page_rows, level) in default.into_iter().chain(others) {
        measure(&series, rows, Tuning { page_rows, level, ..Tuning::default() });
    }
    let same = series.iter().all(|candles| {
        let bytes = encode(candles, 0..4096).unwrap();
        let mut back = Candles::default();
        Block::parse(&bytes).unwrap().read_all(&mut back).unwrap();
        (0..4096).all(|row| back.get(row) == candles.get(row))
    });
    println!("decoded equals encoded: {same}");
}

fn measure(series: &[Candles], rows: usize, tuning: Tuning) {
    let mut blocks = Vec::new();
    let mut seconds = f64::INFINITY;
    for _ in 0..3 {
        blocks.clear();
        let begin = Instant::now();
        for candles in series {
            for start in (0..candles.len() / rows * rows).step_by(rows) {
                blocks.push(encode_tuned(candles, start..start + rows, tuning).unwrap());
            }
        }
        seconds = seconds.min(begin.elapsed().as_secs_f64());
    }
    let candles = blocks.len() * rows;
    let bytes: usize = blocks.iter().map(Vec::len).sum();

    let mut random = Random(7);
    let mut out = Candles::with_capacity(rows);
    let window = times(|| {
        let bytes = &blocks[random.below(blocks.len())];
        let start = random.below(rows - WINDOW + 1);
        let begin = Instant::now();
        out.clear();
        let block = Block::parse(black_box(bytes)).unwrap();
        block.read_rows(start..start + WINDOW, &mut out).unwrap();
        begin.elapsed()
    });
    let whole = times(|| {
        let bytes = &blocks[random.below(blocks.len())];
        let begin = Instant::now();
        out.clear();
        Block::parse(black_box(bytes)).unwrap().read_all(&mut out).unwrap();
        begin.elapsed()
    });
    let (mut time, mut close) = (Vec::new(), Vec::new());
    let closes = times(|| {
        let bytes = &blocks[random.below(blocks.len())];
        let begin = Instant::now();
        time.clear();
        close.clear();
        Block::parse(black_box(bytes)).unwrap().closes(0..i64::MAX, &mut time, &mut close).unwrap();
        begin.elapsed()
    });
    println!(
        "{rows:>6} {:>5} {:>5} {:>9.3} {:>9.2} {window:>22} {whole:>22} {closes:>22}",
        tuning.page_rows,
        tuning.level,
        bytes as f64 / candles as f64,
        candles as f64 / seconds / 1e6,
    );
}

fn times(mut run: impl FnMut() -> std::time::Duration) -> String {
    let mut times: Vec<f64> = (0..READS).map(|_| run().as_secs_f64() * 1e6).collect();
    times.sort_by(f64::total_cmp);
    format!("{:.1}/{:.1}/{:.1}", times[READS / 10], times[READS / 2], times[READS * 9 / 10])
}

fn read_series(bytes: &[u8]) -> Vec<Candles> {
    let numbers: Vec<i64> =
        bytes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
    let rows = numbers[1] as usize;
    let symbols = numbers[2..].chunks_exact(rows * 7);
    symbols
        .take(SYMBOLS)
        .map(|symbol| {
            let column = |index: usize| &symbol[index * rows..][..rows];
            let price = |index: usize| column(index).iter().map(|value| value * 1000).collect();
            Candles {
                time: column(0).to_vec(),
                open: price(1),
                high: price(2),
                low: price(3),
                close: price(4),
                volume: column(5).to_vec(),
                turnover: column(6).iter().map(|&value| i128::from(value) * 1000).collect(),
                session: vec![Session::Intraday; rows],
            }
        })
        .collect()
}

/// Generates one-minute candles of a share: a random walk in ticks, skewed volumes, and turnovers
/// at a random price between low and high.
fn walk(seed: u64) -> Candles {
    let mut random = Random(seed + 1);
    let (tick, lot) = [(10_000, 1), (10_000, 1), (50_000, 100), (1_000, 500)][seed as usize % 4];
    let mut close = 5_000 + random.below(5_000) as i64;
    let mut candles = Candles::default();
    for minute in 0..40_960i64 {
        let open = close + random.spread(1);
        close = (open + random.spread(6)).max(100);
        let (high, low) =
            (open.max(close) + random.spread(3).abs(), open.min(close) - random.spread(3).abs());
        let volume = (1 + random.spread(40).pow(2) * (1 + random.below(60) as i64)) * lot;
        let mean = (high + low) * tick / 2 + random.spread(8) * (high - low) * tick / 16;
        candles.time.push(1_736_170_200 + minute / 390 * 86_400 + minute % 390 * 60);
        candles.open.push(open * tick);
        candles.high.push(high * tick);
        candles.low.push(low * tick);
        candles.close.push(close * tick);
        candles.volume.push(volume);
        candles.turnover.push(i128::from(mean) * i128::from(volume) / 10_000 * 10_000);
        candles.session.push(Session::Intraday);
    }
    candles
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Returns an approximately normally distributed number with mean zero.
    fn spread(&mut self, width: i64) -> i64 {
        (0..4).map(|_| self.below(2 * width as usize + 1) as i64 - width).sum::<i64>() / 2
    }
}
