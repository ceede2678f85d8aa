//! A grid and its history.

use std::sync::Arc;

use market::{Market, Price, Symbol, Timestamp};
use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

use super::id::GridId;
use super::profit::GridLot;
use super::rule::GridRule;
use crate::codec;
use crate::money::Currency;
use crate::money::{Fraction, Money};
use crate::order::{Facts, OrderId, Since};
use crate::orders::index_of;
use crate::quantity::Quantity;
use crate::words::{GridStatus, SleepingReason, SuspendReason};

/// Maximum number of open grids per account.
pub(crate) const OPEN_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    pub id: GridId,
    #[serde(with = "codec::text")]
    pub symbol: Symbol,
    pub facts: Facts,
    pub settlement_currency: Currency,
    /// The rule as submitted or last replaced.
    pub rule: GridRule,
    pub status: GridStatus,
    pub suspend_reason: Option<SuspendReason>,
    pub sleeping_reason: Option<SleepingReason>,
    /// Price from which the next levels are computed.
    #[serde(with = "codec::price")]
    pub base: Price,
    /// Base before the last trigger, and the one set by that trigger.
    #[serde(with = "codec::price_option")]
    pub base_before: Option<Price>,
    #[serde(with = "codec::price_option")]
    pub base_after: Option<Price>,
    /// When the grid was submitted, restarted or replaced. Only later candles can trigger it.
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
    /// Trading day of the last trigger, and the number of triggers on that day: with an order, and
    /// skipped.
    #[serde(default)]
    pub(super) triggered_on: Option<i64>,
    #[serde(default)]
    pub(super) triggers: u32,
    #[serde(default)]
    pub(super) skips: u32,
    /// The grid's orders, oldest first, including the closing order.
    pub orders: Vec<OrderId>,
    pub bought: Quantity,
    pub sold: Quantity,
    /// Realised profit: fills matched first in, first out, without charges.
    pub profit: Money,
    /// The grid's open lots, long or short, oldest first.
    pub lots: Vec<GridLot>,
    /// Oldest first.
    pub history: Vec<GridHistoryRow>,
}

/// One row of a grid's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridHistoryRow {
    /// Counts from 1.
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

    /// Returns whether the grid has not ended.
    pub fn is_open(&self) -> bool {
        !self.status.is_final()
    }

    pub fn is_watching(&self) -> bool {
        self.status == GridStatus::Performing
    }

    /// Returns the net quantity bought, adjusted for splits.
    pub fn built(&self) -> Quantity {
        self.lots.iter().map(|lot| lot.quantity).sum::<Quantity>().or_zero()
    }
}

/// The grids of an account, oldest first. Clones of an account share them.
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

    /// Applies a symbol's split to the positions of its grids.
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
