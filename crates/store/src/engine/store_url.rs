//! Location of a database, the purpose of a connection to it, and the program that it belongs to.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::postgres::{Address, AddressError};

/// Name of the candle database in a store's directory.
pub(crate) const CANDLES_FILE: &str = "candles.db";
/// Name of the log of ingested batches, next to the candle database.
pub(crate) const INGEST_FILE: &str = "ingest.db";
pub(crate) const ACCOUNTS_FILE: &str = "accounts.db";
/// Name of the file with the key that encrypts app secrets.
pub(crate) const KEY_FILE: &str = "secret.key";

/// Location of a store, or of one of its databases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StoreUrl {
    /// A directory with SQLite files, or one of the files.
    Path(PathBuf),
    /// A PostgreSQL database.
    Server(Box<Address>),
}

impl StoreUrl {
    /// Returns the path of the directory or file, or `None` on PostgreSQL.
    pub fn path(&self) -> Option<&Path> {
        match self {
            StoreUrl::Path(path) => Some(path),
            StoreUrl::Server(_) => None,
        }
    }
}

impl From<&Path> for StoreUrl {
    fn from(path: &Path) -> StoreUrl {
        StoreUrl::Path(path.to_owned())
    }
}

impl From<&PathBuf> for StoreUrl {
    fn from(path: &PathBuf) -> StoreUrl {
        StoreUrl::Path(path.clone())
    }
}

impl From<PathBuf> for StoreUrl {
    fn from(path: PathBuf) -> StoreUrl {
        StoreUrl::Path(path)
    }
}

impl From<&str> for StoreUrl {
    fn from(path: &str) -> StoreUrl {
        StoreUrl::Path(path.into())
    }
}

impl From<&Address> for StoreUrl {
    fn from(address: &Address) -> StoreUrl {
        StoreUrl::Server(Box::new(address.clone()))
    }
}

impl From<&StoreUrl> for StoreUrl {
    fn from(place: &StoreUrl) -> StoreUrl {
        place.clone()
    }
}

impl FromStr for StoreUrl {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<StoreUrl, AddressError> {
        if Address::is_meant(text) {
            return text.parse().map(|address| StoreUrl::Server(Box::new(address)));
        }
        Ok(StoreUrl::Path(text.strip_prefix("sqlite:").unwrap_or(text).into()))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Path(path) => path.display().fmt(f),
            StoreUrl::Server(address) => address.fmt(f),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    /// A reader that leaves no files behind, not even SQLite's shared-memory file.
    Onlooker,
    Writer,
    /// The writer of a file that no other process uses yet, and that is deleted if writing fails.
    Draft,
    /// The writer of a local copy, which may lose its last commits and may contain dangling
    /// references.
    Copy,
}

/// The program that a database belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The database is empty.
    Unclaimed,
    Ours,
    AnotherProgram,
}
