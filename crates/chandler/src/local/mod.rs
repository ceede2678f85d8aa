//! Accounts in the local store, with or without a running server. Operator commands change
//! [`Books`]; account commands send requests to the server's endpoints in this process
//! ([`LocalAccount`]).

mod account_clock;
mod accounts;
mod books;
mod endpoints;
mod refused;

pub(crate) use accounts::{named, open_accounts};
pub(crate) use books::Books;
pub(crate) use endpoints::{Effect, LocalAccount, Purpose};
pub(crate) use refused::to_failure;
