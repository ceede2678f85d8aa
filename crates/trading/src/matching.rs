//! Decides whether a candle fills an order, and at which price.

use market::Price;

use crate::event::FillRule;
use crate::feed::EffectiveCandle;
use crate::order::Order;
use crate::quantity::Quantity;
use crate::sessions::{joins_tail, trades_in};
use crate::settings::{SHARE_UNIT, Settings, Share};
use crate::tables::Ticks;
use crate::terms::{PERCENT_WHOLE, Terms};
use crate::words::{OrderStatus, OrderType, Side, Touch};

/// Returns whether a candle may fill an order: the order trades in the candle's lane, is reported,
/// was submitted before the candle, and has no fill from the candle. If another process records the
/// same candle with a later arrival time, it must not fill the order again.
pub(crate) fn is_eligible(order: &Order, effective: &EffectiveCandle) -> bool {
    let candle = &effective.candle;
    let is_reported = matches!(order.status(), OrderStatus::New | OrderStatus::PartialFilled);
    if !is_reported || candle.volume <= 0 || !trades_in(order.outside_rth(), candle.session) {
        return false;
    }
    if order.fills.iter().rev().any(|fill| fill.candle == candle.time) {
        return false;
    }
    let joins_auctions = order.fills_as().joins_closing_auction();
    if effective.is_tail() && joins_auctions {
        return joins_tail(order.since.at(), candle.time);
    }
    order.since.allows(candle.time)
}

/// Returns the price at which a candle fills an order, and the rule that applies. Returns `None` if
/// the candle does not fill the order.
pub(crate) fn price_in<'t>(
    order: &Order,
    effective: &EffectiveCandle,
    settings: &Settings,
    ticks: impl FnOnce() -> &'t Ticks,
) -> Option<(Price, FillRule)> {
    let candle = &effective.candle;
    let limit = order.terms.price.unwrap_or_default();
    let side = order.terms.side;
    if effective.is_tail() {
        return tail_price(order, effective).map(|price| (price, FillRule::ClosingAuction));
    }
    let crosses = |price: Price| crosses(side, limit, price, settings.touch);
    let extreme = if side.is_buy() { candle.low } else { candle.high };
    let as_limit = || match () {
        () if crosses(candle.open) => Some((candle.open, FillRule::Open)),
        () if crosses(extreme) => Some((limit, FillRule::Limit)),
        () => None,
    };
    let auction = order.standing.placement.auction;
    match order.fills_as() {
        OrderType::Market => {
            let slippage = settings.slippage_ticks;
            let price =
                if slippage == 0 { candle.open } else { slipped(candle.open, side, slippage, ticks()) };
            Some((price, FillRule::MarketOpen))
        }
        OrderType::Limit | OrderType::EnhancedLimit => as_limit(),
        OrderType::SpecialLimit => crosses(candle.open).then_some((candle.open, FillRule::Open)),
        OrderType::OddLot => (crosses(candle.open) || crosses(extreme)).then_some((limit, FillRule::OddLot)),
        OrderType::Auction => {
            let is_its = auction.is_some_and(|auction| !auction.is_closing && auction.stamp == candle.time);
            (is_its && !effective.is_day()).then_some((candle.open, FillRule::OpeningAuction))
        }
        // After its first auction, an auction limit order is a plain limit order. A daily candle
        // has the stamp of the opening auction, but no auction price.
        OrderType::AuctionLimit => match auction {
            Some(auction) if candle.time < auction.stamp => None,
            Some(auction)
                if candle.time == auction.stamp
                    && !effective.is_day()
                    && reaches(side, limit, candle.open) =>
            {
                Some((candle.open, FillRule::OpeningAuction))
            }
            _ => as_limit(),
        },
        _ => None,
    }
}

/// Returns the price at which a closing auction fills an order, or `None` if it does not. The
/// single auction price is the candle's close.
fn tail_price(order: &Order, effective: &EffectiveCandle) -> Option<Price> {
    let close = effective.candle.close;
    match order.fills_as() {
        OrderType::Limit | OrderType::EnhancedLimit | OrderType::AuctionLimit => {
            reaches(order.terms.side, order.terms.price?, close).then_some(close)
        }
        OrderType::Auction => {
            let auction = order.standing.placement.auction?;
            (auction.is_closing && auction.stamp == effective.candle.time).then_some(close)
        }
        _ => None,
    }
}

/// Returns whether a limit is at or better than a price, which is sufficient in an auction.
fn reaches(side: Side, limit: Price, price: Price) -> bool {
    if side.is_buy() { limit >= price } else { limit <= price }
}

/// Returns whether a limit is better than a price. The order's position in the exchange's queue is
/// unknown, so an equal price is not sufficient unless the account's settings allow it.
fn crosses(side: Side, limit: Price, price: Price, touch: Touch) -> bool {
    reaches(side, limit, price) && (touch == Touch::Touch || limit != price)
}

/// Returns the quantity that an account may take from a candle's volume: its participation share,
/// rounded down to a lot, but at least one lot if the volume allows it. Returns `None` if
/// participation is not limited.
pub(crate) fn budget(settings: &Settings, effective: &EffectiveCandle, lot: Quantity) -> Option<Quantity> {
    let share = settings.participation?;
    let volume = Quantity::whole(effective.candle.volume);
    let units = i128::from(volume.units()) * i128::from(share.units()) / i128::from(SHARE_UNIT);
    let taken = Quantity::from_units(i64::try_from(units).unwrap_or(i64::MAX)).down_to(lot);
    Some(if taken.is_zero() && volume >= lot { lot } else { taken })
}

/// An exact stop price in units of `10^-14`: a price has six decimals, and a percentage adds eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stop(i128);

const STOP_UNIT: i128 = PERCENT_WHOLE as i128;

impl Stop {
    /// Returns the stop of a trailing order whose best price so far is `best`: below `best` for a
    /// sell, above `best` for a buy.
    pub(crate) fn of(terms: &Terms, best: Price) -> Stop {
        let away = match (terms.trailing_amount, terms.trailing_percent) {
            (Some(amount), _) => i128::from(amount.0) * STOP_UNIT,
            (None, Some(percent)) => i128::from(best.0) * i128::from(percent.units()),
            (None, None) => 0,
        };
        let best = i128::from(best.0) * STOP_UNIT;
        Stop(if terms.side.is_buy() { best + away } else { best - away })
    }

    /// Returns whether a price has reached the stop.
    pub(crate) fn is_reached(self, side: Side, price: Price) -> bool {
        let price = i128::from(price.0) * STOP_UNIT;
        if side.is_buy() { price >= self.0 } else { price <= self.0 }
    }

    /// Returns the limit price of the released order: the stop plus the offset for a buy, or minus
    /// the offset for a sell, rounded to the tick in the same direction.
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

/// Returns the reserve price of a market order: the mark increased by `share`, rounded up to the
/// tick.
pub(crate) fn market_reserve(mark: Price, share: Share, ticks: &Ticks) -> Price {
    let units = i128::from(mark.0) * i128::from(SHARE_UNIT + share.units());
    let unit = i128::from(SHARE_UNIT);
    let up = units.div_euclid(unit) + i128::from(units.rem_euclid(unit) != 0);
    ticks.up(Price(i64::try_from(up).unwrap_or(i64::MAX / 2)))
}

/// Returns the price of a market fill: the open, moved by `slippage` ticks to the client's
/// disadvantage, and never below one tick.
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

/// Returns the price of a depth level. There is no order book, so level N is N − 1 ticks above the
/// mark, and level −N is N − 1 ticks below it. The price is rounded to the tick, up for a buy and
/// down for a sell.
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
