//! Errors of moving a store.

use std::fmt;

use crate::backup::Part;
use crate::engine::{StoreError, StoreUrl};

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("stopped")]
    Stopped,
    #[error("{place} cannot be moved to itself: name another place with --to")]
    Same { place: StoreUrl },
    #[error("{place} is not empty: a store can only be moved to an empty place: {}", instead(place))]
    NotEmpty { place: StoreUrl },
    #[error(
        "{place} contains an incomplete move of {of} in an earlier state: run the same command with that \
         store, unchanged, or empty the target ({}) and start over",
        removal(place)
    )]
    Other { place: StoreUrl, of: String },
    #[error("{place} is in use by {by}: stop every server of it, and run this again")]
    InUse { place: StoreUrl, by: String },
    #[error(
        "{from} was changed while it was moved: stop what uses it, empty the target ({}), and start over",
        removal(to)
    )]
    Changed { from: StoreUrl, to: StoreUrl },
    #[error(
        "table {table} of the {part} differs at both ends and cannot be moved: use a release that supports \
         both"
    )]
    Schema { part: DatabaseName, table: String },
    #[error(
        "the rows of table {table} of the {part} at {to} are not those of the source: empty the target \
         ({}), and start over",
        removal(to)
    )]
    Differs { part: DatabaseName, table: String, to: StoreUrl },
}

/// One of the two databases, displayed by its name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseName(pub(super) Part);

impl fmt::Display for DatabaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Part::Candles => "candles",
            Part::Accounts | Part::Key => "accounts",
        })
    }
}

/// Returns a suggestion for a target that is not empty.
fn instead(place: &StoreUrl) -> &'static str {
    match place.path() {
        Some(_) => "name another directory with --to",
        None => "name another database with --to, or another schema in it with `?schema=NAME`",
    }
}

/// Returns instructions for emptying a target.
pub(super) fn removal(place: &StoreUrl) -> String {
    match place {
        StoreUrl::Path(path) => format!("remove {}", path.display()),
        StoreUrl::Server(address) => {
            format!(
                "`psql '{}' -c 'drop schema {} cascade'`",
                address.for_tools(),
                address.schemas().join(", ")
            )
        }
    }
}
