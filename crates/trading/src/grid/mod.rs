//! Grid trading: a strategy that watches a symbol and creates sub-orders at its levels.
//!
//! `rule` has the client's parameters and their checks, and `state` the grid itself and its
//! realised profit. `fold` applies events to a grid. `commands` implements client commands, `step`
//! the levels and the effects of candles, the clock and corporate actions, and `sub_order` the
//! creation of an order by a trigger.

mod commands;
mod fold;
mod rule;
mod state;
mod step;
mod sub_order;

pub use commands::{GridSymbolInfo, TickBand, grid_symbol_info};
pub(crate) use commands::{agree, cancel, replace, restart, submit, suspend};
pub use rule::{GridRule, GridRuleInput, GridStep};
pub use state::{Grid, GridHistoryRow, GridLot, Grids};
pub use step::Levels;
pub(crate) use step::{expire, play, suspend_for_action};
pub(crate) use sub_order::{BY_CANCEL, BY_REPLACE};
