//! Grid ids, and the origin stored with a grid order.

use market::Price;
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::order::OrderId;
use crate::words::GridTriggerKind;

/// A grid's id: account and number. Grid numbers use the upper end of the range of order numbers,
/// so a grid id never equals an order id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GridId(OrderId);

const FIRST: u64 = 900_000_000;

impl GridId {
    /// Returns the id of an account's grid number `number`, counted from 1.
    pub fn of(account: u64, number: u64) -> GridId {
        GridId(OrderId::of(account, FIRST.saturating_add(number)))
    }

    pub fn account(self) -> u64 {
        self.0.account()
    }

    /// Returns the grid's number, or 0 if the id is not that of a grid.
    pub fn number(self) -> u64 {
        self.0.number().saturating_sub(FIRST)
    }
}

impl std::fmt::Display for GridId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl std::str::FromStr for GridId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<GridId, std::num::ParseIntError> {
        text.parse().map(GridId)
    }
}

codec::serde_as_text!(GridId);

/// The grid that created an order, and the price that triggered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridOrigin {
    pub grid: GridId,
    pub kind: GridTriggerKind,
    /// Triggering price: the level, the open after a gap, or the crossed bound.
    #[serde(with = "codec::price")]
    pub price: Price,
    /// Base before the trigger.
    #[serde(with = "codec::price")]
    pub base: Price,
}
