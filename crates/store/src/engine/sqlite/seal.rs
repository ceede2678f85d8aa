//! Seals: each row has a checksum over its table name and all of its columns.
//!
//! SQLite detects few bit flips, and no changes by other programs. A table with a column `seal` is
//! sealed: writing a row updates its seal, and reads go through the view `sealed_…`, which rejects
//! a row with a wrong seal. The triggers and views are temporary objects, created for each
//! connection from the schema on first use. They are not stored in the file, so any tool can read
//! the file. A row that another tool has written has a wrong seal, and no command fixes the seal:
//! the row must be restored from a backup or from the imported files.
//!
//! Missing rows are detected by the row count (`sealed_table.row_count`), and by links between rows
//! for queries that read a few rows of many. `sealed_table` itself has no seal. It must match the
//! schema, and which tables are sealed does not depend on it. The checksum has no key: it protects
//! against disk errors, bugs and careless edits, not against an attacker.

use std::collections::HashSet;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, ffi};

use super::Database;
use crate::engine::error::StoreError;
use crate::engine::{FINDINGS_MAX, Fault, Flaw};

/// How a connection uses sealed tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealMode {
    Reading,
    Writing,
}

/// A table whose rows have a seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedTable {
    pub(crate) name: String,
    /// Primary key columns.
    pub(crate) keys: Vec<String>,
    /// All columns except the seal, in the order in which they are hashed.
    pub(crate) columns: Vec<String>,
    /// Columns that belong to an index or the primary key.
    indexed: Vec<String>,
}

/// The entry of a table in `sealed_table`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) table: SealedTable,
    /// The recorded row count of the table.
    pub(crate) rows: i64,
}

const HAS_LIST: &str =
    "select exists (select 1 from sqlite_schema where type = 'table' and name = 'sealed_table')";
const LIST: &str =
    "select name, key_columns, columns, row_count, indexed_columns from sealed_table order by name";
/// Returns all columns of one table, or of all tables, in the order of creation.
const COLUMNS: &str = "select t.name, c.name, c.pk > 0 from sqlite_schema t join pragma_table_info(t.name) c \
    where t.type = 'table' and ($1 is null or t.name = $1) order by t.name, c.cid";
/// Returns the columns that belong to indexes.
const INDEXED: &str = "select t.name, i.name from sqlite_schema t join pragma_index_list(t.name) l \
    join pragma_index_info(l.name) i \
    where t.type = 'table' and ($1 is null or t.name = $1) and i.name is not null";
/// Name prefix of the views.
const VIEW: &str = "sealed_";

/// Defines the SQL functions `seal` and `whole` on a new connection.
pub(crate) fn define(conn: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        // Temporary triggers and views may call the functions although `trusted_schema` is off.
        | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function(c"seal", -1, flags, |context| Ok(seal(context, 0)))?;
    // The first argument of `whole` is the stored seal. The other arguments are those of `seal`.
    conn.create_scalar_function(c"whole", -1, flags, |context| {
        let stored = context.get_raw(0);
        if stored == ValueRef::Integer(seal(context, 1)) {
            return Ok(true);
        }
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None))
    })
}

/// Creates the views of the sealed tables. In `Writing` mode, also creates the triggers that update
/// the seals.
pub(crate) fn attach(conn: &Connection, mode: SealMode) -> rusqlite::Result<()> {
    let script: String = found(conn)?.iter().map(|table| table.script(mode)).collect();
    conn.execute_batch(&script)
}

/// Creates the missing views that a statement uses. Used for connections that run few queries,
/// because creating the views of all tables takes a few milliseconds.
pub(crate) fn attach_views_named_in(conn: &Connection, statement: &str) -> rusqlite::Result<()> {
    for rest in statement.split(VIEW).skip(1) {
        let end = rest.find(|letter: char| !is_of_name(letter)).unwrap_or(rest.len());
        let (name, _) = rest.split_at(end);
        let has_view = "select exists (select 1 from sqlite_temp_schema where type = 'view' and name = $1)";
        if conn.query_row(has_view, [format!("{VIEW}{name}")], |row| row.get(0))? {
            continue;
        }
        let script: String =
            found_of(conn, Some(name))?.iter().map(|table| table.script(SealMode::Reading)).collect();
        conn.execute_batch(&script)?;
    }
    Ok(())
}

/// Removes views and triggers, so that the tables can be altered.
pub(crate) fn detach(conn: &Connection) -> rusqlite::Result<()> {
    let objects = "select 'drop ' || type || ' temp.' || name || ';' from sqlite_temp_schema \
        where type in ('view', 'trigger') and (name like 'sealed\\_%' escape '\\' or name like 'seal\\_%' escape '\\')";
    let mut statement = conn.prepare(objects)?;
    let drops = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    drop(statement);
    conn.execute_batch(&drops.concat())
}

/// Returns the entries of `sealed_table`. Unreadable rows are skipped, so their tables are reported
/// as missing.
pub(crate) fn list(conn: &Connection) -> rusqlite::Result<Vec<Listed>> {
    if !conn.query_row(HAS_LIST, [], |row| row.get(0))? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare(LIST)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.extend(Listed::read(row).ok());
    }
    Ok(all)
}

/// Seals all rows and records the sealed tables. This is the last step of a migration, which may
/// have changed any table or row. Before the migration, the caller must have verified all seals and
/// detached the views and triggers.
pub(crate) fn seal_all(conn: &Connection) -> rusqlite::Result<()> {
    if !conn.query_row(HAS_LIST, [], |row| row.get(0))? {
        return Ok(());
    }
    for table in found(conn)? {
        let (name, row) = (&table.name, table.sealed(""));
        conn.execute(&format!("update \"{name}\" set seal = seal({row})"), [])?;
    }
    note_all(conn)
}

/// Records the sealed tables and their current row counts.
fn note_all(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("delete from sealed_table", [])?;
    for SealedTable { name, keys, columns, indexed } in found(conn)? {
        conn.execute(
            &format!(
                "insert into sealed_table (name, key_columns, columns, indexed_columns, row_count) \
                 select $1, $2, $3, $4, count(*) from \"{name}\""
            ),
            (&name, keys.join(", "), columns.join(", "), indexed.join(", ")),
        )?;
    }
    Ok(())
}

/// Returns the sealed tables according to the schema. Empty for a schema without seals.
pub(crate) fn found(conn: &Connection) -> rusqlite::Result<Vec<SealedTable>> {
    found_of(conn, None)
}

/// Returns whether a character may occur in the table and column names of the migrations.
fn is_of_name(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter == '_'
}

/// Returns all sealed tables, or only `table` if it is given.
fn found_of(conn: &Connection, table: Option<&str>) -> rusqlite::Result<Vec<SealedTable>> {
    // The names become part of SQL text, so only characters that occur in names of the migrations
    // are accepted.
    let is_name = |text: &str| text.chars().all(is_of_name);
    let pair = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let indexed: HashSet<(String, String)> =
        conn.prepare(INDEXED)?.query_map([table], pair)?.collect::<rusqlite::Result<_>>()?;
    let mut statement = conn.prepare(COLUMNS)?;
    let column = |row: &Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
    let columns =
        statement.query_map([table], column)?.collect::<rusqlite::Result<Vec<((String, String), bool)>>>()?;
    let tables = columns.chunk_by(|((one, _), _), ((next, _), _)| one == next).filter_map(|columns| {
        let is_sealed = columns.iter().any(|((_, column), _)| column == "seal");
        let are_names = columns.iter().all(|((table, column), _)| is_name(table) && is_name(column));
        let ((name, _), _) = columns.first().filter(|_| is_sealed && are_names)?;
        let mut table =
            SealedTable { name: name.clone(), keys: Vec::new(), columns: Vec::new(), indexed: Vec::new() };
        for (place, is_key) in columns.iter().filter(|((_, column), _)| column != "seal") {
            let column = place.1.clone();
            if *is_key || indexed.contains(place) {
                table.indexed.push(column.clone());
            }
            if *is_key {
                table.keys.push(column.clone());
            }
            table.columns.push(column);
        }
        Some(table)
    });
    Ok(tables.collect())
}

impl Listed {
    fn read(row: &Row<'_>) -> rusqlite::Result<Listed> {
        let names = |column: usize| -> rusqlite::Result<Vec<String>> {
            Ok(row.get::<_, String>(column)?.split(", ").map(str::to_owned).collect())
        };
        let table =
            SealedTable { name: row.get(0)?, keys: names(1)?, columns: names(2)?, indexed: names(4)? };
        Ok(Listed { table, rows: row.get(3)? })
    }
}

impl SealedTable {
    /// Returns the arguments of `seal` for a row with the prefix `of` (`new.`, `old.`, or none).
    pub(crate) fn sealed(&self, of: &str) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| format!("{of}{column}")).collect();
        format!("'{}', {}", self.name, columns.join(", "))
    }

    fn script(&self, mode: SealMode) -> String {
        let (name, columns, row) = (&self.name, self.columns.join(", "), self.sealed(""));
        // Given `column = $1`, SQLite substitutes `$1` for the column in all other expressions,
        // including the arguments of `whole`, which it may evaluate before the comparison. The
        // unary plus prevents the substitution. It is not needed for an indexed column, which is
        // known to have this value.
        let shown = |column: &String| match self.indexed.contains(column) {
            true => column.clone(),
            false => format!("+{column} as {column}"),
        };
        let shown: Vec<String> = self.columns.iter().map(shown).collect();
        let view = format!(
            "create temp view {VIEW}{name} as select {} from main.{name} where whole(seal, {row});\n",
            shown.join(", ")
        );
        if mode == SealMode::Reading {
            return view;
        }
        let [new, old] = ["new.", "old."].map(|of| self.sealed(of));
        let keys: Vec<String> = self.keys.iter().map(|key| format!("{key} = new.{key}")).collect();
        let (keys, count) = (keys.join(" and "), format!("where name = '{name}'"));
        // An update rejects a row with a wrong seal, because a new seal would hide the damage. A
        // row with a wrong seal can be deleted. An update that sets the seal itself has already
        // verified and computed it, which takes half of the time.
        format!(
            "{view}create temp trigger seal_insert_{name} after insert on main.{name} begin
                update {name} set seal = seal({new}) where {keys};
                update sealed_table set row_count = row_count + 1 {count};
            end;
            create temp trigger seal_update_{name} after update of {columns} on main.{name}
            when new.seal is old.seal begin
                select whole(old.seal, {old});
                update {name} set seal = seal({new}) where {keys};
            end;
            create temp trigger seal_delete_{name} after delete on main.{name} begin
                update sealed_table set row_count = row_count - 1 {count};
            end;\n"
        )
    }
}

/// Returns a 64-bit hash of the arguments starting at index `first`. Each argument is hashed with
/// its type and length, so that no two rows have the same encoding.
fn seal(context: &Context<'_>, first: usize) -> i64 {
    let mut bytes = Vec::with_capacity(256);
    for argument in first..context.len() {
        let (kind, value): (u8, &[u8]) = match context.get_raw(argument) {
            ValueRef::Null => (0, &[]),
            ValueRef::Integer(number) => (1, &number.to_le_bytes()),
            ValueRef::Real(number) => (2, &number.to_bits().to_le_bytes()),
            ValueRef::Text(text) => (3, text),
            ValueRef::Blob(blob) => (4, blob),
        };
        bytes.push(kind);
        bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        bytes.extend_from_slice(value);
    }
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(&bytes).as_bytes();
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The findings of one part of a check, or the error that stopped that part.
type Part = Result<(Vec<Flaw>, ()), StoreError>;

const WHAT: &str = "check the seals";

/// Returns rows with wrong seals and tables with missing rows. Each table is checked separately, so
/// that an unreadable table does not hide defects of other tables.
pub(crate) fn seals(db: &Database) -> Vec<Flaw> {
    let (tables, listed, mut found) = noted(db);
    for table in &tables {
        absorb(broken_rows(db, table), &mut found);
        if let Some(listed) = listed.iter().find(|listed| listed.table.name == table.name) {
            absorb(row_count(db, listed), &mut found);
        }
    }
    found
}

/// Compares the row counts of the named tables with the recorded counts, and `sealed_table` with
/// the schema. Returns the differences.
pub(crate) fn counts(db: &Database, names: &[&str]) -> Vec<Flaw> {
    let (_, listed, mut found) = noted(db);
    for listed in listed.iter().filter(|listed| names.contains(&listed.table.name.as_str())) {
        absorb(row_count(db, listed), &mut found);
    }
    found
}

/// Adds the findings of one part of the check. An unreadable part becomes a finding, so that the
/// check continues with the next part.
fn absorb(part: Part, found: &mut Vec<Flaw>) {
    match part {
        Ok((of_part, ())) => found.extend(of_part),
        Err(error) => found.push(Flaw::Unreadable(error.to_string())),
    }
}

/// Returns the sealed tables, their entries in `sealed_table`, and the differences.
fn noted(db: &Database) -> (Vec<SealedTable>, Vec<Listed>, Vec<Flaw>) {
    match db.sealed_tables().and_then(|tables| Ok((tables, db.listed_tables()?))) {
        Ok((tables, listed)) => {
            let found = misnoted(&tables, &listed).map(|table| Flaw::Misnoted { table }).collect();
            (tables, listed, found)
        }
        Err(error) => (Vec::new(), Vec::new(), vec![Flaw::Unreadable(error.to_string())]),
    }
}

/// Returns the names of tables whose entry in `sealed_table` is missing or differs from the schema.
/// Needed because `sealed_table` has no seal.
fn misnoted(tables: &[SealedTable], listed: &[Listed]) -> impl Iterator<Item = String> {
    let missing = tables.iter().filter(|table| !listed.iter().any(|listed| listed.table == **table));
    let strange = listed.iter().filter(|listed| !tables.iter().any(|table| table.name == listed.table.name));
    missing.map(|table| table.name.clone()).chain(strange.map(|listed| listed.table.name.clone()))
}

fn broken_rows(db: &Database, table: &SealedTable) -> Part {
    let SealedTable { name, keys, .. } = table;
    // Blob keys are not shown, because they may be token hashes.
    let shown =
        |key: &String| format!("case typeof({key}) when 'blob' then '…' else cast({key} as text) end");
    let key: Vec<String> = keys.iter().map(shown).collect();
    let (key, row) = (key.join(" || ' ' || "), table.sealed(""));
    let broken = format!(
        "select coalesce({key}, '?') from \"{name}\" where seal is not seal({row}) limit {FINDINGS_MAX}"
    );
    // Damaged text may not be UTF-8.
    let text = |row: &Row<'_>| Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned());
    let broken = db.all_of(WHAT, &broken, text)?;
    Ok((broken.into_iter().map(|key| Flaw::Row { table: name.clone(), key }).collect(), ()))
}

fn row_count(db: &Database, listed: &Listed) -> Part {
    let (table, written) = (listed.table.name.clone(), listed.rows);
    let count = format!("select count(*) from \"{table}\" not indexed");
    let found: i64 = db.all_of(WHAT, &count, |row| row.get::<_, i64>(0))?.into_iter().sum();
    let differs = (found != written).then_some(Flaw::Rows { table, written, found });
    Ok((differs.into_iter().collect(), ()))
}

/// Returns an error if a row has a wrong seal. Called before a migration, which seals all rows
/// again.
pub(crate) fn refuse_broken_seals(db: &Database) -> Result<(), StoreError> {
    match seals(db).is_empty() {
        true => Ok(()),
        false => Err(db.fail("migrate the database")(Fault::Missing)),
    }
}

#[cfg(test)]
mod tests {
    use market::Timestamp;

    use crate::accounts::Accounts;
    use crate::engine::error::StoreError;
    use crate::engine::{Db, Role, migrate, migrations};

    const NOW: Timestamp = Timestamp(1_763_200_000);

    #[test]
    fn a_migration_refuses_rows_with_wrong_seals() {
        let later = migrations::Migration {
            version: 900,
            name: "later",
            sqlite: "select 1",
            postgres: "select 1",
            oldest: 900,
            replaces: &[],
        };
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(&dir.path().join("candles.db"), Role::Writer).unwrap();
        migrate::migrate(&db, migrations::ALL, NOW).unwrap();
        db.script("add a security", "insert into security (symbol, decimals) values ('700.HK', 2)").unwrap();
        let steps = [migrations::ALL, &[later]].concat();
        let conn = rusqlite::Connection::open(dir.path().join("candles.db")).unwrap();
        conn.execute_batch("update security set decimals = 4 where symbol = '700.HK'").unwrap();
        assert!(matches!(migrate::migrate(&db, &steps, NOW), Err(StoreError::Damaged { .. })));
        // The migration is also refused if the table is missing in `sealed_table`.
        conn.execute_batch("create temp table kept as select * from sealed_table; delete from sealed_table")
            .unwrap();
        assert!(matches!(migrate::migrate(&db, &steps, NOW), Err(StoreError::Damaged { .. })));
        conn.execute_batch("update security set decimals = 2 where symbol = '700.HK'").unwrap();
        assert!(matches!(migrate::migrate(&db, &steps, NOW), Err(StoreError::Damaged { .. })));
        conn.execute_batch("insert into sealed_table select * from kept").unwrap();
        migrate::migrate(&db, &steps, NOW).unwrap();
        // The rows that the migration wrote are sealed, and so are rows that are written later.
        db.run(crate::candles::sql::ADD_COUNTS, (0, 0, "700.HK")).unwrap();
        assert_eq!(super::seals(db.sqlite().unwrap()), []);
    }

    /// No other test would detect an unsealed table.
    #[test]
    fn all_essential_tables_are_sealed() {
        let names = |migrations| -> (Vec<String>, Vec<String>) {
            let conn = crate::engine::statements::schema_of(migrations);
            let sealed = super::list(&conn).unwrap().into_iter().map(|listed| listed.table.name).collect();
            let all = "select name from sqlite_schema where type = 'table' and name <> 'sealed_table' order by name";
            let mut statement = conn.prepare(all).unwrap();
            let all = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
            (all, sealed)
        };
        let (all, sealed) = names(migrations::ACCOUNTS);
        assert_eq!(all, sealed);
        let (mut all, sealed) = names(migrations::ALL);
        // Bodies have their own checksum, which the directory stores. The ledger does not affect
        // responses.
        let unsealed = ["block_body", "import", "import_series", "import_trade", "quarantine", "trade_body"];
        // Ingested batches have separate checksums, and the other rows about them are needed only
        // for minutes. No response depends on the state of mirrors.
        let is_unsealed = |name: &str| {
            unsealed.contains(&name)
                || name.starts_with("ingest_")
                || name == "partial_minute"
                || name.starts_with("mirror")
        };
        all.retain(|name| !is_unsealed(name));
        assert_eq!(all, sealed);
    }

    #[test]
    fn cascaded_deletes_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        drop(Accounts::open(dir.path(), NOW).unwrap());
        let db = Db::open(&dir.path().join("accounts.db"), Role::Writer).unwrap();
        let rows = "insert into account (id, name, region, created_at, epoch, level, connections) values (1, 'ann', 'ap', 0, 0, 0, 1);
            insert into oauth_client (id, name, redirect_uris, grant_types, auth_method, registration_hash, created_at)
                values ('c', 'c', '', '', 'none', x'00', 0);
            insert into oauth_token (hash, kind, family, client_id, account_id, scope, begun_at, issued_at, expires_at)
                values (x'01', 'access', 'f', 'c', 1, '', 0, 0, 0)";
        db.script("add a token", rows).unwrap();
        db.script("remove its client", "delete from oauth_client").unwrap();
        assert_eq!(super::seals(db.sqlite().unwrap()), []);
        let left = db
            .sqlite()
            .unwrap()
            .all_of("count", "select count(*) from oauth_token", |row| row.get::<_, i64>(0))
            .unwrap();
        assert_eq!(left, [0]);
    }
}
