//! Measures ingest: `cargo run --release -p history --example measure-ingest [STORE]`. Sends
//! batches of 500 rows, one for each of 500 securities, with several updates per minute. A second
//! thread merges the batches, as in a server.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "it is a measurement"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use history::ingest::{CandleInput, GRACE_S, Head, Intake};
use market::{Candle, Grain, Market, Price, Session, Timestamp, Turnover, Venues};
use store::{Access, Store};

const BATCHES: i64 = 600;
const UPDATES: i64 = 4;

fn main() {
    let place = std::env::args().nth(1).unwrap();
    let venues = Venues::built_in().unwrap();
    let venue = venues.of(Market::Us);
    let day = venue.day("2026-07-15".parse().unwrap()).unwrap();
    let regular = day.minutes().filter(|(_, slot)| slot.segment.session == Session::Intraday);
    let stamps: Vec<Timestamp> = regular.map(|(at, _)| at).collect();
    let place: store::StoreUrl = place.parse().unwrap();
    let store = Store::open(place, Access::Write { now: Timestamp(0) }).unwrap();
    let (mut intake, mut merger) = Intake::open(&store, &venues, GRACE_S).unwrap();
    let ended = AtomicBool::new(false);
    let begun = Instant::now();
    let mut waits: Vec<Duration> = Vec::new();
    let now = |batch: i64| stamps[(batch / UPDATES) as usize].0 + 1 + batch % UPDATES;
    std::thread::scope(|scope| {
        let merges = scope.spawn(|| {
            let mut took = Vec::new();
            loop {
                let is_last = ended.load(Ordering::Acquire);
                let began = Instant::now();
                let merged = merger.merge(Timestamp(stamps[0].0)).unwrap();
                if merged.has_changed {
                    took.push(began.elapsed());
                } else if is_last {
                    return took;
                } else {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        for batch in 0..BATCHES {
            let rows = (0..500).map(|number| {
                let price = Price(100_000_000 + (batch * 7 + number) % 1_000 * 10_000);
                let candle = Candle {
                    time: stamps[(batch / UPDATES) as usize],
                    open: price,
                    high: price,
                    low: price,
                    close: price,
                    volume: 100 + batch,
                    turnover: Turnover(0),
                    session: Session::Intraday,
                };
                let symbol = format!("S{number}.US").parse().unwrap();
                Ok(CandleInput { symbol, grain: Grain::Minute, candle, is_final: None })
            });
            let rows = rows.collect();
            let head = Head { source: "measure", seq: Some(batch), gap: false, build: false };
            let began = Instant::now();
            intake.candles(&head, rows, now(batch) * 1_000_000, &|_| "{}".to_owned()).unwrap();
            waits.push(began.elapsed());
        }
        let took = begun.elapsed();
        ended.store(true, Ordering::Release);
        let merges = merges.join().unwrap();
        waits.sort();
        let rows = BATCHES * 500;
        println!("{rows} rows in {took:?}: {:.0} rows/s", rows as f64 / took.as_secs_f64());
        println!("commit p50 {:?} p99 {:?}", waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
        println!(
            "{} merges, longest {:?}, all merged after {:?}",
            merges.len(),
            merges.iter().max(),
            begun.elapsed()
        );
    });
}
