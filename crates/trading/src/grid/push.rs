//! Grid pushes: one message for each change of status, sleeping reason or base.

use market::{Price, Symbol, Timestamp};

use super::id::GridId;
use super::rule::GridRule;
use super::state::Grid;
use crate::money::Currency;
use crate::words::{GridStatus, SleepingReason, SuspendReason};

/// Content of a `gridtrading_order` message.
#[derive(Clone, Debug)]
pub struct GridPush {
    pub id: GridId,
    pub symbol: Symbol,
    pub status: GridStatus,
    pub suspend_reason: Option<SuspendReason>,
    pub sleeping_reason: Option<SleepingReason>,
    /// Current base. The submitted base is in `rule`.
    pub base: Price,
    pub rule: GridRule,
    pub settlement_currency: Currency,
    pub updated_at: Timestamp,
}

impl GridPush {
    pub(crate) fn of(grid: &Grid) -> GridPush {
        GridPush {
            id: grid.id,
            symbol: grid.symbol.clone(),
            status: grid.status,
            suspend_reason: grid.suspend_reason,
            sleeping_reason: grid.sleeping_reason,
            base: grid.base,
            rule: grid.rule.clone(),
            settlement_currency: grid.settlement_currency,
            updated_at: grid.updated_at,
        }
    }
}
