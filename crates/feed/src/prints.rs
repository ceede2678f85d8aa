//! Prints made of a one-minute candle: trades from which a client that merges them builds exactly
//! that candle.
//!
//! A candle does not say how much was traded at which price. Prints with volume 0 therefore draw
//! the path of the price, and the whole volume is printed at its average price. The average rarely
//! is a whole number of decimals, so the volume is split in two: a part at the average rounded down
//! and the rest one step above. Volume and turnover are then exact sums.

use market::{Candle, DECIMALS_MAX, Market, Price, Timestamp, Trade, TradeDirection, TradeType, Turnover};

use crate::minute::{Clock, Minute};

/// Decimals of a [`PrintPrice`]: two more than those of a turnover, because mainland volumes are
/// counted in lots of a hundred.
const PRINT_DECIMALS: u32 = DECIMALS_MAX + 2;
/// One millionth in units of a [`PrintPrice`].
const MILLIONTH: i128 = 100;
/// Shares of a mainland lot: clients multiply the volume of every mainland print by it.
const LOT: i128 = 100;
/// Least decimals of an average price: those of every price in the protocol.
const DECIMALS_MIN: u32 = 3;

// Seconds of prints after the candle's stamp, under a set clock.
const OPEN_AT: i64 = 0;
const EXTREMES_AT: [i64; 2] = [20, 40];
pub(crate) const CLOSE_AT: i64 = 59;

/// One trade of a [`TradesPush`](crate::TradesPush).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Print {
    pub time: Timestamp,
    pub price: PrintPrice,
    pub volume: i64,
    /// Neutral if the print is made of a candle.
    pub direction: TradeDirection,
    pub kind: TradeType,
}

impl Print {
    /// A stored trade, unchanged.
    pub fn of_trade(trade: Trade) -> Print {
        let Trade { time, price, volume, direction, kind } = trade;
        Print { time, price: price.into(), volume, direction, kind }
    }
}

/// A price in hundred-millionths of the currency. 128 bits, because the average price of a wrong
/// candle may be as large as its turnover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrintPrice(pub i128);

impl From<Price> for PrintPrice {
    fn from(price: Price) -> PrintPrice {
        PrintPrice(i128::from(price.0) * MILLIONTH)
    }
}

impl PrintPrice {
    /// Exact text with at least this many decimals, and more only where they are not zero.
    pub fn text(self, decimals: u32) -> String {
        let least = decimals.min(PRINT_DECIMALS);
        let decimals = (least..PRINT_DECIMALS).find(|&n| self.0 % power(PRINT_DECIMALS - n) == 0);
        let decimals = decimals.unwrap_or(PRINT_DECIMALS);
        let sign = if self.0 < 0 { "-" } else { "" };
        let value = self.0.unsigned_abs() / power(PRINT_DECIMALS - decimals).unsigned_abs();
        let unit = power(decimals).unsigned_abs();
        match decimals {
            0 => format!("{sign}{value}"),
            n => format!("{sign}{}.{:0width$}", value / unit, value % unit, width = n as usize),
        }
    }
}

/// Added volume and turnover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    pub volume: i64,
    pub turnover: Turnover,
}

impl Growth {
    /// From nothing to a candle.
    pub(crate) fn of(candle: &Candle) -> Growth {
        Growth { volume: candle.volume, turnover: candle.turnover }
    }

    /// The growth from a minute's published state to the known one; `None` if the known state does
    /// not continue the published one, or fails [`Candle::check`]. Trades can add to a candle, but
    /// cannot take anything back.
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
}

/// The prints that lead a client from the published state of a minute to the known one, in order.
///
/// Returns `None` if no prints can: the known state corrects the published one, or one of the two
/// fails [`Candle::check`]. The sums of volume and of price times volume (in mainland lots, times
/// 100) are exactly the growth, with three exceptions: without turnover the volume is printed at
/// the close; turnover without volume is not printed; and a mainland average outside the candle's
/// range is moved into it, because mainland prints have no type for volume alone.
pub fn prints(
    minute: &Minute,
    published: Option<&Candle>,
    known: &Candle,
    clock: Clock,
) -> Option<Vec<Print>> {
    let growth = Growth::between(published, known)?;
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
    Some(prints)
}

/// The opening price and the new extremes, with their seconds after the stamp. Of two extremes the
/// one nearer to the price before comes first, the low if both are equally near.
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

/// The grown volume in at most two parts, whose prices are one step apart.
fn shares(market: Market, known: &Candle, growth: Growth) -> Vec<(PrintPrice, i64)> {
    let volume = i128::from(growth.volume);
    let turnover = growth.turnover.0;
    let is_lots = market == Market::Cn && {
        let value = |price: Price| i128::from(price.0).saturating_mul(volume).saturating_mul(LOT);
        (value(known.low)..=value(known.high)).contains(&turnover)
    };
    let unit = if is_lots { LOT } else { 1 };
    let step = power(PRINT_DECIMALS - average_decimals(known, turnover, is_lots));
    // Both divisions are exact: the average has at least the decimals of the turnover, and two more
    // for lots.
    let steps = turnover * MILLIONTH / step / unit;
    let above = steps % volume;
    let lower = PrintPrice(steps / volume * step);
    let upper = PrintPrice(lower.0 + step);
    // Fits: the rest is below the volume, which is an i64.
    let above = i64::try_from(above).unwrap_or_default();
    let mut shares = vec![(lower, growth.volume - above), (upper, above)];
    if market == Market::Cn {
        let (low, high) = (PrintPrice::from(known.low), PrintPrice::from(known.high));
        if shares.iter().any(|(price, volume)| *volume > 0 && !(low..=high).contains(price)) {
            // The bounds are whole steps, so both parts move to the same one.
            shares = vec![(if lower < low { low } else { high }, growth.volume)];
        }
    }
    shares.retain(|(_, volume)| *volume > 0);
    shares
}

/// Decimals of the average price: those of the turnover and of the candle's prices.
fn average_decimals(known: &Candle, turnover: i128, is_lots: bool) -> u32 {
    let prices = [known.open, known.high, known.low, known.close].map(|price| decimals(price.0.into()));
    let of_turnover = decimals(turnover).max(DECIMALS_MIN) + if is_lots { 2 } else { 0 };
    prices.into_iter().fold(of_turnover, u32::max)
}

/// Decimals of a value in millionths without its trailing zeros.
fn decimals(value: i128) -> u32 {
    (0..DECIMALS_MAX).find(|&n| value % power(DECIMALS_MAX - n) == 0).unwrap_or(DECIMALS_MAX)
}

/// Returns `10^exponent`. The exponent is at most [`PRINT_DECIMALS`].
fn power(exponent: u32) -> i128 {
    10i128.pow(exponent)
}
