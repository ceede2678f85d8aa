//! Tests that damage every table in turn, including tables of future migrations. The damage must be
//! reported, hide no other findings, and be repaired by a restore.

use std::fs::{self, OpenOptions};
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use store::{Access, Accounts, Depth, Existing, Finding, MoveError, Restore, Scope, Store, StoreError};

use crate::backup::{add, backup, filled, on, restore};
use crate::fixture::{Fresh, NOW, block, fresh, minutes, put};

/// A table with its keys and columns, as read from the database schema.
#[derive(Debug)]
struct Table {
    name: String,
    keys: String,
    columns: Vec<String>,
}

fn tables(conn: &Connection) -> Vec<Table> {
    let mut statement = conn.prepare("select name, key_columns, columns from sealed_table").unwrap();
    let read = |row: &rusqlite::Row<'_>| {
        let columns: String = row.get(2)?;
        let columns = columns.split(", ").map(str::to_owned).collect();
        Ok(Table { name: row.get(0)?, keys: row.get(1)?, columns })
    };
    statement.query_map([], read).unwrap().map(Result::unwrap).collect()
}

/// Adds a row to every sealed table, based on its column types, so that tables of later migrations
/// are covered as well.
fn fill(path: &Path) {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch("pragma foreign_keys = off").unwrap();
    for Table { name, .. } in tables(&conn) {
        let mut statement = conn.prepare("select name, type from pragma_table_info($1)").unwrap();
        let columns: Vec<(String, String)> = statement
            .query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let value = |(_, kind): &(String, String)| match kind.to_ascii_lowercase().as_str() {
            "text" => "'x'",
            "blob" => "x'01'",
            _ => "1",
        };
        let values: Vec<&str> = columns.iter().map(value).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        conn.execute_batch(&format!("insert or ignore into {name} ({names}) values ({values})")).unwrap();
    }
    drop(conn);
    store::seal_as_it_is(path).unwrap();
}

/// Returns a store with a row in every accounts table, and its backup.
fn accounts_with_backup() -> (Fresh, tempfile::TempDir) {
    let (from, accounts) = filled();
    drop(accounts);
    fill(&from.home.path().join("accounts.db"));
    let dir = tempfile::tempdir().unwrap();
    backup(from.home.path(), &dir.path().join("backup")).unwrap();
    (from, dir)
}

fn check_accounts(dir: &Path) -> Vec<String> {
    let findings = Accounts::look(dir).unwrap().check(Depth::Full).unwrap();
    findings.iter().map(Finding::to_string).collect()
}

fn check_candles(dir: &Path) -> Vec<String> {
    let store = Store::open(dir, Access::Read).unwrap();
    let findings = store.reader().unwrap().check(Depth::Full, |_, _, _| None).unwrap();
    findings.iter().map(Finding::to_string).collect()
}

/// Breaks the seal of a table's first row. Returns the expected finding.
fn break_a_seal(conn: &Connection, table: &Table) -> String {
    let Table { name, keys, .. } = table;
    let first = format!("select {keys} from {name} order by {keys} limit 1");
    let mut statement = conn.prepare(&first).unwrap();
    let count = statement.column_count();
    let key: Vec<String> = statement
        .query_row([], |row| {
            (0..count).map(|column| row.get::<_, Value>(column)).collect::<Result<Vec<_>, _>>()
        })
        .unwrap()
        .into_iter()
        .map(|value| match value {
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => text,
            _ => "…".to_owned(),
        })
        .collect();
    conn.execute(&format!("update {name} set seal = seal + 1 where ({keys}) = ({first})"), []).unwrap();
    format!("a row of table {name} differs from what was written: {}", key.join(" "))
}

#[test]
fn a_damaged_row_is_reported_with_its_table_and_key() {
    type Check = fn(&Path) -> Vec<String>;
    for (file, check) in [("accounts.db", check_accounts as Check), ("candles.db", check_candles)] {
        let (from, _dir) = accounts_with_backup();
        let path = from.home.path().join(file);
        fill(&path);
        let conn = Connection::open(&path).unwrap();
        let whole = check(from.home.path());
        let mut all = Vec::new();
        for table in tables(&conn) {
            let actual = break_a_seal(&conn, &table);
            all.push(actual.clone());
            let found = check(from.home.path());
            for actual in &all {
                assert!(found.contains(actual), "{actual}: {found:#?}");
            }
            // There are no further findings, and findings of earlier damage are still reported.
            assert_eq!(found.len(), whole.len() + all.len(), "{actual}: {found:#?}");
        }
        assert!(all.len() >= 6, "{all:?}");
    }
}

#[test]
fn a_damaged_key_with_invalid_utf8_is_reported() {
    let (from, _dir) = accounts_with_backup();
    let conn = Connection::open(from.home.path().join("accounts.db")).unwrap();
    conn.execute_batch("update exchange_rate set currency = cast(x'ff41' as text)").unwrap();
    let found = check_accounts(from.home.path());
    assert_eq!(found, ["a row of table exchange_rate differs from what was written: \u{fffd}A x"]);
}

/// Returns statements with the damage that a disk or a careless edit may cause.
fn damages(table: &Table) -> Vec<String> {
    let name = &table.name;
    let mut all = vec![format!("delete from {name}")];
    for column in &table.columns {
        // Each column gets a value of a wrong type, and a plausible value.
        for value in ["x'ff'", &format!("coalesce({column}, '') || '7'")] {
            all.push(format!("update or ignore {name} set {column} = {value}"));
        }
    }
    all
}

#[test]
fn accounts_with_any_damage_can_be_restored() {
    let (from, dir) = accounts_with_backup();
    let (store, to) = (from.home.path(), dir.path().join("backup"));
    let path = store.join("accounts.db");
    let connect = || {
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("pragma foreign_keys = off").unwrap();
        conn
    };
    let mut damages: Vec<String> = tables(&connect()).iter().flat_map(damages).collect();
    for column in ["name", "key_columns", "columns", "indexed_columns", "row_count"] {
        damages.push(format!("update sealed_table set {column} = x'ff' where name = 'account'"));
        damages.push(format!("update sealed_table set {column} = {column} || '7'"));
    }
    damages.push("delete from sealed_table where name = 'account'".to_owned());
    damages.push("delete from sealed_table".to_owned());
    let mut done = 0;
    for damage in damages {
        if !connect().execute(&damage, []).is_ok_and(|changed| changed > 0) {
            continue;
        }
        done += 1;
        assert_ne!(check_accounts(store), [""; 0], "{damage}");
        let alone =
            Restore { scope: Scope::Accounts, existing: Existing::ReplaceAndForget, ..restore(&to, store) };
        alone.run(&mut on).unwrap_or_else(|error| panic!("{damage}: {error:?}"));
        assert_eq!(check_accounts(store), [""; 0], "{damage}");
        let accounts = Accounts::open(store, NOW).unwrap();
        assert!(accounts.account_named("ann").unwrap().is_some(), "{damage}");
    }
    assert!(done > 150, "{done}");
    // By default, a restore also makes a backup of the damaged accounts.
    connect().execute("update account set name = name || '7'", []).unwrap();
    Restore { scope: Scope::Accounts, existing: Existing::Replace, ..restore(&to, store) }
        .run(&mut on)
        .unwrap();
    assert_eq!(check_accounts(store), [""; 0]);
}

#[test]
fn revocations_and_assigned_numbers_survive_damaged_accounts() {
    for damage in [
        "update account set region = 'elsewhere'",
        "update account set rate = x'ff' where name = 'bea'",
        "update counter set next = x'ff'",
        "delete from counter",
        "delete from sealed_table",
    ] {
        let (from, accounts) = filled();
        let (store, dir) = (from.home.path(), tempfile::tempdir().unwrap());
        let (to, bea) = (dir.path().join("backup"), add(&accounts, "bea"));
        backup(store, &to).unwrap();
        accounts.revoke(bea, &crate::backup::note()).unwrap();
        let later = add(&accounts, "cal");
        drop(accounts);
        Connection::open(store.join("accounts.db")).unwrap().execute_batch(damage).unwrap();
        let restored = crate::backup::replace(&to, store).unwrap();
        assert_eq!(restored.still_revoked, ["bea"], "{damage}");
        assert!(add(&Accounts::open(store, NOW).unwrap(), "dan") > later, "{damage}");
    }
}

#[test]
fn the_list_of_sealed_tables_is_not_trusted() {
    let (from, _dir) = accounts_with_backup();
    let dir = from.home.path();
    let conn = Connection::open(dir.join("accounts.db")).unwrap();
    conn.execute_batch("create temp table kept as select * from sealed_table").unwrap();
    let whole = Accounts::look(dir).unwrap().accounts().unwrap();
    for damage in [
        "delete from sealed_table",
        "delete from sealed_table where name = 'account'",
        "update sealed_table set columns = 'id' where name = 'account'",
        "update sealed_table set indexed_columns = 'id, name, region' where name = 'account'",
        "insert into sealed_table select 'another', key_columns, columns, indexed_columns, 0 from sealed_table limit 1",
    ] {
        conn.execute_batch(damage).unwrap();
        let found = check_accounts(dir);
        assert!(
            found.iter().any(|text| text.starts_with("table sealed_table has no entry for table")),
            "{damage}"
        );
        // Reading returns the same result as before, or an error.
        if let Ok(found) = Accounts::look(dir).unwrap().accounts() {
            assert_eq!(found, whole, "{damage}");
        }
        assert!(matches!(Accounts::open(dir, NOW), Err(StoreError::Damaged { .. })), "{damage}");
        conn.execute_batch("delete from sealed_table; insert into sealed_table select * from kept").unwrap();
        assert_eq!(check_accounts(dir), [""; 0]);
    }
}

#[test]
fn a_missing_row_is_detected_in_large_accounts() {
    let (from, _dir) = accounts_with_backup();
    let (dir, path) = (from.home.path(), from.home.path().join("accounts.db"));
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "pragma foreign_keys = off;
         with recursive n (i) as (values (1) union all select i + 1 from n where i < 90000)
         insert into usage select 1, '2026-11', 'a symbol with a long name ' || i, 1, 0 from n",
    )
    .unwrap();
    drop(conn);
    store::seal_as_it_is(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 4 << 20, "{}", bytes.len());
    Accounts::open(dir, NOW).unwrap();
    for table in ["account", "credential", "quote_right", "level", "exchange_rate", "sealed_table"] {
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(&format!("pragma foreign_keys = off; delete from {table}")).unwrap();
        drop(conn);
        assert!(matches!(Accounts::open(dir, NOW), Err(StoreError::Damaged { .. })), "{table}");
        fs::write(&path, &bytes).unwrap();
        Accounts::open(dir, NOW).unwrap();
    }
}

/// Returns the contents of a database file and its WAL.
fn files(dir: &Path, name: &str) -> [Option<Vec<u8>>; 2] {
    ["", "-wal"].map(|ending| fs::read(dir.join(format!("{name}{ending}"))).ok())
}

#[test]
fn reading_an_emptied_database_leaves_its_log_unchanged() {
    let fresh = fresh();
    let dir = fresh.home.path();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(0, 9)]);
    let accounts = Accounts::open(dir, NOW).unwrap();
    fs::write(dir.join("secret.key"), [7; 32]).unwrap();
    add(&accounts, "ann");
    // A reader prevents a checkpoint of the WAL.
    let mut reader = fresh.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    snapshot.all_series().unwrap();
    put(&fresh.store, &minutes("AAPL.US"), &[], &[block(0, 9)]);
    for name in ["candles.db", "accounts.db"] {
        OpenOptions::new().write(true).open(dir.join(name)).unwrap().set_len(0).unwrap();
        let before = files(dir, name);
        assert!(matches!(&before, [Some(main), Some(log)] if main.is_empty() && log.len() > 1_000), "{name}");
        for look in [Access::Read, Access::Look] {
            assert!(
                matches!(Store::open(dir, look), Err(StoreError::Absent { .. })) || name == "accounts.db"
            );
        }
        assert!(fresh.store.probe().is_err() || name == "accounts.db");
        assert_eq!(accounts.probe().is_err(), name == "accounts.db");
        assert_eq!(Accounts::look(dir).is_err(), name == "accounts.db");
        assert_eq!(Accounts::open(dir, NOW).is_err(), name == "accounts.db");
        assert!(backup(dir, &dir.join("to")).is_err(), "{name}");
        assert!(files(dir, name) == before, "{name}");
    }
}

#[test]
fn a_damaged_store_is_not_moved() {
    for change in ["update account set level = 6", "delete from usage where symbol = '5.HK'"] {
        let (from, accounts) = crate::transfer::filled();
        let id = accounts.account_named("ann").unwrap().unwrap().id;
        for symbol in ["5.HK", "6.HK"] {
            accounts.spend(id, "2026-11", &symbol.parse().unwrap(), 9, (NOW, NOW)).unwrap();
        }
        from.home.damage("accounts", change);
        let to = crate::fixture::Home::new();
        let refused = crate::transfer::transfer(&(&from.home).into(), &(&to).into()).unwrap_err();
        assert!(matches!(refused, MoveError::Store(StoreError::Damaged { .. })), "{change}: {refused:?}");
    }
}
