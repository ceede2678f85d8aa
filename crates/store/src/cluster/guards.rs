//! Brute-force protection shared by all nodes: failure counters, queues and positions in queues,
//! known addresses, and devices that poll too often. The caller interprets the rows, a few at a
//! time and under a lock.

use std::collections::BTreeMap;

use super::lock_rows::{self, lock_of};
use super::{Shared, within};
use crate::engine::{StoreError, Value};

/// Maximum number of rows per decision.
const ROWS_MAX: usize = 7;

/// Key of a row: the kind, such as `queue`, and the name or address that the row refers to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuardKey {
    pub kind: &'static str,
    pub key: String,
}

/// A counter and the time of its last change. The kind of the row defines the meaning of the number
/// and the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardRow {
    pub number: i64,
    pub at_us: i64,
    /// Time after which the row can be removed.
    pub until_us: i64,
}

/// The rows that a decision is based on.
#[derive(Debug, Default)]
pub struct GuardTable {
    /// Current time by the database's clock.
    pub now_us: i64,
    rows: BTreeMap<GuardKey, GuardRow>,
    changed: BTreeMap<GuardKey, Option<GuardRow>>,
}

impl GuardTable {
    pub fn new(now_us: i64, rows: impl IntoIterator<Item = (GuardKey, GuardRow)>) -> GuardTable {
        GuardTable { now_us, rows: rows.into_iter().collect(), changed: BTreeMap::new() }
    }

    /// Returns a row, or `None` if the row does not exist or has expired.
    pub fn get(&self, key: &GuardKey) -> Option<GuardRow> {
        let row = match self.changed.get(key) {
            Some(changed) => *changed,
            None => self.rows.get(key).copied(),
        };
        row.filter(|row| row.until_us > self.now_us)
    }

    /// Replaces a row, or removes it if `row` is `None`.
    pub fn put(&mut self, key: GuardKey, row: Option<GuardRow>) {
        if self.get(&key).map(|row| (row.number, row.at_us)) != row.map(|row| (row.number, row.at_us)) {
            self.changed.insert(key, row);
        }
    }

    /// Returns the rows that were replaced (`Some`) or removed (`None`).
    pub fn into_changed(self) -> impl Iterator<Item = (GuardKey, Option<GuardRow>)> {
        self.changed.into_iter()
    }
}

impl Shared {
    /// Locks the name and the address, passes up to seven rows to `judge`, and writes the rows that
    /// `judge` changed. Concurrent decisions about the same name or address wait.
    pub fn judge<T>(
        &self,
        [name, address]: [&str; 2],
        keys: &[GuardKey],
        judge: impl FnOnce(&mut GuardTable) -> T,
    ) -> Result<T, StoreError> {
        within(&self.durable(), |db| {
            db.all(lock_rows::LOCK, [lock_of(name), lock_of(address)], |_| Ok(()))?;
            let mut values = [Value::Text(""); 2 * ROWS_MAX];
            for (pair, key) in values.as_chunks_mut::<2>().0.iter_mut().zip(keys) {
                *pair = [Value::Text(key.kind), Value::Text(&key.key)];
            }
            let now_us = db.one(sql::NOW, [], |row| row.get(0))?;
            let found = db.all(sql::FIND, &values[..], |row| {
                let (kind, text) = (row.text(0)?, row.text(1)?);
                let key = keys.iter().find(|key| key.kind == kind && key.key == text).cloned();
                Ok(key.zip(Some(GuardRow { number: row.get(2)?, at_us: row.get(3)?, until_us: row.get(4)? })))
            })?;
            let mut table = GuardTable::new(now_us, found.into_iter().flatten());
            let judged = judge(&mut table);
            for (GuardKey { kind, key }, row) in table.into_changed() {
                match row {
                    Some(row) => db.run(sql::SET, (kind, &key, row.number, row.at_us, row.until_us))?,
                    None => db.run(sql::REMOVE, (kind, &key))?,
                };
            }
            Ok(judged)
        })
    }
}

pub(super) mod sql {
    use super::super::now_us;
    use crate::engine::Sql;

    pub(crate) const NOW: Sql = Sql::new("read the clock of the database", concat!("select ", now_us!()));

    pub(crate) const FIND: Sql = Sql::new(
        "read the sign-in guards",
        "select kind, key, number, at_us, until_us from guard where (kind, key) in (($1, $2), ($3, $4), ($5, $6), ($7, $8), \
         ($9, $10), ($11, $12), ($13, $14))",
    );

    pub(crate) const SET: Sql = Sql::new(
        "write the sign-in guards",
        "insert into guard (kind, key, number, at_us, until_us) values ($1, $2, $3, $4, $5) on conflict (kind, key) \
         do update set number = excluded.number, at_us = excluded.at_us, until_us = excluded.until_us",
    );

    pub(crate) const REMOVE: Sql =
        Sql::new("write the sign-in guards", "delete from guard where kind = $1 and key = $2");

    pub(crate) const SWEEP: Sql = Sql::new("delete old guards", "delete from guard where until_us < $1");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_rows_are_written() {
        let key = |text: &str| GuardKey { kind: "pair", key: text.to_owned() };
        let row = |number| GuardRow { number, at_us: 7, until_us: 9 };
        let mut table = GuardTable::new(8, [(key("a"), row(1))]);
        table.put(key("a"), Some(row(1)));
        table.put(key("b"), None);
        assert!(table.changed.is_empty());
        table.put(key("a"), None);
        table.put(key("b"), Some(row(2)));
        assert_eq!(table.get(&key("a")), None);
        assert_eq!(table.get(&key("b")), Some(row(2)));
        assert_eq!(table.changed.len(), 2);
        table.now_us = 9;
        assert_eq!(table.get(&key("b")), None, "it has expired");
    }
}
