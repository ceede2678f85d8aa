//! Chart layouts: what an account has saved of the chart page, by name. A layout is the query part of
//! the page's address; only the page interprets it.

use market::Timestamp;
use store::{AccountId, LayoutRow, StoreError};

use crate::watchlist::{WatchlistError, WatchlistName};
use crate::{Access, AccessError};

/// Maximum number of layouts per account.
pub const LAYOUTS_MAX: usize = 50;
/// Maximum length of the address of a layout in bytes.
pub const LAYOUT_QUERY_MAX: usize = 2_000;
const _: () = assert!(LAYOUTS_MAX == 50 && LAYOUT_QUERY_MAX == 2_000, "the words of `LayoutError` say so");

/// Why a change to layouts was refused. The error message may be sent to the client, except for
/// `Failed`.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("there is no layout of this name")]
    NotFound,
    #[error("another layout has this name")]
    Taken,
    #[error("an account has at most 50 layouts: delete one first")]
    TooMany,
    #[error("the query has more than 2000 bytes")]
    TooLong,
    #[error("the query has characters that an address cannot have")]
    Unprintable,
    #[error(transparent)]
    Failed(#[from] AccessError),
}

impl From<StoreError> for LayoutError {
    fn from(error: StoreError) -> LayoutError {
        LayoutError::Failed(error.into())
    }
}

impl Access {
    /// Returns an account's layouts by name.
    pub fn layouts(&self, id: AccountId) -> Result<Vec<LayoutRow>, AccessError> {
        Ok(self.accounts.layouts(id)?)
    }

    /// Stores a layout, or replaces that of the same name.
    pub fn save_layout(
        &self,
        id: AccountId,
        name: &LayoutName,
        query: &str,
        at: Timestamp,
    ) -> Result<(), LayoutError> {
        if query.len() > LAYOUT_QUERY_MAX {
            return Err(LayoutError::TooLong);
        }
        if !query.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(LayoutError::Unprintable);
        }
        let row = LayoutRow { name: name.as_str().to_owned(), query: query.to_owned(), changed_at: at };
        self.accounts.change_layouts(id, |names, writes| {
            if !names.contains(&row.name) && names.len() >= LAYOUTS_MAX {
                return Err(LayoutError::TooMany);
            }
            Ok(writes.put(&row)?)
        })
    }

    pub fn rename_layout(&self, id: AccountId, from: &str, to: &LayoutName) -> Result<(), LayoutError> {
        self.accounts.change_layouts(id, |names, writes| {
            let has = |name: &str| names.iter().any(|one| one == name);
            match (has(from), from == to.as_str() || !has(to.as_str())) {
                (false, _) => Err(LayoutError::NotFound),
                (true, false) => Err(LayoutError::Taken),
                (true, true) => Ok(writes.rename(from, to.as_str())?),
            }
        })
    }

    pub fn delete_layout(&self, id: AccountId, name: &str) -> Result<(), LayoutError> {
        self.accounts.change_layouts(id, |names, writes| match names.iter().any(|one| one == name) {
            false => Err(LayoutError::NotFound),
            true => Ok(writes.remove(name)?),
        })
    }
}

/// A valid layout name, by the rule for names of watchlist groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutName(WatchlistName);

impl LayoutName {
    /// Trims and validates a name. The error is the reason.
    pub fn parse(text: &str) -> Result<LayoutName, &'static str> {
        match WatchlistName::parse(text) {
            Ok(name) => Ok(LayoutName(name)),
            Err(WatchlistError::Name(reason)) => Err(reason),
            Err(_) => Err("it is not valid"),
        }
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}
