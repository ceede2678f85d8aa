//! Determines which candles could affect a symbol's open orders and grids. Most minutes are far
//! from every limit: two comparisons exclude them, without touching the account.

use market::{Price, Symbol};

use crate::account::Account;
use crate::feed::{CandleKind, EffectiveCandle};
use crate::grid::Grid;
use crate::order::{Direction, Order, Watch};
use crate::words::{OrderStatus, OrderType};

/// The price range that affects open orders. It may be too wide but never too narrow: a candle that
/// reaches it is processed in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Any candle may have an effect.
    Every,
    /// Candles with a low at or below `down_to`, or a high at or above `up_to`.
    Beyond { down_to: Price, up_to: Price },
}

impl Reach {
    /// No candle has an effect.
    pub(crate) const NONE: Reach = Reach::Beyond { down_to: Price(i64::MIN), up_to: Price(i64::MAX) };

    /// Returns the combined range of a symbol's open orders and grids.
    pub(crate) fn of_symbol(account: &Account, symbol: &Symbol) -> Reach {
        let orders = account.open_orders_of(symbol);
        let reach = orders.fold(Reach::NONE, |reach, order| reach.or(Reach::of_order(order)));
        let grids = account.watching_grids().filter(|grid| grid.symbol == *symbol);
        grids.fold(reach, |reach, grid| reach.or(Reach::of_grid(grid)))
    }

    /// Returns the range of a grid: its levels, and all prices outside its bounds.
    fn of_grid(grid: &Grid) -> Reach {
        let inner = grid.rule.step.inner(grid.base);
        let (above, below) = (Price(grid.rule.upper.0 + 1), Price(grid.rule.lower.0 - 1));
        Reach::Beyond { down_to: inner.down.max(below), up_to: inner.up.min(above) }
    }

    fn of_order(order: &Order) -> Reach {
        match order.status() {
            // Only the clock changes these orders.
            OrderStatus::NotReported | OrderStatus::DelayedNotReported => Reach::NONE,
            OrderStatus::New | OrderStatus::PartialFilled => Reach::of_limit(order),
            OrderStatus::VarietiesNotReported => match order.standing.watch {
                Some(Watch::Touch(direction)) => Reach::toward(direction, order.terms.trigger_price),
                Some(Watch::Monitor(direction)) => Reach::toward(direction, order.terms.monitor_price),
                Some(Watch::Trail(_)) | None => Reach::Every,
            },
            _ => Reach::Every,
        }
    }

    /// Returns the range of a reported order. A limit is reached by a candle's extreme.
    fn of_limit(order: &Order) -> Reach {
        let direction = if order.terms.side.is_buy() { Direction::Fall } else { Direction::Rise };
        match order.fills_as() {
            OrderType::Limit | OrderType::EnhancedLimit | OrderType::AuctionLimit | OrderType::OddLot => {
                Reach::toward(direction, order.terms.price)
            }
            // The first candle fills or cancels these orders.
            _ => Reach::Every,
        }
    }

    fn toward(direction: Direction, price: Option<Price>) -> Reach {
        match (direction, price) {
            (_, None) => Reach::Every,
            (Direction::Fall, Some(down_to)) => Reach::Beyond { down_to, up_to: Price(i64::MAX) },
            (Direction::Rise, Some(up_to)) => Reach::Beyond { down_to: Price(i64::MIN), up_to },
        }
    }

    fn or(self, other: Reach) -> Reach {
        match (self, other) {
            (Reach::Beyond { down_to, up_to }, Reach::Beyond { down_to: low, up_to: high }) => {
                Reach::Beyond { down_to: down_to.max(low), up_to: up_to.min(high) }
            }
            _ => Reach::Every,
        }
    }

    /// Returns whether a candle could have an effect. Closing-auction and daily candles always can:
    /// only the close of an auction is meaningful, and a daily candle puts grids to sleep at any
    /// price.
    pub(crate) fn holds(self, effective: &EffectiveCandle) -> bool {
        let candle = &effective.candle;
        match self {
            Reach::Every => true,
            Reach::Beyond { down_to, up_to } => {
                candle.low <= down_to || candle.high >= up_to || effective.kind != CandleKind::Minute
            }
        }
    }
}
