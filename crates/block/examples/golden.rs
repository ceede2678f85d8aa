//! Encodes a CSV table of candles as a golden block: `cargo run -p block --example golden-block
//! TABLE.csv OUT.block`. Existing files under `tests/golden` must not be regenerated, so use this
//! only for a new format version.
#![allow(clippy::unwrap_used, reason = "a tool for our own files")]

use market::{Candles, Session};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let table = std::fs::read_to_string(arguments.next().unwrap()).unwrap();
    let mut candles = Candles::default();
    for line in table.lines().skip(1) {
        let mut fields = line.split(',');
        let mut next = || fields.next().unwrap();
        candles.time.push(next().parse().unwrap());
        candles.open.push(next().parse().unwrap());
        candles.high.push(next().parse().unwrap());
        candles.low.push(next().parse().unwrap());
        candles.close.push(next().parse().unwrap());
        candles.volume.push(next().parse().unwrap());
        candles.turnover.push(next().parse().unwrap());
        candles.session.push(Session::parse(next()).unwrap());
    }
    let block = block::encode(&candles, 0..candles.len()).unwrap();
    std::fs::write(arguments.next().unwrap(), block).unwrap();
}
