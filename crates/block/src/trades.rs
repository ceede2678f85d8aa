//! Trade blocks, specified in `docs/trade-block-format.md`. Trade blocks use the same column
//! encoding and checksum as candle blocks.

use std::ops::Range;

use market::{TradeDirection, TradeType, Trades};
use pco::wrapped::{FileCompressor, FileDecompressor};

use crate::BlockError;
use crate::column::{Column, Kind, Narrow, Packed, SPARSE_ROWS};
use crate::layout::{CODEC, CODEC_MAJOR, Cursor, seal, sealed};
use crate::unit::{Divisor, common_divisor, common_unit};

const MAGIC: [u8; 4] = *b"CNDT";
const VERSION: u8 = 1;
/// Maximum number of trades in a block.
pub const TRADE_ROWS_MAX: usize = 32_768;
/// Number of rows in a page, the unit of decoding.
const PAGE_ROWS: usize = 1024;
const _: () = assert!(PAGE_ROWS <= crate::PAGE_ROWS_MAX);
/// Number of columns: time steps, price steps, volumes, and direction combined with type.
const COLUMNS: usize = 4;
/// Compression level, the same as for one-minute candles.
const LEVEL: usize = 5;
/// Number of bytes that the codec may read ahead.
const READ_AHEAD: usize = 5000;

/// Exclusive upper bound of codes. A code has eight bits for the trade type and two bits for the
/// direction.
const CODES: i64 = 1 << 10;

const CUT_SHORT: BlockError = BlockError::Malformed("it is truncated");
const BEYOND: BlockError = BlockError::Malformed("a page does not fill its slot");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    rows: usize,
    first_time: i64,
    last_time: i64,
    time_unit: u64,
    price_unit: i64,
    volume_unit: i64,
    /// Price of the first trade, in price units.
    first_price: i64,
    codec_version: [u8; 2],
    kinds: [Kind; COLUMNS],
    constants: [i64; COLUMNS],
}

/// Encodes the trades in `rows` as one block, of at most [`TRADE_ROWS_MAX`] trades. Times may
/// repeat but must not descend; all other fields may have any value.
pub fn encode_trades(trades: &Trades, rows: Range<usize>) -> Result<Vec<u8>, BlockError> {
    let no_such = || BlockError::NoSuchRows { start: rows.start, end: rows.end, len: trades.len() };
    let time = trades.time.get(rows.clone()).ok_or_else(no_such)?;
    let price = trades.price.get(rows.clone()).ok_or_else(no_such)?;
    let volume = trades.volume.get(rows.clone()).ok_or_else(no_such)?;
    let direction = trades.direction.get(rows.clone()).ok_or_else(no_such)?;
    let kind = trades.kind.get(rows.clone()).ok_or_else(no_such)?;
    let (Some(&first_time), Some(&last_time)) = (time.first(), time.last()) else {
        return Err(BlockError::TradeRows(0));
    };
    if [price.len(), volume.len(), direction.len(), kind.len()] != [time.len(); 4] {
        return Err(BlockError::Ragged);
    }
    if time.len() > TRADE_ROWS_MAX {
        return Err(BlockError::TradeRows(time.len()));
    }
    if let Some(at) = time.windows(2).position(|pair| matches!(pair, [a, b] if a > b)) {
        return Err(BlockError::Descends(at + 1));
    }
    let (price_unit, volume_unit) = (common_unit(&[price]), common_unit(&[volume]));
    let (times, time_unit) = time_steps(time);
    let ticks = divided(price, price_unit);
    let first_price = ticks.first().copied().unwrap_or_default();
    let columns = [times, steps(&ticks), divided(volume, volume_unit), codes(direction, kind)];
    let mut packed = Vec::with_capacity(COLUMNS);
    for column in &columns {
        packed.push(Packed::new(column, PAGE_ROWS, (LEVEL, SPARSE_ROWS))?);
    }
    let (mut kinds, mut constants) = ([Kind::Zero; COLUMNS], [0; COLUMNS]);
    for ((kind, constant), packed) in kinds.iter_mut().zip(&mut constants).zip(&packed) {
        (*kind, *constant) = (packed.kind, packed.constant);
    }
    let mut codec_version = [0; 2];
    FileCompressor::default().write_header(codec_version.as_mut_slice())?;
    let header = Header {
        rows: time.len(),
        first_time,
        last_time,
        time_unit,
        price_unit,
        volume_unit,
        first_price,
        codec_version,
        kinds,
        constants,
    };
    let mut block = Vec::with_capacity(time.len() * 4 + 1024);
    header.write(&mut block);
    for column in &packed {
        block = column.write_tables(block)?;
    }
    for page in 0..time.len().div_ceil(PAGE_ROWS) {
        for column in &mut packed {
            block = column.write_page(page, block)?;
        }
    }
    seal(&mut block);
    Ok(block)
}

/// A trade block with verified checksum and header.
#[derive(Clone, Copy, Debug)]
pub struct TradeBlock<'a> {
    header: Header,
    body: &'a [u8],
}

impl<'a> TradeBlock<'a> {
    /// Parses a trade block and verifies its magic, versions, length, checksum and header.
    pub fn parse(bytes: &'a [u8]) -> Result<TradeBlock<'a>, BlockError> {
        TradeBlock::of(sealed(bytes, MAGIC, VERSION, crate::layout::Check::Full)?)
    }

    /// Like [`TradeBlock::parse`], but without verifying the checksum, for fuzzing. The decoded
    /// trades may be wrong.
    #[doc(hidden)]
    pub fn parse_unchecked(bytes: &'a [u8]) -> Result<TradeBlock<'a>, BlockError> {
        TradeBlock::of(sealed(bytes, MAGIC, VERSION, crate::layout::Check::AllButChecksum)?)
    }

    fn of(mut cursor: Cursor<'a>) -> Result<TradeBlock<'a>, BlockError> {
        let header = Header::read(&mut cursor)?;
        Ok(TradeBlock { header, body: cursor.0 })
    }

    pub fn rows(&self) -> usize {
        self.header.rows
    }

    pub fn first_time(&self) -> i64 {
        self.header.first_time
    }

    pub fn last_time(&self) -> i64 {
        self.header.last_time
    }

    /// Appends all trades to `out`. On error, `out` is unchanged.
    pub fn read_all(&self, out: &mut Trades) -> Result<(), BlockError> {
        let before = out.len();
        let read = self.read(out);
        if read.is_err() {
            out.truncate(before);
        }
        read
    }

    fn read(&self, out: &mut Trades) -> Result<(), BlockError> {
        let Header { rows, .. } = self.header;
        let (codec, _) = FileDecompressor::new(self.header.codec_version.as_slice())?;
        let mut rest = self.body;
        let mut columns = Vec::with_capacity(COLUMNS);
        for (kind, constant) in self.header.kinds.into_iter().zip(self.header.constants) {
            columns.push(Column::open(kind, constant, &codec, &mut rest)?);
        }
        // The copy is padded, so that the codec can read ahead after the last page.
        let length = rest.len();
        let mut padded = Vec::with_capacity(length + READ_AHEAD);
        padded.extend_from_slice(rest);
        padded.resize(length + READ_AHEAD, 0);
        let mut rest = padded.as_slice();
        let mut narrow = Narrow::default();
        let mut page: [Vec<i64>; COLUMNS] = std::array::from_fn(|_| vec![0; PAGE_ROWS.min(rows)]);
        let mut state = State::new(&self.header);
        let mut left = rows;
        while left > 0 {
            let count = left.min(PAGE_ROWS);
            for (column, values) in columns.iter_mut().zip(&mut page) {
                column.read(&mut rest, &mut narrow, values.get_mut(..count).ok_or(BEYOND)?)?;
            }
            state.append(&page, count, out)?;
            left -= count;
        }
        if padded.len() - rest.len() != length {
            return Err(BEYOND);
        }
        if state.time != self.header.last_time {
            return Err(BlockError::Malformed("the time of the last row does not match the header"));
        }
        Ok(())
    }
}

/// Decoder state: the running sums of the time and price steps.
struct State {
    header: Header,
    time: i64,
    ticks: i64,
    /// Direction and type of each code, or `None` for an invalid code. A lookup table is used,
    /// because every trade has a code and there are few codes.
    codes: Vec<Option<(TradeDirection, TradeType)>>,
}

impl State {
    fn new(header: &Header) -> State {
        let codes = (0..CODES).map(decode).collect();
        State { header: *header, time: header.first_time, ticks: header.first_price, codes }
    }

    fn append(
        &mut self,
        page: &[Vec<i64>; COLUMNS],
        rows: usize,
        out: &mut Trades,
    ) -> Result<(), BlockError> {
        let [time, price, volume, code] = page;
        let unit = self.header.time_unit as i64;
        // Errors are checked once per page, so that the loops contain no error branches.
        let mut descends = false;
        out.time.extend(time.iter().take(rows).map(|step| {
            let at = self.time.wrapping_add(step.wrapping_mul(unit));
            descends |= at < self.time;
            self.time = at;
            at
        }));
        if descends {
            return Err(BlockError::Malformed("times descend"));
        }
        out.price.extend(price.iter().take(rows).map(|step| {
            self.ticks = self.ticks.wrapping_add(*step);
            self.ticks.wrapping_mul(self.header.price_unit)
        }));
        out.volume.extend(volume.iter().take(rows).map(|value| value.wrapping_mul(self.header.volume_unit)));
        let codes = &self.codes;
        let known =
            |code: &i64| usize::try_from(*code).ok().and_then(|code| codes.get(code).copied().flatten());
        let mut is_known = true;
        out.direction.extend(code.iter().take(rows).map(|code| {
            let known = known(code);
            is_known &= known.is_some();
            known.unwrap_or_default().0
        }));
        out.kind.extend(code.iter().take(rows).map(|code| known(code).unwrap_or_default().1));
        if is_known { Ok(()) } else { Err(BlockError::Malformed("an unknown direction or type")) }
    }
}

/// Combines the direction and type of each trade in one small number, because a block usually has
/// few combinations.
fn codes(direction: &[TradeDirection], kind: &[TradeType]) -> Vec<i64> {
    let code = |(direction, kind): (&TradeDirection, &TradeType)| {
        i64::from(kind.code()) << 2 | i64::from(direction.code())
    };
    direction.iter().zip(kind).map(code).collect()
}

fn decode(code: i64) -> Option<(TradeDirection, TradeType)> {
    let direction = TradeDirection::from_code((code & 3) as u8)?;
    let kind = TradeType::from_code(u8::try_from(code >> 2).ok()?)?;
    Some((direction, kind))
}

/// Returns the differences between consecutive times, divided by their greatest common divisor, and
/// that divisor. The first difference is 0.
fn time_steps(times: &[i64]) -> (Vec<i64>, u64) {
    let mut steps = steps(times);
    let unit = common_divisor(0, &steps, |distance| distance as u64).max(1);
    let divisor = Divisor::of(unit);
    steps.iter_mut().for_each(|step| *step = divisor.divide(*step as u64) as i64);
    (steps, unit)
}

/// Returns the difference of each value from the previous value. The first difference is 0.
fn steps(values: &[i64]) -> Vec<i64> {
    let mut before = values.first().copied().unwrap_or_default();
    let step = |value: &i64| {
        let step = value.wrapping_sub(before);
        before = *value;
        step
    };
    values.iter().map(step).collect()
}

fn divided(values: &[i64], unit: i64) -> Vec<i64> {
    let divisor = Divisor::of(unit.unsigned_abs());
    values.iter().map(|&value| divisor.divide_signed(value)).collect()
}

impl Header {
    /// Appends the header to `out`. [`seal`] fills in the length later.
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, CODEC]);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(self.rows as u32).to_le_bytes());
        out.extend_from_slice(&self.first_time.to_le_bytes());
        out.extend_from_slice(&self.last_time.to_le_bytes());
        out.extend_from_slice(&self.time_unit.to_le_bytes());
        out.extend_from_slice(&self.price_unit.to_le_bytes());
        out.extend_from_slice(&self.volume_unit.to_le_bytes());
        out.extend_from_slice(&self.first_price.to_le_bytes());
        out.extend_from_slice(&self.codec_version);
        out.extend_from_slice(&self.kinds.map(Kind::code));
        for (kind, constant) in self.kinds.iter().zip(self.constants) {
            if kind.has_constant() {
                out.extend_from_slice(&constant.to_le_bytes());
            }
        }
    }

    fn read(bytes: &mut Cursor<'_>) -> Result<Header, BlockError> {
        let rows = usize::try_from(u32::from_le_bytes(bytes.take()?)).map_err(|_| CUT_SHORT)?;
        let first_time = i64::from_le_bytes(bytes.take()?);
        let last_time = i64::from_le_bytes(bytes.take()?);
        let time_unit = u64::from_le_bytes(bytes.take()?);
        let price_unit = i64::from_le_bytes(bytes.take()?);
        let volume_unit = i64::from_le_bytes(bytes.take()?);
        let first_price = i64::from_le_bytes(bytes.take()?);
        let codec_version = bytes.take::<2>()?;
        let mut kinds = [Kind::Zero; COLUMNS];
        for (kind, code) in kinds.iter_mut().zip(bytes.take::<COLUMNS>()?) {
            *kind = Kind::from_code(code).ok_or(BlockError::Malformed("a column of an unknown kind"))?;
        }
        let mut constants = [0; COLUMNS];
        for (constant, _) in constants.iter_mut().zip(kinds).filter(|(_, kind)| kind.has_constant()) {
            *constant = i64::from_le_bytes(bytes.take()?);
        }
        if !(1..=TRADE_ROWS_MAX).contains(&rows) {
            return Err(BlockError::Malformed("the number of rows is out of range"));
        }
        if time_unit == 0 || price_unit <= 0 || volume_unit <= 0 {
            return Err(BlockError::Malformed("a unit is not above zero"));
        }
        if first_time > last_time {
            return Err(BlockError::Malformed("the first time is after the last"));
        }
        if codec_version.first() != Some(&CODEC_MAJOR) {
            return Err(BlockError::Malformed("a field of the codec is out of range"));
        }
        Ok(Header {
            rows,
            first_time,
            last_time,
            time_unit,
            price_unit,
            volume_unit,
            first_price,
            codec_version,
            kinds,
            constants,
        })
    }
}
