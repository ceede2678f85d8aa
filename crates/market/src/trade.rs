//! Single trades: aggressor side, trade type, and the effect on candles.

use std::fmt;

use crate::{Market, Price, Session, Timestamp, Turnover};

/// Aggressor side of a trade as reported by the source. Blocks and the protocol use the same codes,
/// but the protocol has no code for `Untold`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TradeDirection {
    /// The source reports that neither side was the aggressor.
    Neutral,
    /// The seller was the aggressor, so the trade was made at the bid.
    Down,
    /// The buyer was the aggressor, so the trade was made at the ask.
    Up,
    /// The source does not report the aggressor side.
    #[default]
    Untold,
}

impl TradeDirection {
    pub const ALL: [TradeDirection; 4] =
        [TradeDirection::Neutral, TradeDirection::Down, TradeDirection::Up, TradeDirection::Untold];

    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<TradeDirection> {
        TradeDirection::ALL.into_iter().find(|direction| direction.code() == code)
    }

    /// Returns the name used in exported files, which is empty if the side is not reported.
    pub fn as_str(self) -> &'static str {
        match self {
            TradeDirection::Neutral => "neutral",
            TradeDirection::Down => "down",
            TradeDirection::Up => "up",
            TradeDirection::Untold => "",
        }
    }

    /// Parses a direction cell, which may be a protocol code, a name or a letter used by exchanges.
    /// Returns `None` if the text is unknown.
    pub fn parse(text: &[u8]) -> Option<TradeDirection> {
        Some(match text {
            b"" => TradeDirection::Untold,
            b"0" | b"N" | b"neutral" | b"Neutral" | b"NEUTRAL" | b"none" | b"None" => TradeDirection::Neutral,
            b"1" | b"S" | b"s" | b"down" | b"Down" | b"DOWN" | b"sell" | b"Sell" | b"SELL" => {
                TradeDirection::Down
            }
            b"2" | b"B" | b"b" | b"up" | b"Up" | b"UP" | b"buy" | b"Buy" | b"BUY" => TradeDirection::Up,
            b"TradeDirection.Neutral" => TradeDirection::Neutral,
            b"TradeDirection.Down" => TradeDirection::Down,
            b"TradeDirection.Up" => TradeDirection::Up,
            _ => return None,
        })
    }
}

/// Type of a trade: blank, or one letter, digit or asterisk defined by the exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TradeType(u8);

const HK_TYPES: &[u8] = b"*DMPUXY";
const US_TYPES: &[u8] = b"ABCDEFGHIKMPQSVWX1";

impl TradeType {
    pub const BLANK: TradeType = TradeType(0);

    /// Parses a type cell. Returns `None` if the market has no such type.
    pub fn parse(text: &[u8], market: Market) -> Option<TradeType> {
        let letter = match text {
            [] => return Some(TradeType::BLANK),
            [letter] => letter.to_ascii_uppercase(),
            _ => return None,
        };
        let known = match market {
            Market::Hk => HK_TYPES.contains(&letter),
            Market::Us => US_TYPES.contains(&letter),
            // Shanghai and Shenzhen use different letters. All are accepted, because the type of a
            // mainland trade has no effect on candles.
            Market::Cn => letter.is_ascii_alphanumeric(),
        };
        known.then_some(TradeType(letter))
    }

    /// Decodes the byte stored in a block: 0 for blank, otherwise a printable ASCII character.
    pub fn from_code(code: u8) -> Option<TradeType> {
        (code == 0 || code.is_ascii_graphic()).then_some(TradeType(code))
    }

    pub fn code(self) -> u8 {
        self.0
    }

    /// Returns how a trade of this type affects the price and volume of its candle (`candles.md`
    /// D7).
    pub fn effect(self, market: Market, session: Session) -> TradeEffect {
        let extended = matches!(session, Session::Pre | Session::Post);
        match (market, self.0) {
            (Market::Cn, _) | (_, 0) | (Market::Hk, b'U') => TradeEffect::PriceAndVolume,
            (Market::Hk, b'D' | b'M' | b'P' | b'X' | b'Y') => TradeEffect::VolumeOnly,
            (Market::Hk, _) => TradeEffect::Nothing,
            (Market::Us, b'A' | b'B' | b'D' | b'E' | b'F' | b'K' | b'S' | b'X' | b'1') => {
                TradeEffect::PriceAndVolume
            }
            // Odd lots move prices only in extended hours.
            (Market::Us, b'I') if extended => TradeEffect::PriceAndVolume,
            (Market::Us, b'C' | b'G' | b'H' | b'I' | b'V' | b'W') => TradeEffect::VolumeOnly,
            // Official opens and closes repeat another trade, so they do not affect the candle.
            (Market::Us, _) => TradeEffect::Nothing,
        }
    }
}

impl fmt::Display for TradeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.pad("") } else { f.pad(char::from(self.0).encode_utf8(&mut [0; 4])) }
    }
}

/// Effect of a trade on its candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TradeEffect {
    PriceAndVolume,
    VolumeOnly,
    Nothing,
}

/// A single trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Time of the trade, in whole seconds.
    pub time: Timestamp,
    pub price: Price,
    pub volume: i64,
    pub direction: TradeDirection,
    pub kind: TradeType,
}

/// Reason why an imported trade is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TradeFlaw {
    #[error("price is not above zero")]
    Price,
    #[error("volume is not above zero")]
    Volume,
    #[error("price times volume has more than 12 digits before the point")]
    Amount,
    #[error("the market is closed on this day")]
    Closed,
    #[error("outside the trading hours of its day")]
    Hours,
    #[error("trades of options are not stored")]
    Option,
}

impl Trade {
    /// Performs the checks that need only the trade itself, and returns the first flaw.
    pub fn check(&self) -> Result<(), TradeFlaw> {
        if self.price.0 <= 0 {
            return Err(TradeFlaw::Price);
        }
        if self.volume <= 0 {
            return Err(TradeFlaw::Volume);
        }
        match self.price.0.checked_mul(self.volume) {
            Some(_) => Ok(()),
            None => Err(TradeFlaw::Amount),
        }
    }

    /// Returns price times volume, in millionths. The product does not overflow for a trade that
    /// has passed [`Trade::check`].
    pub fn amount(&self) -> i64 {
        self.price.0.saturating_mul(self.volume)
    }

    pub fn turnover(&self) -> Turnover {
        Turnover(i128::from(self.price.0) * i128::from(self.volume))
    }
}

/// Trades in columns, in chronological order. All columns have the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trades {
    pub time: Vec<i64>,
    pub price: Vec<i64>,
    pub volume: Vec<i64>,
    pub direction: Vec<TradeDirection>,
    pub kind: Vec<TradeType>,
}

impl Trades {
    pub fn with_capacity(rows: usize) -> Trades {
        Trades {
            time: Vec::with_capacity(rows),
            price: Vec::with_capacity(rows),
            volume: Vec::with_capacity(rows),
            direction: Vec::with_capacity(rows),
            kind: Vec::with_capacity(rows),
        }
    }

    pub fn len(&self) -> usize {
        self.time.len()
    }

    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    #[inline]
    pub fn push(&mut self, trade: Trade) {
        self.time.push(trade.time.0);
        self.price.push(trade.price.0);
        self.volume.push(trade.volume);
        self.direction.push(trade.direction);
        self.kind.push(trade.kind);
    }

    pub fn get(&self, row: usize) -> Option<Trade> {
        Some(Trade {
            time: Timestamp(*self.time.get(row)?),
            price: Price(*self.price.get(row)?),
            volume: *self.volume.get(row)?,
            direction: *self.direction.get(row)?,
            kind: *self.kind.get(row)?,
        })
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Trade> + DoubleEndedIterator + '_ {
        self.iter_rows(0..self.len())
    }

    /// Iterates over a range of rows. The iterator is empty if the range is out of bounds.
    pub fn iter_rows(
        &self,
        rows: std::ops::Range<usize>,
    ) -> impl ExactSizeIterator<Item = Trade> + DoubleEndedIterator + '_ {
        let times = self.time.get(rows.clone()).unwrap_or_default();
        let prices = self.price.get(rows.clone()).unwrap_or_default();
        let volumes = self.volume.get(rows.clone()).unwrap_or_default();
        let directions = self.direction.get(rows.clone()).unwrap_or_default();
        let kinds = self.kind.get(rows).unwrap_or_default();
        times.iter().zip(prices).zip(volumes).zip(directions).zip(kinds).map(
            |((((&time, &price), &volume), &direction), &kind)| Trade {
                time: Timestamp(time),
                price: Price(price),
                volume,
                direction,
                kind,
            },
        )
    }

    pub fn clear(&mut self) {
        self.truncate(0);
    }

    pub fn truncate(&mut self, rows: usize) {
        self.time.truncate(rows);
        self.price.truncate(rows);
        self.volume.truncate(rows);
        self.direction.truncate(rows);
        self.kind.truncate(rows);
    }

    /// Retains only `rows`, clamped to the existing rows.
    pub fn retain_rows(&mut self, rows: std::ops::Range<usize>) {
        self.truncate(rows.end);
        let start = rows.start.min(self.len());
        self.time.drain(..start);
        self.price.drain(..start);
        self.volume.drain(..start);
        self.direction.drain(..start);
        self.kind.drain(..start);
    }

    /// Returns the rows within a half-open time range. The times must be in ascending order.
    pub fn within(&self, times: std::ops::Range<i64>) -> std::ops::Range<usize> {
        let before = |at: i64| self.time.partition_point(|time| *time < at);
        before(times.start)..before(times.end)
    }

    /// Appends a range of rows from another table. Appends nothing if the range is out of bounds.
    pub fn append_rows(&mut self, other: &Trades, rows: std::ops::Range<usize>) {
        self.time.extend_from_slice(other.time.get(rows.clone()).unwrap_or_default());
        self.price.extend_from_slice(other.price.get(rows.clone()).unwrap_or_default());
        self.volume.extend_from_slice(other.volume.get(rows.clone()).unwrap_or_default());
        self.direction.extend_from_slice(other.direction.get(rows.clone()).unwrap_or_default());
        self.kind.extend_from_slice(other.kind.get(rows).unwrap_or_default());
    }

    pub fn append(&mut self, other: &Trades) {
        self.time.extend_from_slice(&other.time);
        self.price.extend_from_slice(&other.price);
        self.volume.extend_from_slice(&other.volume);
        self.direction.extend_from_slice(&other.direction);
        self.kind.extend_from_slice(&other.kind);
    }

    /// Sorts the trades by time. The sort is stable, so trades within the same second keep their
    /// order.
    pub fn sorted(self) -> Trades {
        if self.time.is_sorted() {
            return self;
        }
        let mut places: Vec<usize> = (0..self.len()).collect();
        places.sort_by_key(|place| self.time.get(*place).copied());
        let mut sorted = Trades::with_capacity(self.len());
        places.into_iter().filter_map(|place| self.get(place)).for_each(|trade| sorted.push(trade));
        sorted
    }
}
