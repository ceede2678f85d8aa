//! Grids by their ids, and what an order keeps of the one that made it.

use market::Price;
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::order::OrderId;
use crate::words::GridTriggerKind;

/// A grid by account and number. No order of an account has the same id: grids are numbered from the upper end of what orders can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GridId(OrderId);

const FIRST: u64 = 900_000_000;

impl GridId {
    /// The `number`-th grid of an account, from 1.
    pub fn of(account: u64, number: u64) -> GridId {
        GridId(OrderId::of(account, FIRST.saturating_add(number)))
    }

    pub fn account(self) -> u64 {
        self.0.account()
    }

    /// 0 for what is no grid's id.
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

/// Which grid made an order, and at what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridOrigin {
    pub grid: GridId,
    pub kind: GridTriggerKind,
    /// The price that triggered it: the level, the open after a gap, the bound that was left.
    #[serde(with = "codec::price")]
    pub price: Price,
    /// The base before it.
    #[serde(with = "codec::price")]
    pub base: Price,
}
