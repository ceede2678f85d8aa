//! Microseconds for an answer of a thousand candles: `cargo run --release -p wire --example measure-wire`.
#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "a measurement, not a server")]

use std::hint::black_box;
use std::time::Instant;

use wire::{DECIMALS_DEFAULT, Row, encode_candles};

const RUNS: usize = 5000;

fn main() {
    let rows: Vec<Row> = (0..1000i64)
        .map(|minute| {
            let open = 346_440_000 + minute * 7919 % 5_000 * 10_000;
            let volume = 1_200 + minute * minute * 104_729 % 900_000;
            Row {
                time: 1_736_170_200 + minute * 60,
                open,
                high: open + 150_000,
                low: open - 90_000,
                close: open + 40_000,
                volume,
                turnover: i128::from(open + 20_000) * i128::from(volume),
                session: 0,
            }
        })
        .collect();
    let mut out = Vec::new();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let begin = Instant::now();
            out.clear();
            encode_candles("700.HK", DECIMALS_DEFAULT, black_box(&rows).iter().copied(), &mut out);
            black_box(&out);
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times[RUNS * share / 100];
    println!(
        "{} bytes; us for 1000 candles, p10 {:.1}, p50 {:.1}, p90 {:.1}",
        out.len(),
        at(10),
        at(50),
        at(90)
    );
}
