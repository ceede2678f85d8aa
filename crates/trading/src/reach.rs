//! Which candles could affect the open orders and grids of a symbol. Most minutes of a day pass far
//! from every limit: two comparisons exclude them, and the account is not touched.

use market::{Price, Symbol};

use crate::account::Account;
use crate::feed::{CandleKind, EffectiveCandle};
use crate::grid::Grid;
use crate::order::{Direction, Order, Watch};
use crate::words::{OrderStatus, OrderType};

/// The price range that affects open orders. Too wide rather than too narrow: a candle that reaches
/// it is processed in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Any candle may matter.
    Every,
    /// Candles that go down to one price or up to another.
    Beyond { down_to: Price, up_to: Price },
}

impl Reach {
    /// No candle matters.
    pub(crate) const NONE: Reach = Reach::Beyond { down_to: Price(i64::MIN), up_to: Price(i64::MAX) };

    /// The range of all open orders and grids of a symbol.
    pub(crate) fn of_symbol(account: &Account, symbol: &Symbol) -> Reach {
        let orders = account.open_orders_of(symbol);
        let reach = orders.fold(Reach::NONE, |reach, order| reach.or(Reach::of_order(order)));
        let grids = account.watching_grids().filter(|grid| grid.symbol == *symbol);
        grids.fold(reach, |reach, grid| reach.or(Reach::of_grid(grid)))
    }

    /// The levels of a grid, and everything outside of its bounds.
    fn of_grid(grid: &Grid) -> Reach {
        let inner = grid.rule.step.inner(grid.base);
        let (above, below) = (Price(grid.rule.upper.0 + 1), Price(grid.rule.lower.0 - 1));
        Reach::Beyond { down_to: inner.down.max(below), up_to: inner.up.min(above) }
    }

    fn of_order(order: &Order) -> Reach {
        match order.status() {
            // Only the clock changes these.
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

    /// A reported order: a limit is reached by the extreme of a candle, at its open or later.
    fn of_limit(order: &Order) -> Reach {
        let direction = if order.terms.side.is_buy() { Direction::Fall } else { Direction::Rise };
        match order.fills_as() {
            OrderType::Limit | OrderType::EnhancedLimit | OrderType::AuctionLimit | OrderType::OddLot => {
                Reach::toward(direction, order.terms.price)
            }
            // Filled, or cancelled, by the first candle.
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

    /// Whether a candle could have an effect. In a closing auction all prices but the close are
    /// meaningless, and a daily candle puts grids to sleep whatever its prices.
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
