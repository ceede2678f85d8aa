//! Statements: what happened to an account on a date or in a month, and what it had at the end of it.
//!
//! A statement is a reading of the journal by book date. It needs no state of its own: entries are put in the order of their dates
//! (`dates.rs`), folded onto an [`Account`](crate::Account) date by date, and each date on which a market was open or something was
//! booked is told (`reckon.rs`). A month is told with the first date after it. What is told is made of the types of `lines.rs`; every
//! amount in them is exact, so that each equation holds to the last digit.

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
