//! The candles of one symbol in the order in which they take effect, scanned one window at a time.
//! Only the candles that may affect the symbol's orders and grids are stored.
//!
//! [`Reach`] determines which candles these are. The prices of most candles are far from every
//! limit, so two comparisons exclude them without reading the account.

use market::{Price, Symbol, Timestamp};

use crate::account::Account;
use crate::feed::{CandleKind, EffectiveCandle, Feed};
use crate::grid::Grid;
use crate::order::{Direction, Order, Watch};
use crate::words::{OrderStatus, OrderType};

#[derive(Debug)]
pub(crate) struct Tape {
    reach: Reach,
    /// Relevant candles, each with its index among all candles that take effect at the same
    /// instant.
    candles: Vec<(usize, EffectiveCandle)>,
    next: usize,
    /// End of the scanned range.
    through: Timestamp,
}

/// Fixed cost of a scan, counted in candles, because a feed looks up each day even if it has no
/// candles.
const SCAN_COST: u64 = 100;

impl Tape {
    pub(crate) fn new(reach: Reach, after: Timestamp) -> Tape {
        Tape { reach, candles: Vec::new(), next: 0, through: after }
    }

    /// Sets the reach. If the reach has changed, restarts the scan at `now`.
    pub(crate) fn aim(&mut self, reach: Reach, now: Timestamp) {
        if self.reach != reach {
            self.reach = reach;
            self.candles.clear();
            self.next = 0;
            self.through = now;
        }
    }

    /// Returns when the next relevant candle after `now` and up to `through` takes effect, or
    /// `None` if there is none. Adds the cost of the search to `cost`.
    pub(crate) fn peek(
        &mut self,
        feed: &dyn Feed,
        symbol: &Symbol,
        (now, through): (Timestamp, Timestamp),
        cost: &mut u64,
    ) -> Option<Timestamp> {
        loop {
            while let Some((_, effective)) = self.candles.get(self.next) {
                if effective.at > now {
                    return (effective.at <= through).then_some(effective.at);
                }
                self.next += 1;
            }
            let from = self.through.max(now);
            if from >= through {
                return None;
            }
            let scanned = self.look(feed, symbol, from, through);
            *cost = cost.saturating_add(scanned).saturating_add(SCAN_COST);
        }
    }

    /// Collects the relevant candles after `after` and up to `through`. Returns the number of
    /// candles scanned.
    fn look(&mut self, feed: &dyn Feed, symbol: &Symbol, after: Timestamp, through: Timestamp) -> u64 {
        let Tape { reach, candles, .. } = self;
        candles.clear();
        let mut scanned: u64 = 0;
        let mut last: Option<(Timestamp, usize)> = None;
        feed.scan(symbol, after, through, &mut |effective| {
            scanned = scanned.saturating_add(1);
            let place = last.filter(|(at, _)| *at == effective.at).map_or(0, |(_, place)| place + 1);
            last = Some((effective.at, place));
            // If several candles take effect at one instant, the first candle may move the base of
            // a grid, which can make the later candles relevant.
            let follows = candles.last().is_some_and(|(_, stored)| stored.at == effective.at);
            if follows || reach.holds(effective) {
                candles.push((place, *effective));
            }
        });
        self.next = 0;
        self.through = through;
        scanned
    }

    /// Returns the candles that take effect at `at`, which `peek` has just returned. Each candle
    /// has its index among all candles that take effect at that instant.
    pub(crate) fn at(&self, at: Timestamp) -> impl Iterator<Item = &(usize, EffectiveCandle)> {
        let rest = self.candles.get(self.next..).unwrap_or_default();
        rest.iter().take_while(move |(_, effective)| effective.at == at)
    }
}

/// Prices that may affect a symbol's open orders and grids. The range may be too wide but never too
/// narrow, because each candle that reaches it is checked in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All candles may have an effect.
    Every,
    /// Candles with a low at or below `down_to`, or a high at or above `up_to`.
    Beyond { down_to: Price, up_to: Price },
}

impl Reach {
    /// No candle has an effect.
    pub(crate) const NONE: Reach = Reach::Beyond { down_to: Price(i64::MIN), up_to: Price(i64::MAX) };

    /// Returns the combined reach of a symbol's open orders and grids.
    pub(crate) fn of_symbol(account: &Account, symbol: &Symbol) -> Reach {
        let orders = account.open_orders_of(symbol);
        let reach = orders.fold(Reach::NONE, |reach, order| reach.or(Reach::of_order(order)));
        let grids = account.watching_grids().filter(|grid| grid.symbol == *symbol);
        grids.fold(reach, |reach, grid| reach.or(Reach::of_grid(grid)))
    }

    /// Returns the reach of a grid: its levels, and all prices outside its bounds.
    fn of_grid(grid: &Grid) -> Reach {
        let inner = grid.rule.step.inner(grid.base);
        let (above, below) = (Price(grid.rule.upper.0 + 1), Price(grid.rule.lower.0 - 1));
        Reach::Beyond { down_to: inner.down.max(below), up_to: inner.up.min(above) }
    }

    fn of_order(order: &Order) -> Reach {
        match order.status() {
            // These orders change only by time, not by price.
            OrderStatus::NotReported | OrderStatus::DelayedNotReported => Reach::NONE,
            OrderStatus::New | OrderStatus::PartialFilled => Reach::of_limit(order),
            _ if order.is_dormant() => Reach::NONE,
            OrderStatus::VarietiesNotReported => match order.standing.watch {
                Some(Watch::Touch(direction)) => Reach::toward(direction, order.terms.trigger_price),
                Some(Watch::Monitor(direction)) => Reach::toward(direction, order.terms.monitor_price),
                Some(Watch::Trail(_)) | None => Reach::Every,
            },
            _ => Reach::Every,
        }
    }

    /// Returns the reach of a reported order. A candle reaches a limit with its low or high.
    fn of_limit(order: &Order) -> Reach {
        let direction = if order.terms.side.is_buy() { Direction::Fall } else { Direction::Rise };
        match order.fills_as() {
            OrderType::Limit | OrderType::EnhancedLimit | OrderType::AuctionLimit | OrderType::OddLot => {
                Reach::toward(direction, order.terms.price)
            }
            // The next candle fills or cancels these orders at any price.
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

    /// Returns whether a candle could have an effect. Closing-auction and daily candles always can,
    /// because only the close of an auction candle is meaningful, and a daily candle puts grids to
    /// sleep at any price.
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
