//! Paper accounts as a service: the engine of `trading`, its journals in the store, and the markets
//! of `history`.
//!
//! [`Paper::at`] is an account with a reader of the store and a clock. [`PaperAccount::command`]
//! executes a command of a client or an operator, [`PaperAccount::read`] shows the account as of
//! now. Both first advance the account to now, and both return only when the new entries are on the
//! disk. [`Paper::advance`] only advances, for many accounts together. An idle account costs
//! nothing.
//!
//! Start with `service.rs`, then `account/mod.rs` (how a request is decided and written),
//! `portion.rs` (how much work at a time) and `feed.rs` (the market data for the engine).
//! `last_pushed.rs` tracks which entries listeners have received, `travel.rs` has rewind, reset and
//! fork, for operators only. `look.rs`, `preview.rs` and `grid_preview.rs` write
//! nothing: they show an account, or the effect of an order or a grid. `grids.rs` lists grids.
//! `explanation.rs` and `grid_explanation.rs` explain what happened to an order or a grid;
//! `explain.rs` reads the journal entries for that. `equity.rs` has the value of an account day by
//! day, `tallies.rs` the contribution of accounts to levels. `statements.rs` makes and stores daily
//! and monthly statements, `statement_document.rs` is their format.

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
