//! Prices derived from other prices: reserves, slippage, depth, stops.

use market::Price;

use crate::settings::{SHARE_UNIT, Share};
use crate::tables::Ticks;
use crate::terms::{PERCENT_WHOLE, Terms};
use crate::words::Side;

/// A stop, exact: in units of `10^-14`, since a price has six decimals and a percentage of it eight
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stop(i128);

const STOP_UNIT: i128 = PERCENT_WHOLE as i128;

impl Stop {
    /// Where a trailing order is released when the best price so far is `best`: below it for a
    /// sell, above it for a buy.
    pub(crate) fn of(terms: &Terms, best: Price) -> Stop {
        let away = match (terms.trailing_amount, terms.trailing_percent) {
            (Some(amount), _) => i128::from(amount.0) * STOP_UNIT,
            (None, Some(percent)) => i128::from(best.0) * i128::from(percent.units()),
            (None, None) => 0,
        };
        let best = i128::from(best.0) * STOP_UNIT;
        Stop(if terms.side.is_buy() { best + away } else { best - away })
    }

    /// Whether a price has reached it.
    pub(crate) fn is_reached(self, side: Side, price: Price) -> bool {
        let price = i128::from(price.0) * STOP_UNIT;
        if side.is_buy() { price >= self.0 } else { price <= self.0 }
    }

    /// The limit of the released order: the stop plus its offset, rounded to the tick toward the
    /// market.
    pub(crate) fn limit(self, terms: &Terms, ticks: &Ticks) -> Price {
        let offset = i128::from(terms.limit_offset.unwrap_or_default().0) * STOP_UNIT;
        let clamp = |units: i128| Price(i64::try_from(units).unwrap_or(i64::MAX / 2));
        match terms.side {
            Side::Buy => ticks.up(clamp(
                (self.0 + offset).div_euclid(STOP_UNIT)
                    + i128::from((self.0 + offset).rem_euclid(STOP_UNIT) != 0),
            )),
            Side::Sell => ticks.down(clamp((self.0 - offset).div_euclid(STOP_UNIT))),
        }
    }
}

/// The reserve price of a market order: the mark plus a share of it, rounded up to the tick.
pub(crate) fn market_reserve(mark: Price, share: Share, ticks: &Ticks) -> Price {
    let units = i128::from(mark.0) * i128::from(SHARE_UNIT + share.units());
    let unit = i128::from(SHARE_UNIT);
    let up = units.div_euclid(unit) + i128::from(units.rem_euclid(unit) != 0);
    ticks.up(Price(i64::try_from(up).unwrap_or(i64::MAX / 2)))
}

/// The price of a market fill: the open moved by `slippage` ticks of its band against the client,
/// never below one tick.
pub(crate) fn slipped(open: Price, side: Side, slippage: u32, ticks: &Ticks) -> Price {
    if slippage == 0 {
        return open;
    }
    let tick = ticks.tick(open).0;
    let distance = tick.saturating_mul(i64::from(slippage));
    match side {
        Side::Buy => Price(open.0.saturating_add(distance)),
        Side::Sell => Price(open.0.saturating_sub(distance).max(tick)),
    }
}

/// There is no order book: a depth level means the mark moved by a number of ticks, rounded toward
/// the market.
pub(crate) fn depth_price(mark: Price, level: i32, side: Side, ticks: &Ticks) -> Price {
    let steps = i64::from(level.abs()) - 1;
    let distance = ticks.tick(mark).0.saturating_mul(steps);
    let price =
        Price(if level > 0 { mark.0.saturating_add(distance) } else { mark.0.saturating_sub(distance) });
    match side {
        Side::Buy => ticks.up(price),
        Side::Sell => ticks.down(price),
    }
}
