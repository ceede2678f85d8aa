//! Bodies of replaced blocks. A database with several servers retains them for ten minutes, because
//! a server that reads an older state from its local copy fetches bodies by id. SQLite removes
//! replaced bodies immediately, and its open snapshots still see them.

use crate::engine::lock::WriteLocks;
use crate::engine::{Db, StoreError, Value};

/// Time for which replaced bodies are retained, in microseconds. Longer than any request.
const KEPT_US: i64 = 600_000_000;
/// Maximum number of bodies of each kind removed per transaction.
const AT_ONCE: i64 = 1_000;

/// The kinds of bodies, with the statement that removes a body of that kind.
const KINDS: [(i64, crate::engine::Sql); 2] = [(0, sql::DROP_BODY), (1, sql::DROP_TRADE_BODY)];

/// Removes one batch of bodies whose retention has ended, in the open transaction. Returns whether
/// more such bodies may remain.
pub(crate) fn sweep(db: &Db) -> Result<bool, StoreError> {
    sweep_older(db, KEPT_US)
}

/// Removes all replaced bodies, in separate transactions. Called when a database is moved and no
/// other process uses it.
pub(crate) fn sweep_all(db: &Db, locks: &WriteLocks) -> Result<(), StoreError> {
    loop {
        db.begin_write()?;
        let swept = locks.fence(db).and_then(|()| {
            // With a negative age, bodies that were just replaced are included.
            let has_more = sweep_older(db, -KEPT_US)?;
            locks.extend(db)?;
            Ok(has_more)
        });
        let swept = swept.and_then(|has_more| db.commit().map(|()| has_more));
        if !swept.inspect_err(|_| drop(db.rollback()))? {
            return Ok(());
        }
    }
}

fn sweep_older(db: &Db, age_us: i64) -> Result<bool, StoreError> {
    let mut has_more = false;
    for (kind, drop) in KINDS {
        let ids: Vec<i64> = db.all(sql::RETIRED, (kind, age_us, AT_ONCE), |row| row.get(0))?;
        has_more |= ids.len() as i64 == AT_ONCE;
        let bodies: Vec<[Value<'_>; 1]> = ids.iter().map(|id| [Value::Int(*id)]).collect();
        db.run_all(drop, bodies.iter().map(<[Value<'_>; 1]>::as_slice))?;
        let rows: Vec<[Value<'_>; 2]> = ids.iter().map(|id| [Value::Int(kind), Value::Int(*id)]).collect();
        db.run_all(sql::FORGET_RETIRED, rows.iter().map(<[Value<'_>; 2]>::as_slice))?;
    }
    Ok(has_more)
}

/// These statements are not used with SQLite. The SQLite texts are for tests that run without a
/// PostgreSQL server.
mod sql {
    use crate::engine::statements::statements;

    /// Current time of the database in microseconds since 1970. The database's clock is used
    /// because the clocks of servers may differ.
    macro_rules! now {
        () => {
            "cast(unixepoch('subsec') * 1000000 as bigint)"
        };
    }
    macro_rules! now_postgres {
        () => {
            "cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)"
        };
    }

    statements! {
        for &crate::candles::copy::sql::schema();
        RETIRED: "list replaced blocks",
            concat!("select id from retired_body where kind = $1 and at_us < ", now!(), " - $2 order by at_us limit $3")
            => concat!("select id from retired_body where kind = $1 and at_us < ", now_postgres!(), " - $2 \
             order by at_us limit $3");
        FORGET_RETIRED: "remove replaced blocks", "delete from retired_body where kind = $1 and id = $2";
        DROP_BODY: "remove replaced blocks", "delete from block_body where id = $1";
        DROP_TRADE_BODY: "remove replaced blocks", "delete from trade_body where id = $1";
    }
}

#[cfg(test)]
mod tests {
    use market::Timestamp;

    use super::*;
    use crate::candles::copy::sql::SHARED;
    use crate::candles::store::{Access, Store};
    use crate::engine::lock::LockPlace;
    use crate::engine::{Role, Sql};

    #[test]
    fn replaced_bodies_are_removed_after_the_retention() {
        let dir = tempfile::tempdir().unwrap();
        Store::open(dir.path(), Access::Write { now: Timestamp(0) }).unwrap();
        let db = Db::open(&dir.path().join("candles.db"), Role::Writer).unwrap();
        db.script("prepare for nodes", SHARED).unwrap();
        db.script(
            "retire some",
            "insert into block_body values (1, x'01'), (2, x'02'), (3, x'03');
             insert into trade_body values (2, x'02'), (3, x'03');
             insert into retired_body values (0, 1, 0), (1, 2, 0),
                (0, 3, cast(unixepoch('subsec') * 1000000 as bigint)), (1, 3, cast(unixepoch('subsec') * 1000000 as bigint));",
        )
        .unwrap();
        let left = || {
            let all = "select 0, id from block_body union all select 1, id from trade_body order by 1, 2";
            db.all(Sql::new("query", all), [], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?))).unwrap()
        };
        assert!(!sweep(&db).unwrap());
        assert_eq!(left(), [(0, 2), (0, 3), (1, 3)]);
        sweep_all(&db, &WriteLocks::take(LockPlace::Directory(dir.path())).unwrap()).unwrap();
        assert_eq!(left(), [(0, 2)]);
        let retired = Sql::new("query", "select count(*) from retired_body");
        assert_eq!(db.one(retired, [], |row| row.get::<i64>(0)).unwrap(), 0);
    }
}
