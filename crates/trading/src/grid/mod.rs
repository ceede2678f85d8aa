//! Grid trading: a strategy that watches a symbol and creates sub-orders at its levels.
//!
//! `rule` has the client's parameters and their checks, `levels` the step arithmetic, and `state`
//! the grid itself. `fold` applies events to a grid, and `profit` computes its realised profit.
//! `commands` implements client commands, `step` the effect of a candle, `sub_order` the creation
//! of an order by a trigger, and `ending` expiry and the effect of corporate actions.

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
