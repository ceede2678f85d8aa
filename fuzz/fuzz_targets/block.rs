//! Arbitrary bytes: an error or candles, never a panic or a large allocation, with and without the
//! checksum. Arbitrary candles: a round trip returns the same candles. The same for trades.
#![no_main]

use arbitrary::Arbitrary;
use block::{Block, ROWS_MAX, TRADE_ROWS_MAX, TradeBlock, encode, encode_trades};
use libfuzzer_sys::fuzz_target;
use market::{Candles, Price, Session, Timestamp, Trade, TradeDirection, TradeType, Trades};

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Bytes(&'a [u8]),
    /// A valid block with some bytes changed, which reaches more code than random bytes.
    Damaged { rows: Vec<Row>, changes: Vec<(u16, u8)> },
    Candles(Vec<Row>),
    /// Step, price, volume, direction and type of each trade, and the changed bytes of their block.
    Trades { rows: Vec<(u16, i64, i64, u8)>, changes: Vec<(u16, u8)> },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Row {
    step: u16,
    prices: [i64; 4],
    volume: i64,
    turnover: i128,
    session: u8,
}

fuzz_target!(|input: Input<'_>| match input {
    Input::Bytes(bytes) => read(bytes),
    Input::Damaged { rows, changes } => {
        let candles = candles(&rows);
        let Ok(mut bytes) = encode(&candles, 0..candles.len()) else { return };
        for (at, byte) in changes {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        // Repair the length field, so that the code after its check is reached.
        let length = (bytes.len() as u32).to_le_bytes();
        bytes[6..10].copy_from_slice(&length);
        read(&bytes);
    }
    Input::Candles(rows) => {
        let candles = candles(&rows);
        if candles.is_empty() || candles.len() > ROWS_MAX {
            return;
        }
        let bytes = encode(&candles, 0..candles.len()).expect("ascending candles encode");
        let mut back = Candles::default();
        Block::parse(&bytes).expect("a block parses").read_all(&mut back).expect("a block decodes");
        assert_eq!(back, candles);
    }
    Input::Trades { rows, changes } => {
        let trades = trades(&rows);
        if trades.is_empty() || trades.len() > TRADE_ROWS_MAX {
            return;
        }
        let mut bytes = encode_trades(&trades, 0..trades.len()).expect("trades in order encode");
        let mut back = Trades::default();
        TradeBlock::parse(&bytes).expect("a block parses").read_all(&mut back).expect("a block decodes");
        assert_eq!(back, trades);
        for (at, byte) in changes {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let length = (bytes.len() as u32).to_le_bytes();
        bytes[6..10].copy_from_slice(&length);
        read(&bytes);
    }
});

fn trades(rows: &[(u16, i64, i64, u8)]) -> Trades {
    let (mut trades, mut time) = (Trades::default(), 0);
    for (step, price, volume, code) in rows {
        time += i64::from(*step);
        trades.push(Trade {
            time: Timestamp(time),
            price: Price(*price),
            volume: *volume,
            direction: TradeDirection::ALL[usize::from(code % 4)],
            kind: TradeType::from_code(33 + code % 94).unwrap_or_default(),
        });
    }
    trades
}

fn read(bytes: &[u8]) {
    for block in [Block::parse(bytes), Block::parse_unchecked(bytes)].into_iter().flatten() {
        let mut out = Candles::default();
        let _ = block.read_all(&mut out);
        assert!(out.len() <= ROWS_MAX && out.session.len() == out.len());
        let _ = block.read(block.first_time()..block.last_time(), &mut Candles::default());
        let _ = block.closes(i64::MIN..i64::MAX, &mut Vec::new(), &mut Vec::new());
    }
    for block in [TradeBlock::parse(bytes), TradeBlock::parse_unchecked(bytes)].into_iter().flatten() {
        let mut out = Trades::default();
        let _ = block.read_all(&mut out);
        assert!(out.len() <= TRADE_ROWS_MAX && out.kind.len() == out.len());
    }
}

fn candles(rows: &[Row]) -> Candles {
    let mut candles = Candles::default();
    let mut time = 0;
    for row in rows {
        time += i64::from(row.step) + 1;
        let [open, high, low, close] = row.prices;
        candles.time.push(time);
        candles.open.push(open);
        candles.high.push(high);
        candles.low.push(low);
        candles.close.push(close);
        candles.volume.push(row.volume);
        candles.turnover.push(row.turnover);
        candles.session.push(Session::ALL[usize::from(row.session % 4)]);
    }
    candles
}
