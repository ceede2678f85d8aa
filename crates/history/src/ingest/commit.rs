//! A committed batch, and its bytes in the log.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use market::{Candle, Grain, Price, Session, Symbol, Timestamp, Trade, TradeDirection, TradeType, Turnover};
use store::{IngestBatch, Series};

use super::IngestError;
use crate::lane_of;

/// A committed batch: the rows that change the store, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Position in the log.
    pub id: i64,
    /// First sequence number reserved for the pushes of this batch. Eight numbers are reserved for
    /// each row.
    pub push_from: i64,
    /// Time of the commit in microseconds.
    pub at_us: i64,
    pub source: String,
    pub candles: Vec<CommittedCandle>,
    pub trades: Vec<CommittedTrade>,
    /// Whether one-minute candles are built from the trades.
    pub builds: bool,
    pub refused: Vec<RefusedRow>,
    pub counts: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedCandle {
    pub symbol: Symbol,
    /// One-minute or daily.
    pub grain: Grain,
    pub candle: Candle,
    pub is_final: bool,
    pub effect: Effect,
}

/// How a row changes the candle with its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The row adds a candle.
    New,
    /// The row replaces a candle that was not final, or makes it final.
    Continued,
    /// The row corrects a final candle.
    Replaced,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedTrade {
    pub symbol: Symbol,
    pub trade: Trade,
}

/// A refused row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// Index in the batch, starting at 0.
    pub row: usize,
    /// The symbol as it was sent.
    pub symbol: Option<String>,
    pub text: String,
    pub reason: String,
}

/// Number of rows by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub accepted: u64,
    pub unchanged: u64,
    pub replaced: u64,
    pub refused: u64,
}

impl Commit {
    /// Returns the sequence numbers that are reserved for a row. `row` counts the candles first,
    /// then the trades.
    pub fn numbers(&self, row: usize) -> RangeInclusive<i64> {
        let row = i64::try_from(row).unwrap_or(i64::MAX);
        let first = self.push_from.saturating_add(row.saturating_mul(NUMBERS_PER_ROW.into()));
        first..=first.saturating_add(i64::from(NUMBERS_PER_ROW) - 1)
    }

    /// Returns the last reserved number of each security.
    pub fn last_numbers(&self) -> BTreeMap<&Symbol, i64> {
        let symbols = self.candles.iter().map(|row| &row.symbol);
        let symbols = symbols.chain(self.trades.iter().map(|row| &row.symbol));
        symbols.enumerate().map(|(row, symbol)| (symbol, *self.numbers(row).end())).collect()
    }

    /// Returns the memory cost of the batch: its stored rows, and one for the batch itself, because
    /// it may have none.
    pub(super) fn weight(&self) -> usize {
        1 + self.candles.len() + self.trades.len() + self.refused.len()
    }
}

impl CommittedCandle {
    /// Returns the series that stores the candle.
    pub fn series(&self) -> Series {
        Series { symbol: self.symbol.clone(), grain: self.grain, lane: lane_of(self.candle.session) }
    }
}

/// Number of sequence numbers reserved for each row. A minute of an index causes at most four
/// pushes.
pub(super) const NUMBERS_PER_ROW: u8 = 8;
const FORMAT: u8 = 1;
const DAY: u8 = 1;
const FINAL: u8 = 2;

impl Commit {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut symbols: Vec<&Symbol> = Vec::new();
        let mut places = HashMap::new();
        let all = self.candles.iter().map(|row| &row.symbol).chain(self.trades.iter().map(|row| &row.symbol));
        for symbol in all {
            places.entry(symbol).or_insert_with(|| {
                symbols.push(symbol);
                symbols.len() - 1
            });
        }
        let place = |symbol: &Symbol| places.get(symbol).copied().unwrap_or_default();
        let mut bytes = Bytes(Vec::with_capacity(64 + self.candles.len() * 80 + self.trades.len() * 32));
        bytes.byte(FORMAT);
        bytes.number(self.at_us);
        bytes.text(&self.source);
        bytes.byte(u8::from(self.builds));
        let Counts { accepted, unchanged, replaced, refused } = self.counts;
        for count in [accepted, unchanged, replaced, refused] {
            bytes.number(count.cast_signed());
        }
        bytes.length(symbols.len());
        symbols.iter().for_each(|symbol| bytes.text(symbol.as_str()));
        bytes.length(self.candles.len());
        for row in &self.candles {
            let Candle { time, open, high, low, close, volume, turnover, session } = row.candle;
            bytes.length(place(&row.symbol));
            let grain = if row.grain == Grain::Day { DAY } else { 0 };
            bytes.byte(grain | if row.is_final { FINAL } else { 0 });
            bytes.byte(row.effect as u8);
            bytes.byte(session.code());
            for number in [time.0, open.0, high.0, low.0, close.0, volume] {
                bytes.number(number);
            }
            bytes.0.extend_from_slice(&turnover.0.to_le_bytes());
        }
        bytes.length(self.trades.len());
        for CommittedTrade { symbol, trade } in &self.trades {
            bytes.length(place(symbol));
            bytes.byte(trade.direction.code());
            bytes.byte(trade.kind.code());
            for number in [trade.time.0, trade.price.0, trade.volume] {
                bytes.number(number);
            }
        }
        bytes.length(self.refused.len());
        for RefusedRow { row, symbol, text, reason } in &self.refused {
            bytes.length(*row);
            bytes.byte(u8::from(symbol.is_some()));
            bytes.text(symbol.as_deref().unwrap_or_default());
            bytes.text(text);
            bytes.text(reason);
        }
        let checksum = crc32fast::hash(&bytes.0);
        bytes.0.extend_from_slice(&checksum.to_le_bytes());
        bytes.0
    }

    /// Decodes a logged batch.
    pub fn decode(batch: &IngestBatch) -> Result<Commit, IngestError> {
        let damaged = IngestError::Damaged { id: batch.id };
        let Some((content, checksum)) = batch.body.split_last_chunk::<4>() else { return Err(damaged) };
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(damaged);
        }
        read(batch, &mut Cursor(content)).ok_or(damaged)
    }
}

fn read(batch: &IngestBatch, bytes: &mut Cursor<'_>) -> Option<Commit> {
    if bytes.byte()? != FORMAT {
        return None;
    }
    let at_us = bytes.number()?;
    let source = bytes.text()?;
    let builds = bytes.byte()? != 0;
    let counts = Counts {
        accepted: bytes.number()?.cast_unsigned(),
        unchanged: bytes.number()?.cast_unsigned(),
        replaced: bytes.number()?.cast_unsigned(),
        refused: bytes.number()?.cast_unsigned(),
    };
    let mut symbols = Vec::new();
    for _ in 0..bytes.length()? {
        symbols.push(bytes.text()?.parse::<Symbol>().ok()?);
    }
    let mut candles = Vec::new();
    for _ in 0..bytes.length()? {
        let symbol = symbols.get(bytes.length()?)?.clone();
        let flags = bytes.byte()?;
        let effect = match bytes.byte()? {
            0 => Effect::New,
            1 => Effect::Continued,
            _ => Effect::Replaced,
        };
        let session = Session::from_code(bytes.byte()?)?;
        let candle = Candle {
            time: Timestamp(bytes.number()?),
            open: Price(bytes.number()?),
            high: Price(bytes.number()?),
            low: Price(bytes.number()?),
            close: Price(bytes.number()?),
            volume: bytes.number()?,
            turnover: Turnover(i128::from_le_bytes(bytes.take()?)),
            session,
        };
        let grain = if flags & DAY != 0 { Grain::Day } else { Grain::Minute };
        candles.push(CommittedCandle { symbol, grain, candle, is_final: flags & FINAL != 0, effect });
    }
    let mut trades = Vec::new();
    for _ in 0..bytes.length()? {
        let symbol = symbols.get(bytes.length()?)?.clone();
        let direction = TradeDirection::from_code(bytes.byte()?)?;
        let kind = TradeType::from_code(bytes.byte()?)?;
        let (time, price, volume) = (bytes.number()?, bytes.number()?, bytes.number()?);
        let trade = Trade { time: Timestamp(time), price: Price(price), volume, direction, kind };
        trades.push(CommittedTrade { symbol, trade });
    }
    let mut refused = Vec::new();
    for _ in 0..bytes.length()? {
        let row = bytes.length()?;
        let has_symbol = bytes.byte()? != 0;
        let symbol = Some(bytes.text()?).filter(|_| has_symbol);
        refused.push(RefusedRow { row, symbol, text: bytes.text()?, reason: bytes.text()? });
    }
    let (id, push_from) = (batch.id, batch.push_from);
    Some(Commit { id, push_from, at_us, source, candles, trades, builds, refused, counts })
}

struct Bytes(Vec<u8>);

impl Bytes {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.0.extend_from_slice(&length.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.take()?)).ok()
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(head.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit() -> Commit {
        let candle = Candle {
            time: Timestamp(1_784_122_320),
            open: Price(190_300_000),
            high: Price(190_600_000),
            low: Price(190_300_000),
            close: Price(190_500_000),
            volume: 1_200,
            turnover: Turnover(228_500_000_000),
            session: Session::Pre,
        };
        let trade = Trade {
            time: Timestamp(5),
            price: Price(7),
            volume: 8,
            direction: TradeDirection::Up,
            kind: TradeType::from_code(b'U').unwrap(),
        };
        let [apple, tencent] = ["AAPL.US", "700.HK"].map(|text| text.parse::<Symbol>().unwrap());
        let row = |symbol: &Symbol, grain, is_final, effect| CommittedCandle {
            symbol: symbol.clone(),
            grain,
            candle,
            is_final,
            effect,
        };
        Commit {
            id: 3,
            push_from: 17,
            at_us: 1_784_122_325_000_001,
            source: "alpaca-1".to_owned(),
            candles: vec![
                row(&apple, Grain::Minute, false, Effect::New),
                row(&tencent, Grain::Day, true, Effect::Replaced),
                row(&apple, Grain::Minute, true, Effect::Continued),
            ],
            trades: vec![CommittedTrade { symbol: tencent, trade }],
            builds: true,
            refused: vec![RefusedRow {
                row: 9,
                symbol: None,
                text: "{}".to_owned(),
                reason: "why".to_owned(),
            }],
            counts: Counts { accepted: 1, unchanged: 2, replaced: 3, refused: 4 },
        }
    }

    #[test]
    fn a_batch_round_trips() {
        let commit = commit();
        let batch = IngestBatch { id: 3, push_from: 17, body: commit.encode() };
        assert_eq!(Commit::decode(&batch).unwrap(), commit);
    }

    #[test]
    fn a_damaged_batch_is_detected() {
        let body = commit().encode();
        for at in 0..body.len() {
            let mut body = body.clone();
            body[at] ^= 1;
            let damaged = Commit::decode(&IngestBatch { id: 3, push_from: 17, body });
            assert!(matches!(damaged, Err(IngestError::Damaged { id: 3 })), "at {at}");
        }
    }
}
