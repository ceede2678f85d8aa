//! Who waits for whom. SQLite lets one connection write at a time, so what a change reads stays true until it commits. Where there are many
//! writers, a change first locks rows of the table `gate`, and so waits for those that it could disagree with, and for no others.

use super::AccountId;
use crate::StoreError;
use crate::engine::{Db, Sql};

/// As many rows as there are in the table. More would be waited for less often, and take longer where all of them are locked.
const GATES: i64 = 16;

// Only for engines with many writers, so no step of SQLite's schema has the table.
const LOCK: Sql = Sql::new("wait for other changes", "select number from gate where number = $1 for update");
const LOCK_ALL: Sql =
    Sql::new("wait for other changes", "select number from gate order by number for update");

/// What a change is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gate<'a> {
    /// Accounts that are named: what it reads and writes is theirs alone, but for one counter at most.
    Of(&'a [AccountId]),
    Everything,
}

impl Gate<'_> {
    /// To be called first in a transaction that writes. Rows are locked in ascending order, so that no two changes wait for each other.
    pub(super) fn pass(self, db: &Db) -> Result<(), StoreError> {
        if db.has_one_writer() {
            return Ok(());
        }
        match self {
            Gate::Everything => db.all(LOCK_ALL, [], |_| Ok(())).map(drop),
            Gate::Of(accounts) => {
                let mut rows: Vec<i64> = accounts.iter().map(|account| account.0.rem_euclid(GATES)).collect();
                rows.sort_unstable();
                rows.dedup();
                rows.into_iter().try_for_each(|row| db.one(LOCK, [row], |_| Ok(())))
            }
        }
    }
}
