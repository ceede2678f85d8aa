//! Compares the hand-written candle encoder with `prost`, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use proptest::prelude::*;
use prost::Message;
use wire::quote::{Candlestick, SecurityCandlestickResponse};
use wire::{Row, encode_candles, encode_page, encode_symbol};

/// Reference implementation of the decimal format: rounds half away from zero, writes all decimals,
/// and writes no minus sign before a zero.
fn text(millionths: i128, decimals: u32) -> String {
    let step = 10u128.pow(6 - decimals);
    let size = millionths.unsigned_abs();
    let rounded = size / step + u128::from(size % step * 2 >= step && step > 1);
    let unit = 10u128.pow(decimals);
    let sign = if millionths < 0 && rounded > 0 { "-" } else { "" };
    match decimals {
        0 => format!("{sign}{rounded}"),
        _ => format!("{sign}{}.{:0width$}", rounded / unit, rounded % unit, width = decimals as usize),
    }
}

fn expected(symbol: &str, decimals: u32, rows: &[Row]) -> Vec<u8> {
    let price = |value: i64| text(value.into(), decimals);
    let candlestick = |row: &Row| Candlestick {
        close: price(row.close),
        open: price(row.open),
        low: price(row.low),
        high: price(row.high),
        volume: row.volume,
        turnover: text(row.turnover, 3),
        timestamp: row.time,
        trade_session: row.session.into(),
    };
    SecurityCandlestickResponse {
        symbol: symbol.to_owned(),
        candlesticks: rows.iter().map(candlestick).collect(),
    }
    .encode_to_vec()
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(0),
        Just(i64::MIN),
        Just(i64::MAX),
        any::<i64>(),
        -2_000_000i64..2_000_000,
        0..500_000_000i64,
        (0u32..19, -2i64..3).prop_map(|(power, offset)| 10i64.pow(power) + offset),
    ]
}

fn turnover() -> impl Strategy<Value = i128> {
    prop_oneof![
        Just(0),
        Just(i128::MIN),
        Just(i128::MAX),
        any::<i128>(),
        0..10i128.pow(24),
        number().prop_map(i128::from),
        (0u32..38, -600i128..600).prop_map(|(power, offset)| 10i128.pow(power) + offset),
    ]
}

prop_compose! {
    fn row()(
        (time, volume, turnover, session) in (number(), number(), turnover(), any::<u8>()),
        (open, high, low, close) in (number(), number(), number(), number()),
    ) -> Row {
        Row { time, open, high, low, close, volume, turnover, session }
    }
}

proptest! {
    #[test]
    fn responses_match_the_prost_encoding(
        symbol in "[A-Z.]{0,200}",
        decimals in 0u32..=6,
        rows in proptest::collection::vec(row(), 0..20),
    ) {
        let mut out = vec![7];
        encode_candles(&symbol, decimals, rows.iter().copied(), &mut out);
        prop_assert_eq!(&out[..1], &[7][..]);
        prop_assert_eq!(&out[1..], &expected(&symbol, decimals, &rows)[..]);
    }

    #[test]
    fn a_response_assembled_from_pages_equals_a_complete_response(decimals in 0u32..=6, rows in proptest::collection::vec(row(), 0..5)) {
        let (mut pieces, mut whole) = (Vec::new(), Vec::new());
        encode_symbol("700.HK", &mut pieces);
        for &row in &rows {
            encode_page(decimals, [row], &mut pieces, &mut Vec::new());
        }
        encode_candles("700.HK", decimals, rows, &mut whole);
        prop_assert_eq!(pieces, whole);
    }
}

/// Encodes one candle and returns the close and turnover that prost decodes.
fn shown(decimals: u32, close: i64, turnover: i128) -> (String, String) {
    let mut out = Vec::new();
    encode_candles("", decimals, [Row { close, turnover, ..Row::default() }], &mut out);
    let candle = SecurityCandlestickResponse::decode(out.as_slice()).unwrap().candlesticks.remove(0);
    (candle.close, candle.turnover)
}

#[test]
fn decimals_are_formatted_as_specified() {
    let prices: [(u32, i64, &str); 9] = [
        (3, 362_000_000, "362.000"),
        (3, 158_745_000, "158.745"),
        (3, 1_000_500, "1.001"),
        (3, 12_345_500, "12.346"),
        (3, 490, "0.000"),
        (3, -499, "0.000"),
        (3, -500, "-0.001"),
        (4, 123_450, "0.1235"),
        (0, 1_499_999, "1"),
    ];
    for (decimals, millionths, expected) in prices {
        assert_eq!(shown(decimals, millionths, 0).0, expected);
    }
    let turnovers: [(i128, &str); 4] = [
        (3_954_556_819_000_000, "3954556819.000"),
        (970_874_184_759_000, "970874184.759"),
        (77_269_032_800_000, "77269032.800"),
        (999_999_999_999_999_999_999_999, "1000000000000000000.000"),
    ];
    for (millionths, expected) in turnovers {
        assert_eq!(shown(3, 0, millionths).1, expected);
    }
}

#[test]
fn decimals_are_capped_at_six() {
    assert_eq!(shown(9, 1_234_567, 0).0, "1.234567");
}
