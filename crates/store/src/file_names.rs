//! The databases of a store, by the names of their files.

pub(crate) const CANDLES: &str = "candles.db";
pub(crate) const ACCOUNTS: &str = "accounts.db";
