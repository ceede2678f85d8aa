//! Tests that candles round-trip exactly and that damaged blocks are refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use block::{
    Block, BlockError, Effort, PAGE_ROWS, PAGE_ROWS_MAX, ROWS_MAX, Tuning, encode, encode_tuned, encode_with,
};
use market::{Candles, Session};
use proptest::collection::vec;
use proptest::prelude::*;

/// How a test column is filled. Random fills produce every column encoding, in all combinations.
#[derive(Clone, Debug)]
enum Fill {
    Same(i64),
    Ticks { base: i64, spread: i64, tick: i64 },
    Rare(i64),
    Any,
}

fn fill() -> impl Strategy<Value = Fill> {
    prop_oneof![
        prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX), any::<i64>()].prop_map(Fill::Same),
        (0i64..1_000_000, 1i64..100_000, prop_oneof![Just(1i64), Just(10_000), Just(50_000)])
            .prop_map(|(base, spread, tick)| Fill::Ticks { base, spread, tick }),
        any::<i64>().prop_map(Fill::Rare),
        Just(Fill::Any),
    ]
}

impl Fill {
    fn column(&self, raw: &[i64]) -> Vec<i64> {
        let value = |(row, &raw): (usize, &i64)| match *self {
            Fill::Same(value) => value,
            Fill::Ticks { base, spread, tick } => (base + raw.rem_euclid(spread)) * tick,
            Fill::Rare(value) if row % 97 == 41 => raw >> 33 | value & 1,
            Fill::Rare(value) => value,
            Fill::Any => [raw, i64::MIN, i64::MAX, 0][(raw & 3) as usize],
        };
        raw.iter().enumerate().map(value).collect()
    }
}

/// Returns times at one-minute intervals with overnight gaps if `even`, and arbitrary times
/// otherwise.
fn times(raw: &[i64], even: bool) -> Vec<i64> {
    let mut times = raw.to_vec();
    if even {
        let day = |row: i64| row / 130 * 86_400 + row % 130 * 60;
        times = (0..raw.len() as i64).map(|row| 1_736_170_200 + day(row)).collect();
    }
    times.sort_unstable();
    times.dedup();
    times
}

prop_compose! {
    fn candles(rows: usize)(
        raw in vec(any::<i64>(), 1..rows),
        even in any::<bool>(),
        fills in proptest::array::uniform5(fill()),
        one_walk in any::<bool>(),
        amount in 0u8..5,
        mixed in any::<bool>(),
    ) -> Candles {
        let time = times(&raw, even);
        let raw = &raw[..time.len()];
        let turned = |by: u32| -> Vec<i64> { raw.iter().map(|raw| raw.rotate_left(by)).collect() };
        // The four prices of a candle are either unrelated or close to each other.
        let price = |index: usize, by: u32| match one_walk {
            true => fills[0].column(raw).iter().zip(turned(by)).map(|(p, r)| p.wrapping_add(r & 0xff)).collect(),
            false => fills[index].column(&turned(by)),
        };
        let (open, high, low, close) = (price(0, 0), price(1, 11), price(2, 23), price(3, 37));
        let volume = fills[4].column(&turned(51));
        let turnover = (0..raw.len()).map(|row| match amount {
            0 => 0,
            1 => i128::from(high[row]) * i128::from(volume[row]) / 10_000 * 10_000,
            2 => i128::from(low[row]).wrapping_mul(i128::from(volume[row])).wrapping_mul(100),
            3 => i128::from(raw[row]) << 20,
            _ => [i128::MIN, i128::MAX, 10i128.pow(24) - 1, i128::from(raw[row])][(raw[row] & 3) as usize],
        }).collect();
        let session = |raw: &i64| if mixed { Session::ALL[(raw >> 3 & 3) as usize] } else { Session::Post };
        let session = raw.iter().map(session).collect();
        Candles { time, open, high, low, close, volume, turnover, session }
    }
}

fn cut(candles: &Candles, rows: std::ops::Range<usize>) -> Candles {
    let mut candles = candles.clone();
    candles.retain_rows(rows);
    candles
}

fn decoded(bytes: &[u8]) -> Result<Candles, BlockError> {
    let mut out = Candles::default();
    Block::parse(bytes)?.read_all(&mut out)?;
    Ok(out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_candles_round_trip_exactly(candles in candles(700), page_rows in 1..=PAGE_ROWS_MAX) {
        let tuned = encode_tuned(&candles, 0..candles.len(), Tuning { page_rows, level: 4, ..Tuning::default() }).unwrap();
        prop_assert_eq!(&decoded(&tuned).unwrap(), &candles);
        let running = encode_with(&candles, 0..candles.len(), Effort::Running).unwrap();
        prop_assert_eq!(&decoded(&running).unwrap(), &candles);
        let bytes = encode(&candles, 0..candles.len()).unwrap();
        prop_assert_eq!(&decoded(&bytes).unwrap(), &candles);
        let block = Block::parse(&bytes).unwrap();
        prop_assert_eq!(block.rows(), candles.len());
        prop_assert_eq!(Some(&block.first_time()), candles.time.first());
        prop_assert_eq!(Some(&block.last_time()), candles.time.last());
    }

    #[test]
    fn only_the_given_rows_are_encoded(candles in candles(300), cuts in any::<[u16; 2]>()) {
        let mut cuts = cuts.map(|cut| usize::from(cut) % (candles.len() + 1));
        cuts.sort_unstable();
        let [start, end] = cuts;
        match encode(&candles, start..end) {
            Ok(bytes) => prop_assert_eq!(decoded(&bytes).unwrap(), cut(&candles, start..end)),
            Err(error) => prop_assert!(start == end && matches!(error, BlockError::Rows(0))),
        }
    }

    #[test]
    fn reading_a_window_returns_only_its_candles(
        candles in candles(500), page_rows in 1usize..200, cuts in any::<[u16; 2]>(), off in any::<[bool; 2]>(),
    ) {
        let bytes = encode_tuned(&candles, 0..candles.len(), Tuning { page_rows, level: 4, ..Tuning::default() }).unwrap();
        let block = Block::parse(&bytes).unwrap();
        let mut cuts = cuts.map(|cut| usize::from(cut) % candles.len());
        cuts.sort_unstable();
        let [start, end] = cuts;

        let before = cut(&candles, 0..1);
        let mut out = before.clone();
        block.read_rows(start..end, &mut out).unwrap();
        let mut expected = before.clone();
        expected.append(&cut(&candles, start..end));
        prop_assert_eq!(&out, &expected);

        // Each end of the window is at a candle or one second after a candle.
        let window = candles.time[start].saturating_add(off[0].into())..candles.time[end].saturating_add(off[1].into());
        let within: Vec<usize> = (0..candles.len()).filter(|&row| window.contains(&candles.time[row])).collect();
        let within = within.first().map_or(0..0, |&first| first..first + within.len());
        let mut out = before.clone();
        block.read(window.clone(), &mut out).unwrap();
        let mut expected = before;
        expected.append(&cut(&candles, within.clone()));
        prop_assert_eq!(&out, &expected);

        let (mut time, mut close) = (vec![1], vec![2]);
        block.closes(window, &mut time, &mut close).unwrap();
        prop_assert_eq!(&time[1..], &candles.time[within.clone()]);
        prop_assert_eq!(&close[1..], &candles.close[within]);
    }

    #[test]
    fn a_flipped_bit_is_detected(candles in candles(300), at in any::<u32>()) {
        let mut bytes = encode(&candles, 0..candles.len()).unwrap();
        let bit = at as usize % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Block::parse(&bytes).is_err());
        read_everything_unchecked(&bytes);
    }

    #[test]
    fn truncated_or_extended_blocks_are_refused(candles in candles(300), at in any::<u32>(), more in vec(any::<u8>(), 1..9)) {
        let mut bytes = encode(&candles, 0..candles.len()).unwrap();
        let short = &bytes[..at as usize % bytes.len()];
        prop_assert!(Block::parse(short).is_err());
        read_everything_unchecked(short);
        bytes.extend(more);
        prop_assert!(Block::parse(&bytes).is_err());
    }

    #[test]
    fn reading_corrupted_blocks_unchecked_does_not_panic(
        candles in candles(300), changes in vec((any::<u32>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = encode(&candles, 0..candles.len()).unwrap();
        for (at, byte) in changes {
            let at = at as usize % bytes.len();
            bytes[at] = byte;
        }
        read_everything_unchecked(&bytes);
    }
}

/// Reads a block with every method, without verifying the checksum. The candles may be wrong, but
/// there must be at most [`ROWS_MAX`] rows, and all columns must have the same length.
fn read_everything_unchecked(bytes: &[u8]) {
    let Ok(block) = Block::parse_unchecked(bytes) else { return };
    let mut out = Candles::default();
    if block.read_all(&mut out).is_ok() {
        assert_eq!(out.len(), block.rows());
    } else {
        assert!(out.is_empty());
    }
    assert!(out.len() <= ROWS_MAX && out.session.len() == out.len() && out.turnover.len() == out.len());
    let mut out = Candles::default();
    let _ = block.read(block.first_time() / 2..block.last_time() / 2, &mut out);
    assert!(out.len() <= ROWS_MAX && out.session.len() == out.len() && out.turnover.len() == out.len());
    let _ = block.closes(i64::MIN..i64::MAX, &mut Vec::new(), &mut Vec::new());
}

fn minutes(rows: usize) -> Candles {
    let row = |row: usize| row as i64;
    Candles {
        time: (0..rows).map(|at| row(at) * 60).collect(),
        open: (0..rows).map(|at| 1_000_000 + row(at) % 7 * 10_000).collect(),
        high: (0..rows).map(|at| 1_090_000 + row(at) % 11 * 10_000).collect(),
        low: (0..rows).map(|at| 900_000 + row(at) % 5 * 10_000).collect(),
        close: (0..rows).map(|at| 1_000_000 + row(at) % 3 * 10_000).collect(),
        volume: (0..rows).map(|at| row(at) * 7919 % 1000 * 100).collect(),
        turnover: vec![0; rows],
        session: vec![Session::Intraday; rows],
    }
}

#[test]
fn a_block_holds_at_most_rows_max_candles() {
    let candles = minutes(ROWS_MAX + 1);
    let bytes = encode(&candles, 0..ROWS_MAX).unwrap();
    assert_eq!(decoded(&bytes).unwrap(), cut(&candles, 0..ROWS_MAX));
    assert!(matches!(encode(&candles, 0..ROWS_MAX + 1), Err(BlockError::Rows(rows)) if rows == ROWS_MAX + 1));
}

#[test]
fn invalid_input_returns_a_specific_error() {
    let mut candles = minutes(10);
    let range = 3..11;
    assert!(matches!(encode(&candles, range), Err(BlockError::NoSuchRows { start: 3, end: 11, len: 10 })));
    candles.time[4] = candles.time[3];
    assert!(matches!(encode(&candles, 0..10), Err(BlockError::Order(4))));
    assert!(encode(&candles, 4..10).is_ok(), "the row before the range is not looked at");
    candles.close.pop();
    assert!(matches!(encode(&candles, 0..3), Err(BlockError::Ragged)));

    let bytes = encode(&minutes(10), 0..10).unwrap();
    let changed = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        Block::parse(&bytes).map(|_| ()).unwrap_err()
    };
    assert!(matches!(changed(0, b'X'), BlockError::Magic));
    assert!(matches!(changed(4, 2), BlockError::Version(2)));
    assert!(matches!(changed(5, 9), BlockError::Codec(9)));
    assert!(matches!(changed(6, 0), BlockError::Length { .. }));
    assert!(matches!(changed(30, 77), BlockError::Checksum));
    assert!(matches!(Block::parse(b"CND").map(|_| ()), Err(BlockError::Magic)));
    let mut out = Candles::default();
    let read = Block::parse(&bytes).unwrap().read_rows(4..11, &mut out);
    assert!(matches!(read, Err(BlockError::OutOfRange { start: 4, end: 11, rows: 10 })));
}

#[test]
fn a_zero_turnover_column_takes_no_bytes() {
    let without = minutes(4 * PAGE_ROWS);
    let mut with = without.clone();
    with.turnover
        .iter_mut()
        .zip(&with.volume)
        .for_each(|(t, v)| *t = i128::from(*v) * 1_000_000 + i128::from(v % 977));
    let size = |candles: &Candles| encode(candles, 0..candles.len()).unwrap().len();
    assert!(size(&with) > size(&without));
    let mut one = without.clone();
    one.turnover.fill(5);
    assert_eq!(size(&one), size(&without) + 8, "a constant column is its one value");
}

#[test]
fn overnight_gaps_take_few_bytes() {
    let mut candles = minutes(1560);
    let even = encode(&candles, 0..1560).unwrap().len();
    candles.time.iter_mut().enumerate().for_each(|(row, time)| *time += row as i64 / 390 * 63_000);
    let nights = encode(&candles, 0..1560).unwrap().len();
    assert!(nights <= even + 60, "{nights} bytes with nights, {even} without");
}
