//! Paper accounts as a service: the `trading` engine, its journals in the store, and market data
//! from `history`.
//!
//! [`Paper::at`] returns a handle to an account, with a store reader and a clock.
//! [`PaperAccount::command`] executes a client's or an operator's command, and
//! [`PaperAccount::read`] returns the account's state as of now. Both first advance the account to
//! now, and return only when the new entries are durable. [`Paper::advance`] advances many accounts
//! in one group commit. An idle account costs nothing.
//!
//! Start with `service.rs`, then `account/mod.rs` (how a request is decided and written),
//! `portion.rs` (how much work is done at a time) and `feed.rs` (the engine's market data).
//! `last_pushed.rs` tracks which entries listeners have received; `travel.rs` implements rewind,
//! reset and fork, for operators only. `look.rs`, `preview.rs` and `grid_preview.rs` compute an
//! account's state, or the effect of an order or a grid, without writing. `grids.rs` lists grids.
//! `explanation.rs` and `grid_explanation.rs` explain what happened to an order or a grid;
//! `explain.rs` reads the journal entries for them. `equity.rs` computes daily account values, and
//! `tallies.rs` the contribution of accounts to levels. `statements.rs` creates and stores daily
//! and monthly statements; `statement_document.rs` defines their format.

mod account;
mod arrivals;
mod charge;
mod clock;
mod closes;
mod equity;
mod equity_log;
mod error;
mod explain;
mod explained;
mod explanation;
mod feed;
mod flows;
mod grid_explanation;
mod grid_preview;
mod grid_words;
mod grids;
mod last_pushed;
mod listener;
mod look;
mod minutes;
mod opening;
mod operator_words;
mod orders;
mod outlook;
mod portion;
mod preview;
mod rates;
mod reason;
mod securities;
mod service;
mod snapshot;
mod statement_document;
mod statement_file;
mod statement_rows;
mod statements;
mod tallies;
mod terms_words;
#[cfg(test)]
mod tests;
mod travel;

pub use account::{Advanced, Audit, Done, PaperAccount, Reading};
pub use charge::Charge;
pub use clock::{Clock, Moment};
pub use equity::{Equity, EquityPoint};
pub use error::PaperError;
pub use explained::explained;
pub use explanation::{ExplainedCandle, ExplainedFill, OrderExplanation, Step, explanation};
pub use flows::{FlowQuery, FoundFlows};
pub use grid_explanation::{GridExplanation, grid_explanation};
pub use grid_preview::{GridPreview, GridSide};
pub use grids::{GRID_PAGE_MAX, GridOrder, GridPage, GridQuery, GridSort, grid_history, grid_orders, grids};
pub use listener::{Listener, NoListener};
pub use look::Seen;
pub use opening::Opening;
pub use operator_words::{Exchanged, in_words, settings_in_full};
pub use preview::{Change, Cost, Preview, Verdict};
pub use reason::Reason;
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
pub use travel::{Standing, Travel};
