use crate::pen::{self, write_varint};

/// Number of decimals of a price, unless the security defines another number.
pub const DECIMALS_DEFAULT: u32 = 3;
/// Maximum number of decimals of a price, because prices are in millionths.
pub const DECIMALS_MAX: u32 = 6;

/// One candle of a response. Prices and turnover are in millionths of the currency, `time` is in
/// Unix seconds, and `session` is the protocol's session number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub time: i64,
    pub open: i64,
    pub high: i64,
    pub low: i64,
    pub close: i64,
    pub volume: i64,
    pub turnover: i128,
    pub session: u8,
}

// Protobuf tags of `SecurityCandlestickResponse` and `Candlestick`: field number x 8 + wire type (0
// for a varint, 2 for a string or message).
const SYMBOL: u8 = 1 << 3 | 2;
const CANDLESTICKS: u8 = 2 << 3 | 2;
const CLOSE: u8 = 1 << 3 | 2;
const OPEN: u8 = 2 << 3 | 2;
const LOW: u8 = 3 << 3 | 2;
const HIGH: u8 = 4 << 3 | 2;
const VOLUME: u8 = 5 << 3;
const TURNOVER: u8 = 6 << 3 | 2;
const TIMESTAMP: u8 = 7 << 3;
const TRADE_SESSION: u8 = 8 << 3;

/// Approximate encoded size of a candle, used to reserve memory.
const CANDLE_BYTES: usize = 64;

/// Appends a complete `SecurityCandlestickResponse` to `out`. Prices have exactly `decimals`
/// decimals (at most [`DECIMALS_MAX`]) and turnover has three; both are rounded half away from
/// zero.
pub fn encode_candles(symbol: &str, decimals: u32, rows: impl IntoIterator<Item = Row>, out: &mut Vec<u8>) {
    let rows = rows.into_iter();
    out.reserve(symbol.len() + 8 + rows.size_hint().0 * CANDLE_BYTES);
    encode_symbol(symbol, out);
    encode_all(decimals, rows, out, |_| ());
}

/// Appends `rows` to `out` as elements of a response's `candlesticks` field, and pushes each
/// element's end offset in `out` to `ends`, so that the bytes can be sliced at any candle.
pub fn encode_page(
    decimals: u32,
    rows: impl IntoIterator<Item = Row>,
    out: &mut Vec<u8>,
    ends: &mut Vec<u32>,
) {
    // A page is far smaller than 4 GiB, so its offsets fit into `u32`.
    encode_all(decimals, rows.into_iter(), out, |end| ends.push(end as u32));
}

fn encode_all(decimals: u32, rows: impl Iterator<Item = Row>, out: &mut Vec<u8>, ended: impl FnMut(usize)) {
    match decimals {
        0 => encode_rows::<0>(rows, out, ended),
        1 => encode_rows::<1>(rows, out, ended),
        2 => encode_rows::<2>(rows, out, ended),
        3 => encode_rows::<3>(rows, out, ended),
        4 => encode_rows::<4>(rows, out, ended),
        5 => encode_rows::<5>(rows, out, ended),
        DECIMALS_MAX.. => encode_rows::<6>(rows, out, ended),
    }
}

/// Appends the `symbol` field of a response.
pub fn encode_symbol(symbol: &str, out: &mut Vec<u8>) {
    // Protobuf omits fields that have their default value.
    if !symbol.is_empty() {
        out.push(SYMBOL);
        write_varint(symbol.len() as u64, out);
        out.extend_from_slice(symbol.as_bytes());
    }
}

fn encode_rows<const DECIMALS: u32>(
    rows: impl Iterator<Item = Row>,
    out: &mut Vec<u8>,
    mut ended: impl FnMut(usize),
) {
    let mut book = pen::book();
    let mut filled = 0;
    for row in rows {
        let Some(sheet) = pen::sheet(&mut book, filled) else { continue };
        // The first two bytes are reserved for the message's tag and length, which are written
        // last.
        let mut at = 2;
        let prices = [row.close, row.open, row.low, row.high];
        at = pen::prices::<DECIMALS>(sheet, at, [CLOSE, OPEN, LOW, HIGH], prices);
        at = pen::number(sheet, at, VOLUME, row.volume);
        at = pen::turnover(sheet, at, TURNOVER, row.turnover);
        at = pen::time(sheet, at, TIMESTAMP, row.time);
        at = pen::number(sheet, at, TRADE_SESSION, i64::from(row.session));
        filled += pen::end_message(sheet, CANDLESTICKS, at);
        ended(out.len() + filled);
        if filled >= pen::FULL {
            out.extend_from_slice(book.get(..filled).unwrap_or_default());
            filled = 0;
        }
    }
    out.extend_from_slice(book.get(..filled).unwrap_or_default());
}
