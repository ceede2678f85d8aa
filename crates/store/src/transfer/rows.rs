//! Reading and writing of rows in key order, page by page, and checksums over rows.

use super::tables::{Kind, Table};
use crate::backup::Part;
use crate::engine::{Db, Fault, Row, StoreError, Value};

/// Number of rows per page. A page is read by one query and stored in one transaction.
const PAGE_ROWS: usize = 500;
/// Number of rows per page for tables with block bodies. Such a page has at most a few dozen
/// megabytes.
const PAGE_BODIES: usize = 32;
/// Number of rows per `INSERT`. Page sizes are multiples of this number, so that few distinct
/// statements are prepared.
const CHUNK_ROWS: usize = 50;
const CHUNK_BODIES: usize = 8;
const _: () = assert!(PAGE_ROWS.is_multiple_of(CHUNK_ROWS) && PAGE_BODIES.is_multiple_of(CHUNK_BODIES));

/// An owned column value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl Cell {
    fn of(value: Value<'_>) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Int(number) => Cell::Int(number),
            Value::Text(text) => Cell::Text(text.to_owned()),
            Value::Blob(bytes) => Cell::Blob(bytes.to_owned()),
        }
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Cell::Null => Value::Null,
            Cell::Int(number) => Value::Int(*number),
            Cell::Text(text) => Value::Text(text),
            Cell::Blob(bytes) => Value::Blob(bytes),
        }
    }

    fn is_of(&self, kind: Kind) -> bool {
        matches!(
            (self, kind),
            (Cell::Null, _)
                | (Cell::Int(_), Kind::Int)
                | (Cell::Text(_), Kind::Text)
                | (Cell::Blob(_), Kind::Blob)
        )
    }
}

/// The cells of one row, in the order of the table's columns.
pub(super) type Cells = Vec<Cell>;

/// One of the databases at one end of a move.
#[derive(Debug)]
pub(super) struct End<'a> {
    pub(super) db: &'a Db,
    part: Part,
    /// Tables whose rows have seals at this end.
    sealed: Vec<String>,
    nul: Nul,
}

/// How NUL characters in text are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nul {
    Unchanged,
    /// NUL characters are replaced, because PostgreSQL text cannot contain NUL.
    Replaced,
}

impl<'a> End<'a> {
    pub(super) fn of(db: &'a Db, part: Part, nul: Nul) -> Result<End<'a>, StoreError> {
        let sealed = db.sealed_tables()?.into_iter().map(|table| table.name).collect();
        Ok(End { db, part, sealed, nul })
    }

    /// Returns the page of rows after the key `behind`, or the first page if it is `None`.
    pub(super) fn page(&self, table: &Table, behind: Option<&[Cell]>) -> Result<Vec<Cells>, StoreError> {
        let keys = table.keys.join(", ");
        let condition = match behind {
            None => String::new(),
            Some(_) => format!(" where ({keys}) > ({})", placeholders(1, table.keys.len())),
        };
        let text = format!(
            "select {} from {}{condition} order by {keys} limit {}",
            table.column_names(),
            self.source(table),
            table.page_rows()
        );
        let values: Vec<Value<'_>> = behind.unwrap_or_default().iter().map(Cell::value).collect();
        let mut rows = Vec::new();
        self.db.each_text("read a table", &text, &values, |row| {
            rows.push(cells(table, row, self.nul)?);
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        if self.part == Part::Accounts && table.name == COUNTER {
            self.take_audit_number(table, &mut rows)?;
        }
        Ok(rows)
    }

    /// Returns the name of the table or view to read from. Sealed rows are read through the
    /// verifying view, so that damaged rows are not copied.
    fn source(&self, table: &Table) -> String {
        match self.sealed.contains(&table.name) {
            true => format!("sealed_{}", table.name),
            false => table.name.clone(),
        }
    }

    /// Returns the last key of a table in copy order, or `None` if the table is empty.
    pub(super) fn last_key(&self, table: &Table) -> Result<Option<Vec<Cell>>, StoreError> {
        let keys = table.keys.join(", ");
        let last: Vec<String> = table.keys.iter().map(|key| format!("{key} desc")).collect();
        let text = format!("select {keys} from {} order by {} limit 1", table.name, last.join(", "));
        let mut found = None;
        self.db.each_text("find the last row", &text, &[], |row| {
            let cells = (0..table.keys.len()).map(|column| row.value(column).map(Cell::of));
            found = Some(cells.collect::<Result<Vec<Cell>, Fault>>()?);
            Ok(std::ops::ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Stores a page of rows in the caller's transaction.
    pub(super) fn insert(&self, table: &Table, rows: &[Cells]) -> Result<(), StoreError> {
        let chunks = rows.chunks_exact(table.chunk_rows());
        let rest = chunks.remainder();
        for chunk in chunks {
            self.insert_at_once(table, chunk)?;
        }
        for row in rest {
            self.insert_at_once(table, std::slice::from_ref(row))?;
        }
        if self.part == Part::Accounts && table.name == COUNTER {
            self.give_audit_number(table, rows)?;
        }
        Ok(())
    }

    fn insert_at_once(&self, table: &Table, rows: &[Cells]) -> Result<(), StoreError> {
        let width = table.columns.len();
        let groups = (0..rows.len()).map(|row| format!("({})", placeholders(row * width + 1, width)));
        let text = format!(
            "insert into {} ({}) values {}",
            table.name,
            table.column_names(),
            groups.collect::<Vec<_>>().join(", ")
        );
        let values: Vec<Value<'_>> = rows.iter().flatten().map(Cell::value).collect();
        self.db.run_text("store a row", &text, &values).map(drop)
    }

    /// Writes the next audit id into the `counter` rows. PostgreSQL allocates audit ids from a
    /// sequence, whereas SQLite allocates them from `counter`.
    fn take_audit_number(&self, table: &Table, rows: &mut [Cells]) -> Result<(), StoreError> {
        if self.db.sqlite().is_some() {
            return Ok(());
        }
        let next: i64 = self.db.one(NEXT_AUDIT, [], |row| row.get(0))?;
        for row in rows {
            if let Some((name, number)) = counter(table, row)
                && name == AUDIT
            {
                *number = Cell::Int(next);
            }
        }
        Ok(())
    }

    fn give_audit_number(&self, table: &Table, rows: &[Cells]) -> Result<(), StoreError> {
        if self.db.sqlite().is_some() {
            return Ok(());
        }
        for row in rows {
            let mut row = row.clone();
            if let Some((name, Cell::Int(next))) = counter(table, &mut row)
                && name == AUDIT
            {
                self.db.one(SET_AUDIT, [*next], |_| Ok(()))?;
            }
        }
        Ok(())
    }
}

const COUNTER: &str = "counter";
const AUDIT: &str = "audit";

const NEXT_AUDIT: crate::engine::Sql = crate::engine::Sql::new(
    "read the next number of the audit",
    "select last_value + case when is_called then 1 else 0 end from audit_id",
);
const SET_AUDIT: crate::engine::Sql =
    crate::engine::Sql::new("set the next number of the audit", "select setval('audit_id', $1, false)");

/// Returns the name and the number of a `counter` row, or `None` if the row lacks one of these
/// columns.
fn counter<'a>(table: &Table, row: &'a mut Cells) -> Option<(String, &'a mut Cell)> {
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    let name = match row.get(place("name")?)? {
        Cell::Text(name) => name.clone(),
        _ => return None,
    };
    Some((name, row.get_mut(place("next")?)?))
}

fn cells(table: &Table, row: &Row<'_>, nul: Nul) -> Result<Cells, Fault> {
    let columns = table.columns.iter().enumerate();
    let cell = |(place, column): (usize, &super::tables::Column)| {
        let cell = match Cell::of(row.value(place)?) {
            Cell::Text(text) if nul == Nul::Replaced && text.contains('\0') => {
                // Replacing characters in a key could make two rows equal.
                if table.keys.contains(&column.name) {
                    return Err(Fault::value("key without a NUL", &format!("{}: {text}", table.name)));
                }
                Cell::Text(text.replace('\0', "\u{fffd}"))
            }
            cell => cell,
        };
        // SQLite stores any value regardless of the column type, so the type is checked here.
        if cell.is_of(column.kind) {
            Ok(cell)
        } else {
            Err(Fault::value("value of the column's type", &column.name))
        }
    };
    columns.map(cell).collect()
}

/// Formats placeholders such as `$3, $4, $5`.
fn placeholders(first: usize, count: usize) -> String {
    (first..first + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn count(db: &Db, table: &Table) -> Result<u64, StoreError> {
    let text = format!("select count(*) from {}", table.name);
    let mut rows = 0;
    db.each_text("count rows", &text, &[], |row| {
        rows = u64::try_from(row.get::<i64>(0)?).unwrap_or_default();
        Ok(std::ops::ControlFlow::Break(()))
    })?;
    Ok(rows)
}

/// Returns whether a table has no rows.
pub(super) fn is_empty(db: &Db, table: &Table) -> Result<bool, StoreError> {
    let text = format!("select 1 from {} limit 1", table.name);
    let mut is_empty = true;
    db.each_text("find rows", &text, &[], |_| {
        is_empty = false;
        Ok(std::ops::ControlFlow::Break(()))
    })?;
    Ok(is_empty)
}

impl Table {
    fn column_names(&self) -> String {
        self.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn has_bodies(&self) -> bool {
        self.columns.iter().any(|column| column.kind == Kind::Blob)
    }

    pub(super) fn page_rows(&self) -> usize {
        if self.has_bodies() { PAGE_BODIES } else { PAGE_ROWS }
    }

    fn chunk_rows(&self) -> usize {
        if self.has_bodies() { CHUNK_BODIES } else { CHUNK_ROWS }
    }

    /// Returns the key of a row.
    pub(super) fn key(&self, row: &Cells) -> Vec<Cell> {
        let place = |key: &String| self.columns.iter().position(|column| column.name == *key);
        self.keys.iter().filter_map(|key| row.get(place(key)?).cloned()).collect()
    }
}

/// Checksum over the rows of a table, in key order. Computed from the values, so it does not depend
/// on the engine.
#[derive(Debug)]
pub(super) struct Digest {
    hasher: blake3::Hasher,
    pub(super) rows: u64,
}

impl Digest {
    pub(super) fn of(table: &Table) -> Digest {
        let mut digest = Digest { hasher: blake3::Hasher::new(), rows: 0 };
        digest.take(&Cell::Text(table.name.clone()));
        for column in &table.columns {
            digest.take(&Cell::Text(column.name.clone()));
        }
        digest
    }

    pub(super) fn add(&mut self, row: &Cells) {
        self.rows += 1;
        row.iter().for_each(|cell| self.take(cell));
    }

    /// Adds a cell with its type and length, so that no two rows have the same encoding.
    fn take(&mut self, cell: &Cell) {
        let number;
        let (kind, bytes): (u8, &[u8]) = match cell {
            Cell::Null => (0, &[]),
            Cell::Int(value) => {
                number = value.to_le_bytes();
                (1, &number)
            }
            Cell::Text(text) => (3, text.as_bytes()),
            Cell::Blob(bytes) => (4, bytes),
        };
        self.hasher.update(&[kind]);
        self.hasher.update(&(bytes.len() as u64).to_le_bytes());
        self.hasher.update(bytes);
    }

    pub(super) fn finish(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }
}
