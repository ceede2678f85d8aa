//! Paper accounts as a service: the `trading` engine, its journals in the store, and market data
//! from `history`.
//!
//! [`Paper::at`] returns a handle to an account, with a store reader and a clock.
//! [`PaperAccount::command`] executes a client's or an operator's command, and
//! [`PaperAccount::read`] returns the account's state as of now. Both methods first advance the
//! account to now, and return only when the new entries are durable. [`Paper::advance`] advances
//! many accounts in one group commit. An idle account costs nothing.
//!
//! Start with `service.rs` (accounts by id, and the amount of work per request), then read
//! `account/mod.rs` (how a request is decided and written) and `feed.rs` (the engine's market
//! data). `listener.rs` tracks which entries listeners have received. `rewind.rs` implements
//! rewind, reset and fork, which are only for operators. `look.rs`, `preview.rs` and
//! `grid_preview.rs` compute an account's state, or the effect of an order or a grid, without
//! writing. `grids.rs` lists grids. `explanation.rs` and `grid_explanation.rs` explain what
//! happened to an order or a grid; `explain.rs` reads the journal entries for them. `equity.rs`
//! computes daily account values, `performance.rs` profits and closed trades, and `tallies.rs` what
//! accounts contribute to levels. `statements.rs` creates and stores daily and monthly statements,
//! whose format is in `statement_document.rs`.

mod account;
mod arrivals;
mod caches;
mod clock;
mod commands;
mod equity;
mod equity_log;
mod error;
mod explain;
mod explanation;
mod feed;
mod flows;
mod grid_explanation;
mod grid_preview;
mod grids;
mod listener;
mod look;
mod minutes;
mod operator_words;
mod order_words;
mod outlook;
mod performance;
mod performance_log;
mod preview;
mod reason;
mod rewind;
mod service;
mod statement_document;
mod statement_rows;
mod statements;
mod tallies;
#[cfg(test)]
mod tests;

pub use account::{Advanced, Audit, Done, PaperAccount, Reading};
pub use clock::{Clock, Moment};
pub use commands::Opening;
pub use equity::{Equity, EquityPoint};
pub use error::PaperError;
pub use explain::explained;
pub use explanation::{ExplainedCandle, ExplainedFill, OrderExplanation, Step, explanation};
pub use flows::{FlowQuery, FoundFlows};
pub use grid_explanation::{GridExplanation, grid_explanation};
pub use grid_preview::{GridPreview, GridSide};
pub use grids::{GRID_PAGE_MAX, GridOrder, GridPage, GridQuery, GridSort, grid_history, grid_orders, grids};
pub use listener::{Listener, NoListener};
pub use look::Seen;
pub use operator_words::{Exchanged, in_words, settings_in_full};
pub use outlook::{Waiting, waiting};
pub use performance::{CurrencyProfit, Performance, ProfitRow, SecurityRow, TradeRow};
pub use preview::{AttachedPreview, Change, Cost, Preview, Verdict};
pub use reason::{Charge, Reason};
pub use rewind::{JournalOperation, Standing};
pub use service::{Paper, Watched};
pub use statement_document::{CHANNEL, StatementDocument};
pub use statement_rows::{
    AccountBalance, AccountBalanceChange, AccountBalanceChangeSum, AccountBalanceLock, AccountBalanceLockSum,
    AccountBalanceSum, Corp, EquityHolding, EquityHoldingChange, EquityHoldingChangeSum, EquityHoldingLock,
    EquityHoldingLockSum, EquityHoldingSum, Interest, StatementAsset, StatementFee, StatementMember, Trade,
    TradeSum,
};
pub use statements::{StatementId, StatementList};
pub use store::JournalCut;
