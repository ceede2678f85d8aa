//! PostgreSQL: one schema per database, connection pools, and one thread that drives all
//! connections. The driver is not used outside this module.
//!
//! Start with [`Connection`], the handle of a database. It borrows connections (`session.rs`) from
//! a [`Server`]: a connection per statement, or one connection for a whole transaction.

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use address::{Address, AddressError};
pub(crate) use connection::Connection;
pub(crate) use notices::{News, Subject, Watch};
pub(crate) use pace::Pace;
pub(crate) use server::{Found, Need, Server};
pub(crate) use trouble::Trouble;
pub(crate) use value::column;

mod address;
mod connect;
mod connection;
mod ledger;
mod notices;
mod pace;
mod password;
mod runtime;
mod server;
mod session;
mod tls;
mod trouble;
mod value;

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]
#[path = "../../../tests/postgres/engine.rs"]
mod server_tests;

/// A result row.
pub(crate) type Row = tokio_postgres::Row;

/// The database that a pool connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schema {
    Candles,
    Accounts,
}

/// Returns the contents of a small file that an address refers to. The error is a message that says
/// why the file cannot be read.
fn read_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        Ok(_) if bytes.len() as u64 > bytes_max => {
            Err(format!("{} is larger than {bytes_max} bytes: name another file", path.display()))
        }
        Ok(_) => Ok(bytes),
    }
}
