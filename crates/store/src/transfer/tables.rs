//! The tables to copy, and their order. The list is read from each engine's catalog, so that tables
//! of later migrations are included.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::error::{DatabaseName, MoveError};
use crate::engine::{Db, Fault, Sql, StoreError};

/// A table that exists at both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    /// All columns except the seal, in the same order at both ends.
    pub(super) columns: Vec<Column>,
    /// Primary key columns. Rows are copied in the order of the primary key.
    pub(super) keys: Vec<String>,
    /// Tables that must be filled before this table.
    refers_to: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// Type of a column. The schemas use no other types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Int,
    Text,
    Blob,
}

/// Tables that the engine or the migrations of the target have already written, so they are not
/// copied.
const OF_THE_ENGINE: [&str; 2] = ["migration", "sealed_table"];
/// Transient state on PostgreSQL, such as live nodes, leases and recent request counts. `touched`,
/// `identity` and `lineage` record changes for local copies, which belong to one database; bodies
/// in `retired_body` are about to be removed; `sealing_key` is written when the key file is in
/// place.
pub(super) const OF_THE_MOMENT: [&str; 21] = [
    "arrival",
    "call_bucket",
    "gate",
    "guard",
    "identity",
    "lease",
    "lineage",
    "missed_trades",
    "node",
    "one_time_password",
    "pace",
    "rate_window",
    "retired_body",
    "sealing_key",
    "seat",
    "session",
    "signature",
    "subscription",
    "touched",
    "turn",
    "withdrawal",
];
/// Tables that have rows in a new database. These tables are emptied before the copy.
pub(super) const SEEDED: [&str; 2] = ["counter", "level"];
/// Name of the seal column, which is neither compared nor copied, because each engine computes its
/// own seals.
const SEAL: &str = "seal";

const COLUMNS: Sql = Sql {
    what: "read the columns",
    text: "select t.name, c.name, lower(c.type), c.pk from sqlite_schema t join pragma_table_info(t.name) c \
        where t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' order by t.name, c.name",
    postgres: Some(
        "select c.table_name::text, c.column_name::text, c.data_type::text, coalesce((select k.ordinal_position::bigint \
            from information_schema.table_constraints n join information_schema.key_column_usage k \
                on k.constraint_schema = n.constraint_schema and k.constraint_name = n.constraint_name and k.table_name = n.table_name \
            where n.constraint_type = 'PRIMARY KEY' and n.table_schema = c.table_schema and n.table_name = c.table_name \
                and k.column_name = c.column_name), 0) \
        from information_schema.columns c join information_schema.tables t \
            on t.table_schema = c.table_schema and t.table_name = c.table_name \
        where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' \
        order by c.table_name::text collate \"C\", c.column_name::text collate \"C\"",
    ),
};

const REFERENCES: Sql = Sql {
    what: "read the references",
    text: "select t.name, f.\"table\" from sqlite_schema t join pragma_foreign_key_list(t.name) f where t.type = 'table'",
    postgres: Some(
        // The system catalog is used, because the standard view shows foreign keys only to the
        // owner of a table.
        "select t.relname::text, r.relname::text from pg_catalog.pg_constraint c \
            join pg_catalog.pg_class t on t.oid = c.conrelid join pg_catalog.pg_class r on r.oid = c.confrelid \
            join pg_catalog.pg_namespace n on n.oid = t.relnamespace \
        where c.contype = 'f' and n.nspname = current_schema()",
    ),
};

/// Returns the tables of one end whose rows are copied.
pub(super) fn of(db: &Db) -> Result<Vec<Table>, StoreError> {
    let is_stored = |name: &str| !OF_THE_ENGINE.contains(&name) && !OF_THE_MOMENT.contains(&name);
    let mut columns = Vec::new();
    db.each(COLUMNS, [], |row| {
        let (table, kind) = (row.text(0)?, row.text(2)?);
        if is_stored(table) {
            let kind = Kind::of(kind).ok_or_else(|| Fault::value("type of a column", kind))?;
            columns.push((table.to_owned(), Column { name: row.get(1)?, kind }, row.get::<i64>(3)?));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut references: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in db.all(REFERENCES, [], |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?)))? {
        if from != to {
            references.entry(from).or_default().insert(to);
        }
    }
    let tables = columns.chunk_by(|(one, ..), (next, ..)| one == next).filter_map(|columns| {
        let (name, ..) = columns.first()?;
        let mut keys: Vec<(i64, String)> = columns
            .iter()
            .filter(|(.., place)| *place > 0)
            .map(|(_, column, place)| (*place, column.name.clone()))
            .collect();
        keys.sort();
        let columns = columns.iter().map(|(_, column, _)| column.clone());
        Some(Table {
            name: name.clone(),
            columns: columns.filter(|column| column.name != SEAL).collect(),
            keys: keys.into_iter().map(|(_, name)| name).collect(),
            refers_to: references.remove(name).unwrap_or_default(),
        })
    });
    Ok(tables.collect())
}

impl Kind {
    fn of(name: &str) -> Option<Kind> {
        match name {
            "bigint" | "integer" => Some(Kind::Int),
            "text" => Some(Kind::Text),
            "blob" | "bytea" => Some(Kind::Blob),
            _ => None,
        }
    }
}

/// Returns the tables that exist at both ends, each after the tables that it references. Fails if
/// the schemas differ.
pub(super) fn agreed(part: DatabaseName, from: Vec<Table>, to: &[Table]) -> Result<Vec<Table>, MoveError> {
    let differs = |table: &str| MoveError::Schema { part, table: table.to_owned() };
    for table in &from {
        let same = to.iter().find(|other| other.name == table.name);
        let is_same = same.is_some_and(|other| other.columns == table.columns && other.keys == table.keys);
        if !is_same || table.keys.is_empty() {
            return Err(differs(&table.name));
        }
    }
    if let Some(table) = to.iter().find(|table| !from.iter().any(|other| other.name == table.name)) {
        return Err(differs(&table.name));
    }
    let mut left = from;
    let mut ordered: Vec<Table> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_ready =
            |table: &Table| table.refers_to.iter().all(|name| ordered.iter().any(|done| done.name == *name));
        let (ready, rest): (Vec<Table>, Vec<Table>) = left.into_iter().partition(is_ready);
        if ready.is_empty() {
            return Err(differs(rest.first().map_or("", |table| &table.name)));
        }
        ordered.extend(ready);
        left = rest;
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use market::Timestamp;

    use super::*;
    use crate::backup::Part;
    use crate::engine::migrate::migrate;
    use crate::engine::{Role, migrations};

    fn fresh(migrations: &[migrations::Migration]) -> (tempfile::TempDir, Db) {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(&dir.path().join("a.db"), Role::Writer).unwrap();
        migrate(&db, migrations, Timestamp(0)).unwrap();
        (dir, db)
    }

    #[test]
    fn tables_are_copied_after_those_they_reference() {
        for (part, migrations) in [(Part::Candles, migrations::ALL), (Part::Accounts, migrations::ACCOUNTS)] {
            let (_dir, db) = fresh(migrations);
            let tables = agreed(DatabaseName(part), of(&db).unwrap(), &of(&db).unwrap()).unwrap();
            const ALL: Sql = Sql::new(
                "list the tables",
                "select name from sqlite_schema where type = 'table' and name not in ('migration', 'sealed_table') order by name",
            );
            let all: Vec<String> = db.all(ALL, [], |row| row.get(0)).unwrap();
            let mut names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
            for (place, table) in tables.iter().enumerate() {
                let before = tables.get(..place).unwrap();
                let is_before = |name: &String| before.iter().any(|other| other.name == *name);
                assert!(table.refers_to.iter().all(is_before), "{table:?}");
                assert!(table.columns.iter().all(|column| column.name != SEAL));
                assert!(!table.keys.is_empty(), "{}", table.name);
            }
            names.sort();
            assert_eq!(names, all);
        }
    }

    #[test]
    fn a_new_database_has_rows_only_in_the_seeded_tables() {
        for migrations in [migrations::ALL, migrations::ACCOUNTS] {
            let (_dir, db) = fresh(migrations);
            for table in of(&db).unwrap() {
                let rows = super::super::rows::count(&db, &table).unwrap();
                assert_eq!(rows > 0, SEEDED.contains(&table.name.as_str()), "{}", table.name);
            }
        }
    }
}
