//! Write locks for account changes, and the version counter that makes servers reload. Accounts
//! that lost rights are recorded for all nodes.
//!
//! SQLite allows one writer at a time, so the state that a change has read cannot change before it
//! commits. With PostgreSQL, a change first locks rows of the table `gate`, and waits only for
//! changes that could conflict.

use crate::StoreError;
use crate::candles::sql as common_sql;
use crate::cluster::now_us;
use crate::engine::{Db, Sql};
use crate::ids::AccountId;

const NOTE: Sql = Sql::new(
    "note a withdrawal",
    concat!(
        "insert into withdrawal (version, account_id, at_us) values ($1, $2, ",
        now_us!(),
        ") on conflict (version, account_id) do nothing"
    ),
);

/// Increments the version, so that servers reload. `taken_from` lists the accounts that lost
/// rights.
pub(crate) fn count_change(db: &Db, taken_from: &[AccountId]) -> Result<(), StoreError> {
    let version: i64 = db.one(common_sql::COUNT_UP, (1, "version"), |row| row.get(0))?;
    if db.has_one_writer() {
        return Ok(());
    }
    taken_from.iter().try_for_each(|account| db.run(NOTE, (version, account.0)).map(drop))
}

/// Number of rows in the table `gate`. More rows reduce contention, but locking all of them takes
/// longer.
const GATES: i64 = 16;

// PostgreSQL only: the SQLite schema has no table `gate`.
const LOCK: Sql = Sql::new("wait for other changes", "select number from gate where number = $1 for update");
const LOCK_ALL: Sql =
    Sql::new("wait for other changes", "select number from gate order by number for update");

/// The accounts that a change locks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gate<'a> {
    /// Locks these accounts. The change may read and write only their rows, and at most one
    /// counter.
    Of(&'a [AccountId]),
    Everything,
}

impl Gate<'_> {
    /// Acquires the locks. Must be the first call in a write transaction. Rows are locked in
    /// ascending order to prevent deadlocks.
    pub(crate) fn pass(self, db: &Db) -> Result<(), StoreError> {
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
