//! One-time passwords: issued by one node, valid once at any node.

use std::time::Duration;

use super::{Shared, duration, passwords_sql as sql};
use crate::ids::Hash;
use crate::{AccountId, StoreError};

/// A password to be issued. `caller` is opaque to the store.
#[derive(Clone, Copy, Debug)]
pub struct NewPassword<'a> {
    pub hash: &'a Hash,
    pub account: AccountId,
    pub caller: &'a [u8],
}

/// An issued, unused password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedPassword {
    pub account: AccountId,
    pub caller: Vec<u8>,
    pub age: Duration,
}

impl Shared {
    /// Stores a password. An account has at most `of_account_max`: its oldest are removed.
    pub fn issue_password(&self, new: &NewPassword<'_>, of_account_max: u32) -> Result<(), StoreError> {
        let db = self.quick();
        db.run(sql::TRIM, (new.account.0, of_account_max.saturating_sub(1)))?;
        db.run(sql::ADD, (new.hash, new.account.0, new.caller)).map(drop)
    }

    /// An issued, unused password, valid or expired. [`Shared::sit`] uses it up.
    pub fn issued_password(&self, hash: &Hash) -> Result<Option<IssuedPassword>, StoreError> {
        self.durable().first(sql::FIND, [hash], |row| {
            Ok(IssuedPassword {
                account: AccountId(row.get(0)?),
                caller: row.get(1)?,
                age: duration(row.get(2)?),
            })
        })
    }
}
