//! Statements: the events of an account on a date or in a month, and its state at the end.
//!
//! A statement is computed from the journal by booking date, without any state: entries are sorted
//! by date (`dates.rs`), folded onto an [`Account`](crate::Account) date by date, and each date on
//! which a market was open or something was booked gets a statement (`reckon.rs`). The statement of
//! a month is made with the first date after it. `lines.rs` has the types; every amount in them is
//! exact, so that each equation holds to the last digit.

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
