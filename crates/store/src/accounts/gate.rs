//! Sharded write locks of accounts. SQLite allows one writer at a time, so the state that a change
//! has read holds until it commits. On an engine with many writers, a change first locks rows of
//! the table `gate`, and so waits only for changes that it could conflict with.

use super::AccountId;
use crate::StoreError;
use crate::engine::{Db, Sql};

/// The number of rows in the table. More rows mean less contention, but locking all of them takes
/// longer.
const GATES: i64 = 16;

// Only for engines with many writers, so the SQLite schema does not have the table.
const LOCK: Sql = Sql::new("wait for other changes", "select number from gate where number = $1 for update");
const LOCK_ALL: Sql =
    Sql::new("wait for other changes", "select number from gate order by number for update");

/// The accounts that a change locks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gate<'a> {
    /// The named accounts: the change reads and writes their rows only, except for at most one
    /// counter.
    Of(&'a [AccountId]),
    Everything,
}

impl Gate<'_> {
    /// Takes the locks. Must be the first call in a write transaction. Rows are locked in ascending
    /// order, so two changes cannot deadlock.
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
