//! Benchmarks encoding a response with a thousand candles (microseconds) and decoding a request
//! (nanoseconds): `cargo run --release -p wire --example measure-wire`.
#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a measurement, not a server"
)]

use std::hint::black_box;
use std::time::Instant;

use prost::Message;
use wire::quote::{DateRequest, SecurityHistoryCandlestickRequest};
use wire::{DECIMALS_DEFAULT, FrameDecoder, Limits, Packet, Row, encode_candles};

const RUNS: usize = 5000;

fn main() {
    candles();
    question();
    unmasking();
}

/// Measures decoding a request, from the masked frame to the message.
fn question() {
    let query = SecurityHistoryCandlestickRequest {
        symbol: "AAPL.US".into(),
        period: 1000,
        query_type: 2,
        date_request: Some(DateRequest { start_date: "20240102".into(), end_date: "20240628".into() }),
        ..Default::default()
    };
    let packet =
        Packet::Request { command: 27, id: 3, timeout_ms: 30_000, body: query.encode_to_vec().into() };
    let mut bytes = Vec::new();
    packet.encode(&mut bytes).expect("a short packet");
    let frame = masked(&bytes);
    let mut decoder = FrameDecoder::new(Limits::REQUEST.body);
    let nanoseconds = nanoseconds(100_000, || {
        let mut input = black_box(&frame[..]);
        let Ok(Some(wire::Message::Binary(message))) = decoder.decode(&mut input) else { return };
        let packet = Packet::decode(&message, Limits::REQUEST).expect("the packet");
        black_box(SecurityHistoryCandlestickRequest::decode(packet.body()).expect("the query"));
    });
    println!("{} bytes; {nanoseconds:.0} ns for a question, frame to message", frame.len());
}

fn unmasking() {
    const LENGTH: usize = 60_000;
    let frame = masked(&vec![7; LENGTH]);
    let mut decoder = FrameDecoder::new(LENGTH);
    let nanoseconds = nanoseconds(10_000, || {
        black_box(decoder.decode(&mut black_box(&frame[..]))).ok();
    });
    println!("{:.1} GB/s for frames of {LENGTH} bytes", LENGTH as f64 / nanoseconds);
}

fn masked(payload: &[u8]) -> Vec<u8> {
    let mask = [0x12, 0x34, 0x56, 0x78];
    let mut frame = vec![0x82];
    if payload.len() < 126 {
        frame.push(0x80 | payload.len() as u8);
    } else {
        frame.push(0x80 | 126);
        frame.extend((payload.len() as u16).to_be_bytes());
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn nanoseconds(runs: u32, mut run: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..runs).for_each(|_| run());
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(runs)
}

fn candles() {
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
    let packed = wire::compress(&out).map_or(0, |packed| packed.len());
    let microseconds = nanoseconds(200, || {
        black_box(wire::compress(black_box(&out)));
    }) / 1000.0;
    println!("{packed} bytes packed; {microseconds:.0} us to pack them");
}
