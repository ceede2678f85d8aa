//! Generates the trades of a one-minute candle. The trades start at the candle's open, end at its
//! close, touch its extremes, and add up to its volume.

use market::{Candle, Market, Price, Timestamp, Trade, TradeDirection, TradeType, Trades};

use super::securities::DemoSecurity;
use super::walk::Random;

/// Maximum number of trades per minute in addition to the trades that the candle's prices need.
const MORE_MAX: usize = 3;
/// Offset of the closing auction's trades in seconds. The auction is matched in the last two of its
/// ten minutes.
const AUCTION_SECONDS: i64 = 480;

/// Appends the trades of one minute in chronological order. The trades of the closing auction are
/// delayed by [`AUCTION_SECONDS`].
pub(super) fn append(out: &mut Trades, security: &DemoSecurity, minute: &Candle, is_auction: bool) {
    let mut random = Random::keyed(security.symbol, 9, minute.time.0);
    let mut prices = path(minute, &mut random);
    let shares = minute.volume;
    // Trades are in whole lots if the volume is large enough.
    let lots = shares % security.lot_size == 0 && shares / security.lot_size >= prices.len() as i64;
    let unit = if lots { security.lot_size } else { 1 };
    let units = shares / unit;
    prices.truncate(usize::try_from(units).unwrap_or(0));
    let more =
        random.below(MORE_MAX + 1).min(usize::try_from(units).unwrap_or(0).saturating_sub(prices.len()));
    for _ in 0..more {
        let place = random.below(prices.len().max(1));
        if let Some(price) = prices.get(place).copied() {
            prices.insert(place, price);
        }
    }
    let auction = is_auction && security.region.market() == Market::Hk;
    let kind =
        if auction { TradeType::parse(b"U", Market::Hk).unwrap_or_default() } else { TradeType::BLANK };
    let start = minute.time.0 + if is_auction { AUCTION_SECONDS } else { 0 };
    let (count, mut left, mut before) = (prices.len() as i64, units, minute.open);
    for (index, price) in (0i64..).zip(prices) {
        let last = index + 1 == count;
        // Each remaining trade needs at least one unit.
        let spare = left - (count - index);
        let traded =
            if last { left } else { 1 + (spare as f64 * random.unit() * random.unit() * 0.5) as i64 };
        left -= traded;
        let second = index * 59 / count.max(1);
        out.push(Trade {
            time: Timestamp(start + second),
            price,
            volume: traded * unit,
            direction: direction(price, before, &mut random),
            kind,
        });
        before = price;
    }
}

/// Returns the open, both extremes in random order, and the close. Equal adjacent prices are
/// merged.
fn path(minute: &Candle, random: &mut Random) -> Vec<Price> {
    let Candle { open, high, low, close, .. } = *minute;
    let (first, second) = if random.chance(0.5) { (high, low) } else { (low, high) };
    let mut prices = vec![open, first, second, close];
    prices.dedup();
    prices
}

fn direction(price: Price, before: Price, random: &mut Random) -> TradeDirection {
    match price.cmp(&before) {
        std::cmp::Ordering::Greater => TradeDirection::Up,
        std::cmp::Ordering::Less => TradeDirection::Down,
        std::cmp::Ordering::Equal => match random.below(5) {
            0 => TradeDirection::Neutral,
            1 | 2 => TradeDirection::Down,
            _ => TradeDirection::Up,
        },
    }
}
