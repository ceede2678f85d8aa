//! Copying of rows between databases without interpreting their contents.

use std::collections::{BTreeMap, BTreeSet};

use super::sql;
use crate::engine::{Db, Fault, Row, Sql, StoreError, ToValue, Value};

/// An owned column value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(Box<str>),
    Blob(Box<[u8]>),
}

impl Cell {
    fn of(value: Value<'_>) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Int(number) => Cell::Int(number),
            Value::Text(text) => Cell::Text(text.into()),
            Value::Blob(bytes) => Cell::Blob(bytes.into()),
        }
    }

    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Cell::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl ToValue for Cell {
    fn to_value(&self) -> Value<'_> {
        match self {
            Cell::Null => Value::Null,
            Cell::Int(number) => Value::Int(*number),
            Cell::Text(text) => Value::Text(text),
            Cell::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

pub(super) type Cells = Vec<Cell>;

/// A table whose rows are copied. The shared database and the local file use the same statements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) read: Sql,
    add: Sql,
    remove: Sql,
    columns: usize,
    /// Number of leading key columns.
    keys: usize,
    /// Index of the column that contains a body id, or `None` if the table has no such column.
    body: Option<usize>,
}

pub(super) const SECURITY: Table = Table {
    read: sql::SECURITY,
    add: sql::ADD_SECURITY,
    remove: sql::DROP_SECURITY,
    columns: 23,
    keys: 1,
    body: None,
};
pub(super) const ACTIONS: Table = Table {
    read: sql::ACTIONS,
    add: sql::ADD_ACTION,
    remove: sql::DROP_ACTION,
    columns: 8,
    keys: 7,
    body: None,
};
pub(super) const FACTORS: Table = Table {
    read: sql::FACTORS,
    add: sql::ADD_FACTORS,
    remove: sql::DROP_FACTORS,
    columns: 2,
    keys: 1,
    body: None,
};
pub(super) const MARGIN: Table = Table {
    read: sql::MARGIN,
    add: sql::ADD_MARGIN,
    remove: sql::DROP_MARGIN,
    columns: 4,
    keys: 1,
    body: None,
};
pub(super) const SERIES: Table = Table {
    read: sql::SERIES,
    add: sql::ADD_SERIES,
    remove: sql::DROP_SERIES,
    columns: 10,
    keys: 1,
    body: None,
};
pub(super) const BLOCKS: Table = Table {
    read: sql::BLOCKS,
    add: sql::ADD_BLOCK,
    remove: sql::DROP_BLOCK,
    columns: 8,
    keys: 2,
    body: Some(5),
};
pub(super) const TRADE_DAYS: Table = Table {
    read: sql::TRADE_DAYS,
    add: sql::ADD_TRADE_DAY,
    remove: sql::DROP_TRADE_DAY,
    columns: 13,
    keys: 2,
    body: None,
};
pub(super) const TRADE_BLOCKS: Table = Table {
    read: sql::TRADE_BLOCKS,
    add: sql::ADD_TRADE_BLOCK,
    remove: sql::DROP_TRADE_BLOCK,
    columns: 9,
    keys: 3,
    body: Some(7),
};
/// The trade blocks of a single day.
pub(super) const TRADE_BLOCKS_OF_DAY: Table = Table { read: sql::TRADE_BLOCKS_OF_DAY, ..TRADE_BLOCKS };

/// Tables with few rows per symbol. All of a symbol's rows in these tables are read together.
pub(super) const SMALL: [Table; 4] = [SECURITY, ACTIONS, FACTORS, MARGIN];
/// Column indexes of a series row.
pub(super) const SERIES_ID: usize = 0;
pub(super) const SERIES_BLOCKS: usize = 5;
pub(super) const SERIES_VERSION: usize = 9;
/// Column indexes of a day row.
pub(super) const DAY: usize = 1;
pub(super) const DAY_BLOCKS: usize = 3;
pub(super) const DAY_VERSION: usize = 7;

impl Table {
    /// Returns the rows whose key starts with `key`.
    pub(super) fn rows(&self, db: &Db, key: &[Value<'_>]) -> Result<Vec<Cells>, StoreError> {
        db.all(self.read, key, |row| cells(row, self.columns))
    }

    /// Replaces `old` rows with `new` rows, and writes only the rows that differ. Returns the ids
    /// of bodies that are no longer referenced.
    pub(super) fn replace(&self, db: &Db, old: Vec<Cells>, new: &[Cells]) -> Result<Vec<i64>, StoreError> {
        let mut gone: BTreeMap<Vec<Cell>, Cells> =
            old.into_iter().map(|row| (row.iter().take(self.keys).cloned().collect(), row)).collect();
        let mut came = Vec::new();
        for row in new {
            let key: Vec<Cell> = row.iter().take(self.keys).cloned().collect();
            match gone.remove(&key) {
                Some(same) if same == *row => {}
                Some(other) => {
                    gone.insert(key, other);
                    came.push(row);
                }
                None => came.push(row),
            }
        }
        for key in gone.keys() {
            let key: Vec<Value<'_>> = key.iter().map(ToValue::to_value).collect();
            db.run(self.remove, key.as_slice())?;
        }
        for row in &came {
            let values: Vec<Value<'_>> = row.iter().map(ToValue::to_value).collect();
            db.run(self.add, values.as_slice())?;
        }
        // An entry may change while its body stays the same.
        let stored: BTreeSet<i64> = came.into_iter().filter_map(|row| self.body_of(row)).collect();
        let bodies = gone.values().filter_map(|row| self.body_of(row));
        Ok(bodies.filter(|body| !stored.contains(body)).collect())
    }

    fn body_of(&self, row: &Cells) -> Option<i64> {
        self.body.and_then(|column| row.get(column)?.int())
    }
}

fn cells(row: &Row<'_>, columns: usize) -> Result<Cells, Fault> {
    (0..columns).map(|column| Ok(Cell::of(row.value(column)?))).collect()
}
