//! Prints: synthetic trades from which a client can rebuild a one-minute candle exactly.
//!
//! A candle does not record how much volume was traded at which price. The price path is therefore
//! printed with volume 0, and the whole volume is printed at the average price. The average is
//! rarely a multiple of the price step, so the volume is split in two: one part at the average
//! rounded down, and the remainder one step above. The sums of volume and turnover are then exact.

use market::{
    Candle, DECIMALS_MAX, DecimalText, Market, Price, Timestamp, Trade, TradeDirection, TradeType, Turnover,
};

use crate::minute::{Clock, Minute};

/// Number of decimals of a [`PrintPrice`]: two more than a turnover has, because mainland China
/// volumes are in lots of 100 shares.
const PRINT_DECIMALS: u32 = DECIMALS_MAX + 2;
/// One millionth of the currency, in units of [`PrintPrice`].
const MILLIONTH: i128 = 100;
/// Number of shares in a mainland China lot. Clients multiply the volume of every mainland print by
/// this number.
const LOT: i128 = 100;
/// Minimum number of decimals of an average price, as for every price in the protocol.
const DECIMALS_MIN: u32 = 3;

// Print times under a simulated clock, in seconds after the candle's stamp.
const OPEN_AT: i64 = 0;
const EXTREMES_AT: [i64; 2] = [20, 40];
pub(crate) const CLOSE_AT: i64 = 59;

/// One trade in a [`TradesPush`](crate::TradesPush).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Print {
    pub time: Timestamp,
    pub price: PrintPrice,
    pub volume: i64,
    /// Always neutral for prints derived from a candle.
    pub direction: TradeDirection,
    pub kind: TradeType,
}

impl Print {
    /// Returns a stored trade as a print, unchanged.
    pub fn of_trade(trade: Trade) -> Print {
        let Trade { time, price, volume, direction, kind } = trade;
        Print { time, price: price.into(), volume, direction, kind }
    }
}

/// A price in hundred-millionths of the currency. It has 128 bits, because the average price of an
/// invalid candle may be as large as its turnover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrintPrice(pub i128);

impl From<Price> for PrintPrice {
    fn from(price: Price) -> PrintPrice {
        PrintPrice(i128::from(price.0) * MILLIONTH)
    }
}

impl PrintPrice {
    /// Formats the price exactly, with at least `decimals` decimals. More decimals are added if
    /// needed, up to eight.
    pub fn text(self, decimals: u32) -> String {
        let zeros = trailing_zeros(self.0, PRINT_DECIMALS.saturating_sub(decimals));
        let value = self.0.unsigned_abs();
        let step = 10u64.pow(zeros);
        let units = match u64::try_from(value) {
            Ok(value) => u128::from(value / step),
            Err(_) => value / u128::from(step),
        };
        DecimalText::new(self.0 < 0, units, PRINT_DECIMALS - zeros).as_str().to_owned()
    }
}

/// Volume and turnover added since an earlier state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    pub volume: i64,
    pub turnover: Turnover,
}

impl Growth {
    /// Returns the growth from an empty minute to this candle.
    pub(crate) fn of(candle: &Candle) -> Growth {
        Growth { volume: candle.volume, turnover: candle.turnover }
    }

    /// Returns the growth from a minute's published state to the known state. Returns `None` if the
    /// known state does not continue the published one, or fails [`Candle::check`]. Trades can add
    /// to a candle, but cannot reduce it.
    pub(crate) fn between(published: Option<&Candle>, known: &Candle) -> Option<Growth> {
        known.check().ok()?;
        let Some(old) = published else {
            return Some(Growth::of(known));
        };
        old.check().ok()?;
        let continues = known.open == old.open
            && known.high >= old.high
            && known.low <= old.low
            && known.volume >= old.volume
            && known.turnover >= old.turnover;
        continues.then_some(Growth {
            volume: known.volume - old.volume,
            turnover: Turnover(known.turnover.0 - old.turnover.0),
        })
    }

    /// Returns this growth minus a part of it, or `None` if the part is larger.
    pub(crate) fn minus(self, part: Growth) -> Option<Growth> {
        let is_part = part.volume <= self.volume && part.turnover <= self.turnover;
        is_part.then_some(Growth {
            volume: self.volume - part.volume,
            turnover: Turnover(self.turnover.0 - part.turnover.0),
        })
    }
}

/// Returns the prints that update a client's candle from the published state to the known state, in
/// order.
///
/// Returns `None` if the known state corrects the published state, or if either state fails
/// [`Candle::check`]. The sum of volumes and the sum of price × volume (× 100 for mainland lots)
/// equal the growth exactly, with three exceptions: volume without turnover is printed at the
/// close, turnover without volume is not printed, and a mainland average price outside the candle's
/// range is clamped to the range, because mainland prints have no volume-only type.
pub fn prints(
    minute: &Minute,
    published: Option<&Candle>,
    known: &Candle,
    clock: Clock,
) -> Option<Vec<Print>> {
    let growth = Growth::between(published, known)?;
    Some(printed_as(minute, published, known, growth, clock))
}

/// Returns the prints that update a client's candle to the known state. `growth` is the part that
/// the client has not counted yet. The known state must continue the published one.
pub(crate) fn printed_as(
    minute: &Minute,
    published: Option<&Candle>,
    known: &Candle,
    growth: Growth,
    clock: Clock,
) -> Vec<Print> {
    let print = |price: PrintPrice, volume: i64, offset: i64, kind: TradeType| {
        let time = minute.second(clock, offset);
        Print { time, price, volume, direction: TradeDirection::Neutral, kind }
    };
    let moving = minute.price_type();
    let path = path(published, known);
    let mut last =
        path.last().map(|(price, _)| *price).or(published.map(|old| old.close)).map(PrintPrice::from);
    let mut prints: Vec<Print> =
        path.into_iter().map(|(price, offset)| print(price.into(), 0, offset, moving)).collect();

    let has_turnover = growth.turnover.0 > 0;
    if growth.volume > 0 && has_turnover {
        for (price, volume) in shares(minute.market, known, growth) {
            let is_inside = (known.low.into()..=known.high.into()).contains(&price);
            let kind = if is_inside { moving } else { minute.volume_type().unwrap_or(moving) };
            if kind == moving {
                last = Some(price);
            }
            prints.push(print(price, volume, CLOSE_AT, kind));
        }
    }
    let unpriced = if has_turnover { 0 } else { growth.volume };
    let close = PrintPrice::from(known.close);
    if unpriced > 0 || last != Some(close) {
        prints.push(print(close, unpriced, CLOSE_AT, moving));
    }
    prints
}

/// Returns the opening price, unless it was already published, and the new extremes, each with its
/// print time in seconds after the stamp. The extreme nearer to the previous price comes first; the
/// low comes first if both are equally near.
pub(crate) fn path(published: Option<&Candle>, known: &Candle) -> Vec<(Price, i64)> {
    let mut path = Vec::new();
    let (high, low, last) = match published {
        Some(old) => (old.high, old.low, old.close),
        None => {
            path.push((known.open, OPEN_AT));
            (known.open, known.open, known.open)
        }
    };
    let mut extremes: Vec<Price> = Vec::new();
    extremes.extend((known.low < low).then_some(known.low));
    extremes.extend((known.high > high).then_some(known.high));
    extremes.sort_by_key(|extreme| extreme.0.abs_diff(last.0));
    path.extend(extremes.into_iter().zip(EXTREMES_AT));
    path
}

/// Splits the added volume into one or two parts at its average price. Two parts are priced one
/// price step apart.
fn shares(market: Market, known: &Candle, growth: Growth) -> Vec<(PrintPrice, i64)> {
    let volume = i128::from(growth.volume);
    let turnover = growth.turnover.0;
    let is_lots = market == Market::Cn && {
        let value = |price: Price| i128::from(price.0).saturating_mul(volume).saturating_mul(LOT);
        (value(known.low)..=value(known.high)).contains(&turnover)
    };
    let unit = if is_lots { LOT } else { 1 };
    let step = power(PRINT_DECIMALS - average_decimals(known, turnover, is_lots));
    // Both divisions are exact, because the average price has at least as many decimals as the
    // turnover, and two more for lots.
    let steps = turnover * MILLIONTH / step / unit;
    let above = steps % volume;
    let lower = PrintPrice(steps / volume * step);
    let upper = PrintPrice(lower.0 + step);
    // The remainder is less than the volume, so it fits into an `i64`.
    let above = i64::try_from(above).unwrap_or_default();
    let mut shares = vec![(lower, growth.volume - above), (upper, above)];
    if market == Market::Cn {
        let (low, high) = (PrintPrice::from(known.low), PrintPrice::from(known.high));
        shares.iter_mut().for_each(|(price, _)| *price = (*price).clamp(low, high));
    }
    shares.retain(|(_, volume)| *volume > 0);
    shares
}

/// Returns the number of decimals of the average price: the maximum of the decimals of the turnover
/// and of the candle's prices.
fn average_decimals(known: &Candle, turnover: i128, is_lots: bool) -> u32 {
    let prices = [known.open, known.high, known.low, known.close].map(|price| decimals(price.0.into()));
    let of_turnover = decimals(turnover).max(DECIMALS_MIN) + if is_lots { 2 } else { 0 };
    prices.into_iter().fold(of_turnover, u32::max)
}

/// Returns the number of decimals of a value in millionths, without trailing zeros.
fn decimals(value: i128) -> u32 {
    DECIMALS_MAX - trailing_zeros(value, DECIMALS_MAX)
}

/// Returns the number of zeros at the end of a number, at most `most`. Divisions of 128-bit numbers
/// are slow, so only numbers that need 128 bits use them.
fn trailing_zeros(value: i128, most: u32) -> u32 {
    let (mut wide, mut zeros) = (value.unsigned_abs(), 0);
    let mut narrow = loop {
        match u64::try_from(wide) {
            Ok(narrow) => break narrow,
            Err(_) if zeros == most || wide % 10 != 0 => return zeros,
            Err(_) => (wide, zeros) = (wide / 10, zeros + 1),
        }
    };
    while zeros < most && narrow % 10 == 0 {
        (narrow, zeros) = (narrow / 10, zeros + 1);
    }
    zeros
}

/// Returns `10^exponent`. The exponent is at most [`PRINT_DECIMALS`].
fn power(exponent: u32) -> i128 {
    10i128.pow(exponent)
}
