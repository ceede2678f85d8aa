//! Trade block tests: round trips, golden blocks, and the size per trade.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use block::{BlockError, TRADE_ROWS_MAX, TradeBlock, encode_trades};
use market::{Price, Timestamp, Trade, TradeDirection, TradeType, Trades};
use proptest::collection::vec;
use proptest::prelude::*;

const HEAD: &str = "time,price,volume,direction,type\n";

fn decoded(bytes: &[u8]) -> Trades {
    let mut trades = Trades::default();
    TradeBlock::parse(bytes).unwrap().read_all(&mut trades).unwrap();
    trades
}

fn table(trades: &Trades) -> String {
    let mut text = HEAD.to_owned();
    for trade in trades.iter() {
        let Trade { time, price, volume, direction, kind } = trade;
        writeln!(text, "{},{},{volume},{},{kind}", time.0, price.0, direction.as_str()).unwrap();
    }
    text
}

fn parse_table(text: &str) -> Trades {
    let mut trades = Trades::default();
    for line in text.strip_prefix(HEAD).unwrap().lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<i64>().unwrap();
        trades.push(Trade {
            time: Timestamp(number(0)),
            price: Price(number(1)),
            volume: number(2),
            direction: TradeDirection::parse(fields[3].as_bytes()).unwrap(),
            kind: TradeType::from_code(fields[4].bytes().next().unwrap_or_default()).unwrap(),
        });
    }
    trades
}

fn golden(ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/trades-v1");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    files.sort();
    files
}

#[test]
fn version_1_blocks_decode_to_the_golden_trades() {
    let blocks = golden("block");
    assert_eq!(blocks.len(), 4);
    for path in blocks {
        let expected = std::fs::read_to_string(path.with_extension("csv")).unwrap();
        assert!(table(&decoded(&std::fs::read(&path).unwrap())) == expected, "{} differs", path.display());
    }
}

#[test]
fn the_current_encoder_round_trips_the_golden_trades() {
    let tables = golden("csv");
    assert_eq!(tables.len(), 4);
    for path in tables {
        let text = std::fs::read_to_string(&path).unwrap();
        let trades = parse_table(&text);
        assert!(table(&decoded(&encode_trades(&trades, 0..trades.len()).unwrap())) == text, "{path:?}");
    }
}

/// Generates the data set used in `docs/trade-block-format.md`: a busy day of a share with a tick
/// of 0.05 and lots of 100 shares. There are up to a dozen trades per second, most trades have few
/// lots, and one trade in thirty is an odd lot.
fn busy_day(rows: usize) -> Trades {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let (mut at, mut ticks) = (1_773_797_400i64, 12_000i64);
    let mut trades = Trades::default();
    for _ in 0..rows {
        at += [0, 0, 0, 0, 0, 1, 1, 2][next(8) as usize];
        ticks += [-1, 0, 0, 0, 0, 1][next(6) as usize];
        let lots = match next(20) {
            0 => 1 + next(400),
            1..=5 => 1 + next(40),
            _ => 1 + next(6),
        };
        let odd = next(30) == 0;
        trades.push(Trade {
            time: Timestamp(at),
            price: Price(ticks * 50_000),
            volume: if odd { 1 + next(99) as i64 } else { 100 * lots as i64 },
            direction: TradeDirection::from_code(next(7) as u8 % 3).unwrap(),
            kind: if odd { TradeType::from_code(b'D').unwrap() } else { TradeType::BLANK },
        });
    }
    trades
}

#[test]
fn a_trade_takes_at_most_six_bytes() {
    let trades = busy_day(100_000);
    let mut bytes = 0;
    for start in (0..trades.len()).step_by(TRADE_ROWS_MAX) {
        let rows = start..(start + TRADE_ROWS_MAX).min(trades.len());
        bytes += encode_trades(&trades, rows).unwrap().len();
    }
    let each = bytes as f64 / trades.len() as f64;
    println!("{bytes} bytes for {} trades: {each:.2} bytes a trade", trades.len());
    assert!(each <= 6.0, "{each}");
}

#[test]
fn invalid_trade_blocks_are_refused() {
    let trades = busy_day(3000);
    let good = encode_trades(&trades, 0..trades.len()).unwrap();
    for at in (0..good.len()).step_by(7) {
        let mut wrong = good.clone();
        wrong[at] ^= 0x10;
        assert!(TradeBlock::parse(&wrong).is_err(), "{at}");
        // Without the checksum, reading may return wrong trades or an error, but must not panic or
        // return a partial result.
        let mut out = Trades::default();
        if let Ok(block) = TradeBlock::parse_unchecked(&wrong) {
            let read = block.read_all(&mut out);
            assert!(if read.is_ok() { out.len() == block.rows() } else { out.is_empty() });
        }
        assert!(TradeBlock::parse(&good[..at]).is_err());
    }
    assert!(matches!(encode_trades(&trades, 0..0), Err(BlockError::TradeRows(0))));
    assert!(matches!(encode_trades(&trades, 0..3001), Err(BlockError::NoSuchRows { .. })));
    let mut turned = trades.clone();
    turned.time.swap(0, 2999);
    assert!(matches!(encode_trades(&turned, 0..3000), Err(BlockError::Descends(1))));
    let mut ragged = trades;
    ragged.kind.pop();
    assert!(matches!(encode_trades(&ragged, 0..3000), Err(BlockError::NoSuchRows { .. })));
}

prop_compose! {
    fn any_trades(rows: usize)(
        raw in vec((any::<i64>(), any::<i64>(), any::<i64>(), 0u8..4, prop_oneof![Just(0u8), 33u8..127]), 1..rows),
        small in any::<bool>(),
    ) -> Trades {
        let mut trades = Trades::default();
        for (time, price, volume, direction, kind) in raw {
            let shrink = |value: i64, by: i64| if small { value.rem_euclid(by) } else { value };
            trades.push(Trade {
                time: Timestamp(shrink(time, 1000)),
                price: Price(shrink(price, 50) * if small { 10_000 } else { 1 }),
                volume: shrink(volume, 900),
                direction: TradeDirection::from_code(direction).unwrap(),
                kind: TradeType::from_code(kind).unwrap(),
            });
        }
        trades.sorted()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_trades_round_trip(trades in any_trades(2500)) {
        let block = encode_trades(&trades, 0..trades.len()).unwrap();
        let parsed = TradeBlock::parse(&block).unwrap();
        prop_assert_eq!(parsed.rows(), trades.len());
        prop_assert_eq!(Some(parsed.first_time()), trades.time.first().copied());
        prop_assert_eq!(Some(parsed.last_time()), trades.time.last().copied());
        prop_assert_eq!(decoded(&block), trades);
    }
}
