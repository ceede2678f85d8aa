//! Accounts that lost rights, so that nodes invalidate their caches. `accounts/changes.rs` records
//! them.

use super::Shared;
use crate::engine::Sql;
use crate::{AccountId, StoreError};

pub(super) const SWEPT_AFTER_US: i64 = 2 * 3_600_000_000;

const SINCE: Sql = Sql::new(
    "look for withdrawals",
    "select version, account_id from withdrawal where version > $1 order by version, account_id limit $2",
);

pub(super) const SWEEP: Sql = Sql::new("forget old withdrawals", "delete from withdrawal where at_us < $1");

impl Shared {
    /// Returns accounts that lost rights after version `after`, each with the version of the
    /// change, in ascending order; at most `most`. Changes older than two hours are not included.
    pub fn withdrawals(&self, after: i64, most: u32) -> Result<Vec<(i64, AccountId)>, StoreError> {
        self.quick().all(SINCE, (after, most), |row| Ok((row.get(0)?, AccountId(row.get(1)?))))
    }
}
