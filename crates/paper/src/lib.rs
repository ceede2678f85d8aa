//! Paper accounts as a service: the engine of `trading`, its journals in the store, and the markets as `history` has them.
//!
//! [`Paper::command`] carries out what a client or an operator asks, [`Paper::read`] shows an account as of now. Both first let
//! everything happen that the market has brought since the account was last looked at, and both return only when what happened is on
//! the disk. [`Paper::advance`] does that alone, for many accounts at once. An account that nobody asks about costs nothing.
//!
//! Start with `service.rs`, then `attempt.rs` (how a request is decided and written), `portion.rs` (how much at a time) and `feed.rs` (what the engine is told of
//! markets). `commit.rs` writes for many at once, `last_pushed.rs` has what listeners have heard of; `travel.rs` is what only an
//! operator may do to a journal. `look.rs`, `preview.rs` and `grid_preview.rs` write nothing: an account as it is, and what would become of
//! an order or a grid. `grids.rs` reads grids, `grid_story.rs` tells what happened to one. `story.rs` tells what happened to an order,
//! and why; `explain.rs` reads the part of a journal that is about one; `equity.rs` what an account was worth day by day. `tallies.rs` works out what accounts contribute to levels. `statements.rs` makes and keeps the statements of dates and months, `statement_document.rs` is their form.

mod arrivals;
mod attempt;
mod book;
mod charge;
mod closes;
mod commit;
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

pub use charge::Charge;
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
pub use service::{Advanced, Audit, Clock, Done, Moment, Paper, Reading, Watched};
pub use statement_document::{CHANNEL, StatementDocument};
pub use statement_rows::{
    AccountBalance, AccountBalanceChange, AccountBalanceChangeSum, AccountBalanceLock, AccountBalanceLockSum,
    AccountBalanceSum, Corp, EquityHolding, EquityHoldingChange, EquityHoldingChangeSum, EquityHoldingLock,
    EquityHoldingLockSum, EquityHoldingSum, Interest, StatementAsset, StatementFee, StatementMember, Trade,
    TradeSum,
};
pub use statements::{SeenStatements, StatementId, StatementList};
pub use store::JournalCut;
pub use travel::{Standing, Travel};
