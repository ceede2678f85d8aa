//! Tests of changes to the file that bypass the store, by the disk or another tool. Each query must
//! return the same result as before, or an error.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use market::adjust::Amount;
use market::{Action, Grain, SecurityKind, Timestamp};
use rusqlite::Connection;
use rusqlite::types::Value;
use store::{Addition, Depth, Lane, Security, Series, Store, StoreError, StoredAction};

use crate::fixture::{Fresh, block, fresh, margin, minutes, put, symbol};
use crate::journals;

fn days(text: &str) -> Series {
    Series { grain: Grain::Day, ..minutes(text) }
}

/// Returns a store with two securities of several blocks each. The bodies are short enough to be
/// contained in the tail.
fn filled() -> Fresh {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(0, 9), block(10, 19), block(30, 39)]);
    put(&fresh.store, &minutes("AAPL.US"), &[], &[block(0, 9), block(20, 29)]);
    put(&fresh.store, &days("700.HK"), &[], &[block(0, 5)]);
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let name = |text: &str, decimals| Security {
        name_en: Some("A name".to_owned()),
        lot_size: Some(100),
        kind: Some(if decimals == 2 { SecurityKind::Equity } else { SecurityKind::Etf }),
        decimals,
        ..Security::new(symbol(text))
    };
    batch.put_security(&name("700.HK", 2)).unwrap();
    batch.put_security(&name("AAPL.US", 3)).unwrap();
    let amount = |text: &str| Amount::parse(text).unwrap();
    let action = |date: &str, cash: &str| Action {
        ex_date: date.parse().unwrap(),
        cash: amount(cash),
        split: amount("1"),
        bonus: amount("0"),
        rights: amount("0"),
        rights_price: amount("0"),
    };
    let paid =
        StoredAction { action: action("2024-05-17", "3.4"), pay_date: Some("2024-05-30".parse().unwrap()) };
    batch.replace_actions(&symbol("700.HK"), &[paid, action("2025-05-16", "4.5").into()]).unwrap();
    batch.replace_actions(&symbol("AAPL.US"), &[action("2024-05-10", "0.25")]).unwrap();
    batch.put_factors(&symbol("700.HK"), b"factors of one").unwrap();
    batch.put_factors(&symbol("AAPL.US"), b"factors of two").unwrap();
    batch.put_margin(&margin("700.HK", "0.35", "0.3", "0.25")).unwrap();
    batch.put_margin(&margin("AAPL.US", "0.5", "0.4", "0.3")).unwrap();
    batch.commit().unwrap();
    drop(writer);
    fresh
}

/// Returns the results of all queries as one text.
fn answer(dir: &Path) -> Result<String, StoreError> {
    let store = Store::open(dir, store::Access::Read)?;
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let mut text = format!("{:?}\n{:?}\n", snapshot.securities()?, snapshot.totals()?);
    text += &format!("{:?}\n", snapshot.margins()?);
    let infos = snapshot.all_series()?;
    // Versions only matter to caches, so they are not part of the text.
    text += &infos
        .iter()
        .map(|info| format!("{} {} {}\n", info.series, info.rows, info.blocks))
        .collect::<String>();
    for name in ["700.HK", "AAPL.US", "5.HK"] {
        let known = symbol(name);
        text += &format!("{:?} {:?} ", snapshot.security(&known)?, snapshot.decimals(&known)?);
        text += &format!("{:?}\n", snapshot.stored_actions(&known)?);
        text += &format!("{:?}\n", snapshot.margin(&known)?);
        // If factors are missing, they are recomputed from the actions with the same result.
        let factors = snapshot.factors(&known)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        text += match (name, factors.as_deref()) {
            (_, None) | ("700.HK", Some("factors of one")) | ("AAPL.US", Some("factors of two")) => {
                "right factors\n"
            }
            _ => "other factors\n",
        };
        text += &format!("{}\n", snapshot.series_of(&known)?.len());
        for series in [minutes(name), days(name), Series { lane: Lane::Extended, ..minutes(name) }] {
            text += &walks(&snapshot, &series)?;
        }
    }
    Ok(text)
}

fn walks(view: &store::View, series: &Series) -> Result<String, StoreError> {
    let mut text = format!("{:?}\n", view.series(series)?.map(|info| (info.rows, info.first, info.last)));
    let mut bytes = Vec::new();
    for entry in view.blocks(series, None, None)? {
        view.block(&entry, &mut bytes)?;
        text += &format!("{entry:?} {}\n", String::from_utf8_lossy(&bytes));
    }
    for at in [0, 5, 10, 15, 25, 30, 35, 45] {
        let point = Timestamp(at);
        for until in [at + 1, at + 10, at + 100] {
            text += &format!("{:?}", view.blocks(series, Some(point), Some(Timestamp(until)))?);
        }
        text += &format!("{:?}", view.blocks(series, Some(point), None)?);
        text += &format!("{:?}", view.blocks(series, None, Some(point))?);
        text += &format!("{:?}", view.blocks_back(series, point, 12)?);
        text += &format!("{:?}", view.blocks_forward(series, point, 12)?);
        view.bodies_back(series, point, |body| {
            text += &format!("{} {:?}", body.decimals, body.bytes);
            ControlFlow::Continue(())
        })?;
    }
    Ok(text)
}

fn findings(dir: &Path) -> usize {
    let checked = Store::open(dir, store::Access::Read)
        .and_then(|store| store.reader()?.check(Depth::Full, |_, _, _| None));
    checked.map_or(1, |findings| findings.len())
}

/// A copy of a database in a temporary directory.
struct Copy {
    dir: tempfile::TempDir,
    bytes: Vec<u8>,
}

impl Copy {
    fn of(fresh: &Fresh) -> Copy {
        let bytes = fs::read(fresh.store.path().unwrap()).unwrap();
        Copy { dir: tempfile::tempdir().unwrap(), bytes }
    }

    fn reset(&self, bytes: &[u8]) -> &Path {
        for ending in ["", "-wal", "-shm", "-journal"] {
            fs::remove_file(self.dir.path().join(format!("candles.db{ending}"))).ok();
        }
        fs::write(self.dir.path().join("candles.db"), bytes).unwrap();
        self.dir.path()
    }

    /// Edits the file with another tool, bypassing the store. Returns whether the edit succeeded.
    fn tamper(&self, statement: &str) -> bool {
        let conn = Connection::open(self.reset(&self.bytes).join("candles.db")).unwrap();
        conn.execute_batch("pragma foreign_keys = off").unwrap();
        conn.execute_batch(statement).is_ok()
    }
}

const TABLES: [(&str, &str); 9] = [
    ("security", "symbol"),
    ("corporate_action", "symbol || ex_date || cash"),
    ("adjustment", "symbol"),
    ("margin", "symbol"),
    ("series", "id"),
    ("block_index", "series_id || ' ' || first_at"),
    ("block_body", "id"),
    ("counter", "name"),
    ("sealed_table", "name"),
];

/// Returns statements that delete every row, change every value, and copy every value to every
/// other row.
fn tamperings(conn: &Connection) -> Vec<String> {
    let mut all = Vec::new();
    for (table, key) in TABLES {
        let statement = conn.prepare(&format!("select * from {table}")).unwrap();
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut keys = conn.prepare(&format!("select {key} from {table}")).unwrap();
        let keys: Vec<Value> = keys.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let quoted = |key: &Value| match key {
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => format!("'{text}'"),
            other => panic!("{other:?}"),
        };
        for one in keys.iter().map(quoted) {
            let here = format!("where {key} = {one}");
            all.push(format!("delete from {table} {here}"));
            for column in &columns {
                for value in
                    [format!("{column} + 1"), format!("cast({column} || 'x' as blob)"), "null".to_owned()]
                {
                    all.push(format!("update {table} set {column} = {value} {here}"));
                }
                for other in keys.iter().map(quoted).filter(|other| *other != one).take(1) {
                    let there = format!("select {column} from {table} where {key} = {other}");
                    all.push(format!("update {table} set {column} = ({there}) {here}"));
                }
            }
        }
        // These statements swap two rows except for their keys: in one column, and in all columns
        // including the seals.
        let rest: Vec<&str> =
            columns.iter().map(String::as_str).filter(|column| !key.contains(column)).collect();
        let singly = rest.iter().map(|column| vec![*column]);
        for swapped in singly.chain([rest.clone()]) {
            let copied: Vec<String> =
                swapped.iter().map(|column| format!("{column} as x_{column}")).collect();
            let set = |column: &&str| format!("{column} = (select x_{column} from temp.x where k <> {key})");
            let set: Vec<String> = swapped.iter().map(set).collect();
            all.push(format!(
                "create temp table x as select {key} as k, {} from {table} order by 1 limit 2;
                 update {table} set {} where {key} in (select k from temp.x)",
                copied.join(", "),
                set.join(", ")
            ));
        }
    }
    all.push("insert into block_index select series_id, first_at + 100, last_at + 100, row_count, byte_count, body_id + 100, next_at, tail, seal from block_index".to_owned());
    all.push("delete from block_index".to_owned());
    all.push("delete from series".to_owned());
    all.push("delete from security".to_owned());
    all.push("delete from sealed_table".to_owned());
    all.push("drop table sealed_table".to_owned());
    all
}

#[test]
fn no_edit_by_another_tool_changes_a_result() {
    let fresh = filled();
    let expected = answer(fresh.home.path()).unwrap();
    let copy = Copy::of(&fresh);
    let conn = Connection::open(fresh.store.path().unwrap()).unwrap();
    let before = dump(&conn);
    let (mut refused, mut done) = (0, 0);
    for statement in tamperings(&conn) {
        if !copy.tamper(&statement) {
            continue;
        }
        let conn = Connection::open(copy.dir.path().join("candles.db")).unwrap();
        let changed = statement.starts_with("drop") || dump(&conn) != before;
        drop(conn);
        match answer(copy.dir.path()) {
            Ok(found) => assert!(found == expected, "{statement}"),
            Err(_) => refused += 1,
        }
        if changed {
            done += 1;
            assert!(findings(copy.dir.path()) > 0, "not found: {statement}");
        }
    }
    assert!(done > 200 && refused > 100, "{done} changes, {refused} refused");
}

/// Returns all rows of all tables that results depend on.
fn dump(conn: &Connection) -> Vec<String> {
    let mut rows = Vec::new();
    for (table, key) in TABLES {
        let mut statement = conn.prepare(&format!("select * from {table} order by {key}")).unwrap();
        let count = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| {
            (0..count).map(|column| row.get::<_, Value>(column)).collect::<Result<Vec<_>, _>>()
        };
        rows.extend(statement.query_map([], read).unwrap().map(|row| format!("{table} {row:?}")));
    }
    rows
}

/// Selects random bits of a file, as byte offsets and bit masks. The selection is the same in every
/// run unless `SEED` is set.
pub(crate) fn bits(bytes: &[u8], count: usize) -> Vec<(usize, u8)> {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let mut state: u64 = seed.unwrap_or(11);
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    // Most of a small file is empty, so only bits of nonzero bytes are selected.
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    (0..count).map(|_| (used[next() as usize % used.len()], 1 << (next() % 8))).collect()
}

#[test]
fn no_flipped_bit_changes_a_result() {
    let fresh = filled();
    let expected = answer(fresh.home.path()).unwrap();
    let copy = Copy::of(&fresh);
    let mut refused = 0;
    for (at, bit) in bits(&copy.bytes, 500) {
        let mut bytes = copy.bytes.clone();
        bytes[at] ^= bit;
        match answer(copy.reset(&bytes)) {
            Ok(found) => assert!(found == expected, "byte {at}, bit {bit}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_damaged_row_is_not_overwritten() {
    let fresh = filled();
    let conn = Connection::open(fresh.store.path().unwrap()).unwrap();
    conn.execute_batch("update security set decimals = 5 where symbol = '700.HK'").unwrap();
    drop(conn);
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let error =
        batch.replace_blocks(&Series { lane: Lane::Overnight, ..minutes("700.HK") }, &[], &[block(0, 1)]);
    assert!(matches!(error, Err(StoreError::Damaged { .. })), "{error:?}");
    drop(batch);
    let mut batch = writer.begin().unwrap();
    batch
        .replace_blocks(&Series { lane: Lane::Overnight, ..minutes("AAPL.US") }, &[], &[block(0, 1)])
        .unwrap();
    batch.commit().unwrap();
}

#[test]
fn other_tools_can_read_and_write_the_file() {
    let fresh = filled();
    let conn = Connection::open(fresh.store.path().unwrap()).unwrap();
    let rows: i64 = conn.query_row("select count(*) from block_index", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 6);
    let left: i64 = conn
        .query_row("select count(*) from sqlite_schema where type in ('trigger', 'view')", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(left, 0, "nothing in the file needs a function of ours");
}

#[test]
fn a_damaged_journal_head_is_not_reported_as_stale() {
    for damage in ["revision = 7", "wake = 1", "seal = 0"] {
        let (home, accounts, ann) = journals::open();
        let head = journals::added(journals::write(&accounts, ann, None, &[(0, "a")]));
        home.damage("accounts", &format!("update journal_head set {damage}"));
        let addition = Addition {
            account: ann,
            after: Some(head),
            entries: &journals::entries(&[(1, "b")]),
            horizon: journals::at(1),
            wake: None,
            request: None,
            audit: None,
        };
        let error = accounts.add_to_journals(&[addition]).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{damage}: {error:?}");
        assert_eq!(journals::texts(&accounts, ann), "1 a");
    }
}
