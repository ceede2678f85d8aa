//! One-time passwords: issued by one node, and valid once on any node.

use std::time::Duration;

use super::{Shared, duration};
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
    /// Stores a password. An account has at most `of_account_max`; the oldest ones are removed.
    pub fn issue_password(&self, new: &NewPassword<'_>, of_account_max: u32) -> Result<(), StoreError> {
        let db = self.quick();
        db.run(sql::TRIM, (new.account.0, of_account_max.saturating_sub(1)))?;
        db.run(sql::ADD, (new.hash, new.account.0, new.caller)).map(drop)
    }

    /// Returns an issued, unused password, even if it has expired. [`Shared::sit`] consumes it.
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

pub(super) mod sql {
    use super::super::now_us;
    use crate::engine::Sql;

    pub(crate) const ADD: Sql = Sql::new(
        "keep a one-time password",
        concat!(
            "insert into one_time_password (hash, account_id, caller, issued_us) values ($1, $2, $3, ",
            now_us!(),
            ")"
        ),
    );

    /// Removes an account's passwords except the `$2` newest.
    pub(crate) const TRIM: Sql = Sql::new(
        "forget one-time passwords",
        "delete from one_time_password where hash in (select hash from one_time_password where account_id = $1 \
         order by issued_us desc offset $2)",
    );

    pub(crate) const FIND: Sql = Sql::new(
        "look for a one-time password",
        concat!(
            "select account_id, caller, ",
            now_us!(),
            " - issued_us from one_time_password where hash = $1"
        ),
    );

    pub(crate) const USE: Sql =
        Sql::new("use a one-time password", "delete from one_time_password where hash = $1");

    pub(crate) const SWEEP: Sql =
        Sql::new("forget one-time passwords", "delete from one_time_password where issued_us < $1");
}
