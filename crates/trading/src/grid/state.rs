//! State of a grid, with its history and realised profit. Fills are matched first in, first out,
//! and fees are excluded.

use std::sync::Arc;

use market::{Market, Price, Symbol, Timestamp};
use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

use super::rule::GridRule;
use crate::codec;
use crate::decimal::div_round;
use crate::money::Currency;
use crate::money::{Fraction, Money};
use crate::order::{Facts, GridId, OrderId, Since};
use crate::orders::index_of;
use crate::quantity::Quantity;
use crate::words::{GridStatus, Side, SleepingReason, SuspendReason};

/// Maximum number of open grids per account.
pub(crate) const OPEN_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    pub id: GridId,
    #[serde(with = "codec::text")]
    pub symbol: Symbol,
    pub facts: Facts,
    pub settlement_currency: Currency,
    /// Current rule, as submitted or last replaced.
    pub rule: GridRule,
    pub status: GridStatus,
    pub suspend_reason: Option<SuspendReason>,
    pub sleeping_reason: Option<SleepingReason>,
    /// Price from which the next levels are computed.
    #[serde(with = "codec::price")]
    pub base: Price,
    /// Base before the last trigger. `None` before the first trigger.
    #[serde(with = "codec::price_option")]
    pub base_before: Option<Price>,
    /// Base that the last trigger set. `None` before the first trigger.
    #[serde(with = "codec::price_option")]
    pub base_after: Option<Price>,
    /// When the grid was last submitted, restarted or replaced. Only later candles can trigger the
    /// grid.
    pub since: Since,
    /// Stamp of the last candle that affected the grid.
    #[serde(with = "codec::instant_option")]
    pub last_candle: Option<Timestamp>,
    /// Expiry time. `None` if the grid does not expire.
    #[serde(with = "codec::instant_option")]
    pub ends_at: Option<Timestamp>,
    #[serde(with = "codec::instant")]
    pub created_at: Timestamp,
    #[serde(with = "codec::instant")]
    pub updated_at: Timestamp,
    /// Number of triggers that created an order.
    pub trigger_times: u64,
    /// Trading day of the last trigger, in days since 1970-01-01.
    #[serde(default)]
    pub(super) triggered_on: Option<i64>,
    /// Number of triggers on that day that created an order.
    #[serde(default)]
    pub(super) triggers: u32,
    /// Number of triggers on that day that created no order.
    #[serde(default)]
    pub(super) skips: u32,
    /// IDs of the grid's orders, oldest first, including the order that closes its position.
    pub orders: Vec<OrderId>,
    pub bought: Quantity,
    pub sold: Quantity,
    /// Realised profit without fees. Fills are matched first in, first out.
    pub profit: Money,
    /// The grid's open lots, long or short, oldest first.
    pub lots: Vec<GridLot>,
    /// History rows, oldest first.
    pub history: Vec<GridHistoryRow>,
}

/// One row of a grid's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridHistoryRow {
    /// Row number, counted from 1.
    pub number: u64,
    #[serde(with = "codec::instant")]
    pub at: Timestamp,
    pub status: GridStatus,
    pub suspend_reason: Option<SuspendReason>,
    /// The sleeping reason, `bound` or `replaced`. Empty for other changes.
    pub reason: String,
}

impl Grid {
    pub fn market(&self) -> Market {
        self.symbol.market()
    }

    /// Returns whether the grid is neither cancelled nor expired.
    pub fn is_open(&self) -> bool {
        !self.status.is_final()
    }

    pub fn is_watching(&self) -> bool {
        self.status == GridStatus::Performing
    }

    /// Returns the net quantity that the grid has bought, adjusted for splits, or zero if the grid
    /// is short.
    pub fn built(&self) -> Quantity {
        self.lots.iter().map(|lot| lot.quantity).sum::<Quantity>().or_zero()
    }
}

/// A lot of a grid's position. A positive quantity was bought and not sold yet; a negative quantity
/// was sold and not bought back yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridLot {
    pub quantity: Quantity,
    /// Total cost or proceeds, as a positive amount.
    pub amount: Money,
}

impl Grid {
    /// Changes all IDs to those of another account.
    pub(crate) fn set_account(&mut self, account: u64) {
        self.id = self.id.with_account(account);
        self.orders.iter_mut().for_each(|order| *order = order.with_account(account));
    }
}

impl GridLot {
    /// Removes part of the lot, and returns the cost or proceeds of that part.
    fn take(&mut self, part: Quantity) -> Money {
        let whole = i128::from(self.quantity.abs().units()).max(1);
        // The result is exact unless a split changed the quantity, because the amount is a price
        // times the quantity.
        let taken =
            Money::from_units(div_round(self.amount.units().saturating_mul(part.units().into()), whole));
        self.amount -= taken;
        self.quantity = if self.quantity.is_negative() { self.quantity + part } else { self.quantity - part };
        taken
    }
}

impl Grid {
    /// Books a fill of one of the grid's orders.
    pub(super) fn book(&mut self, side: Side, quantity: Quantity, price: Price) {
        let is_buy = side.is_buy();
        if is_buy {
            self.bought += quantity;
        } else {
            self.sold += quantity;
        }
        let is_opposite = |lot: &GridLot| lot.quantity.is_negative() == is_buy;
        let mut left = quantity;
        while left.is_positive() {
            let Some(lot) = self.lots.first_mut().filter(|lot| is_opposite(lot)) else { break };
            let part = left.min(lot.quantity.abs());
            let (before, now) = (lot.take(part), Money::of(price, part, self.facts.multiplier));
            self.profit += if is_buy { before - now } else { now - before };
            left -= part;
            if lot.quantity.is_zero() {
                self.lots.remove(0);
            }
        }
        if left.is_positive() {
            let signed = if is_buy { left } else { -left };
            self.lots
                .push(GridLot { quantity: signed, amount: Money::of(price, left, self.facts.multiplier) });
        }
    }

    /// Applies a split, which changes the quantities of the lots but not their amounts.
    fn change_shares(&mut self, ratio: Fraction) {
        let (above, below) = ratio.parts();
        for lot in &mut self.lots {
            let units = i128::from(lot.quantity.units()).saturating_mul(above) / below.max(1);
            lot.quantity =
                Quantity::from_units(i64::try_from(units).unwrap_or(i64::MAX)).down_to(Quantity::whole(1));
        }
        self.lots.retain(|lot| !lot.quantity.is_zero());
    }
}

/// The grids of an account, oldest first. Clones of an account share unchanged grids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grids {
    all: Vec<Arc<Grid>>,
    /// Numbers of the grids that have not ended, ascending.
    open: Vec<u64>,
}

impl Grids {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Grid> {
        self.all.iter().map(Arc::as_ref)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Grid> {
        self.all.iter_mut().map(Arc::make_mut)
    }

    /// Returns the grids that have not ended.
    pub fn open(&self) -> impl Iterator<Item = &Grid> {
        self.open.iter().filter_map(|number| self.get(*number))
    }

    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Grid> {
        self.all.get(self.index_of(number)?).map(Arc::as_ref)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Grid> {
        let index = self.index_of(number)?;
        self.all.get_mut(index).map(Arc::make_mut)
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        index_of(number, self.all.len(), |index| self.all.get(index).map(|grid| grid.id.number()))
    }

    pub(crate) fn push(&mut self, grid: Grid) {
        if grid.is_open() {
            self.open.push(grid.id.number());
        }
        self.all.push(Arc::new(grid));
    }

    /// Removes a grid from the open list. Must be called when the grid has ended.
    pub(crate) fn close(&mut self, number: u64) {
        self.open.retain(|open| *open != number);
    }

    /// Applies a split of a symbol to the lots of all grids on that symbol.
    pub(crate) fn change_shares(&mut self, symbol: &Symbol, ratio: Fraction) {
        let is_meant = |grid: &&mut Arc<Grid>| grid.symbol == *symbol && !grid.lots.is_empty();
        for grid in self.all.iter_mut().filter(is_meant) {
            Arc::make_mut(grid).change_shares(ratio);
        }
    }
}

impl Serialize for Grids {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> serde::Deserialize<'de> for Grids {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Grids, D::Error> {
        let mut grids = Grids::default();
        for grid in Vec::<Grid>::deserialize(from)? {
            grids.push(grid);
        }
        Ok(grids)
    }
}
