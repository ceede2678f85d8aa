//! The file names of a store's databases.

pub(crate) const CANDLES: &str = "candles.db";
pub(crate) const ACCOUNTS: &str = "accounts.db";
