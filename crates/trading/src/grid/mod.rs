//! Grid trading: an engine order that watches a symbol and has sub-orders made at its levels.
//!
//! `rule` is what a client asks for and its checks, `levels` the arithmetic of steps, `state` a grid as its events add up to,
//! `fold` those events onto it, `profit` what its fills have earned. `commands` is what clients do to a grid, `step` what a candle
//! does, `sub_order` how an order is born of a trigger, `ending` what the clock and corporate actions do.

mod commands;
mod ending;
mod fold;
mod id;
mod levels;
mod profit;
mod push;
mod rule;
mod state;
mod step;
mod sub_order;
mod symbol_info;

pub(crate) use commands::{agree, cancel, replace, restart, submit, suspend};
pub(crate) use ending::{expire, suspend_for_action};
pub use id::{GridId, GridOrigin};
pub use levels::Levels;
pub use profit::GridLot;
pub use push::GridPush;
pub use rule::{GridRule, GridRuleInput, GridStep};
pub use state::{Grid, GridHistoryRow, Grids};
pub(crate) use step::play;
pub(crate) use sub_order::{BY_CANCEL, BY_REPLACE};
pub use symbol_info::{GridSymbolInfo, TickBand, grid_symbol_info};
