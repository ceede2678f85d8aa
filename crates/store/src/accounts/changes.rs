//! Counts account changes, so that servers know when to reload, and records accounts that lost
//! rights for all nodes.

use super::AccountId;
use crate::StoreError;
use crate::candles::sql as common_sql;
use crate::engine::{Db, Sql};

/// Now, by the database's clock. `date_part` returns a double, which holds microseconds exactly
/// until the year 2255; `extract` returns a numeric and costs more than the rest of a decision.
macro_rules! now_us {
    () => {
        "cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint)"
    };
}
pub(super) use now_us;

const NOTE: Sql = Sql::new(
    "note a withdrawal",
    concat!(
        "insert into withdrawal (version, account_id, at_us) values ($1, $2, ",
        now_us!(),
        ") on conflict (version, account_id) do nothing"
    ),
);

/// Counts a change that servers have to reload. `taken_from` are accounts that lost rights.
pub(super) fn count_change(db: &Db, taken_from: &[AccountId]) -> Result<(), StoreError> {
    let version: i64 = db.one(common_sql::COUNT_UP, (1, "version"), |row| row.get(0))?;
    if db.has_one_writer() {
        return Ok(());
    }
    taken_from.iter().try_for_each(|account| db.run(NOTE, (version, account.0)).map(drop))
}
