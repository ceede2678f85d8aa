//! Grid trading: a strategy that creates an order whenever a symbol's price reaches one of its
//! levels.
//!
//! `rule` defines the client's parameters and their checks. `state` defines the grid and computes
//! its realised profit. `fold` applies events to a grid. `commands` implements client commands.
//! `step` computes the levels and applies candles, expiry and corporate actions. `sub_order`
//! creates the orders of triggers.

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
