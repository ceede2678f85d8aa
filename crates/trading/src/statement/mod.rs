//! Statements: the events of an account on a date or in a month, and its state at the end.
//!
//! A statement is computed from the journal by booking date, without stored state. Entries are
//! sorted by date (`dates.rs`) and folded onto an [`Account`](crate::Account) date by date. Each
//! date on which a market was open or an amount was booked gets a statement (`reckon.rs`). A
//! monthly statement is created with the first statement of the next month. `lines.rs` has the
//! types; all amounts in them are exact, so that every sum matches to the last digit.

mod dates;
mod lines;
mod reckon;
mod sections;

pub use dates::{last_made_at, made_at};
pub use lines::{
    AssetLine, CashLine, CashLock, CorporateKind, CorporateLine, FlowLine, HoldingLine, InterestKind,
    InterestLine, ShareChange, ShareLine, ShareLock, Statement, StatementKind, TradeLine,
};
pub use reckon::statements;
