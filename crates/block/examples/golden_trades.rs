//! Encodes a CSV table of trades as a golden block: `cargo run -p block --example golden-trades
//! TABLE.csv OUT.block`. Existing files under `tests/golden` must not be regenerated, so use this
//! only for a new format version.
#![allow(clippy::unwrap_used, reason = "a tool for our own files")]

use market::{Price, Timestamp, Trade, TradeDirection, TradeType, Trades};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let table = std::fs::read_to_string(arguments.next().unwrap()).unwrap();
    let mut trades = Trades::default();
    for line in table.lines().skip(1) {
        let mut fields = line.split(',');
        let mut next = || fields.next().unwrap();
        trades.push(Trade {
            time: Timestamp(next().parse().unwrap()),
            price: Price(next().parse().unwrap()),
            volume: next().parse().unwrap(),
            direction: TradeDirection::parse(next().as_bytes()).unwrap(),
            kind: TradeType::from_code(next().bytes().next().unwrap_or_default()).unwrap(),
        });
    }
    let block = block::encode_trades(&trades, 0..trades.len()).unwrap();
    std::fs::write(arguments.next().unwrap(), block).unwrap();
}
