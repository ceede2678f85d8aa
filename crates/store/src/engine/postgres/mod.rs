//! PostgreSQL: one schema a database, a pool of connections, a thread that drives them all. The driver appears nowhere else.

pub(crate) use address::{Address, AddressError};

mod address;
mod file;
mod password;

/// Which of our two databases a pool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schema {
    Candles,
    Accounts,
}
