//! Tests that prepare every statement on a real PostgreSQL server and check the inferred parameter
//! types. Only integers, text and bytes are sent, so no other type may be inferred.

use super::Sql;
use super::migrations::{ACCOUNTS, ALL, Migration};

#[allow(clippy::unwrap_used, reason = "a test may stop where it fails")]
#[path = "../../tests/postgres/harness.rs"]
pub(super) mod harness;

/// Supported column and parameter types.
const TYPES: [&str; 4] = ["bigint", "text", "bytea", "boolean"];
/// Supported types of parameters for many rows.
const ARRAYS: [&str; 3] = ["bigint[]", "text[]", "bytea[]"];
/// The schema in which the migrations of either database are tested.
const PART: &str = "candles";

pub(crate) fn fit(migrations: &[Migration], all: &[Sql]) {
    let prepare =
        all.iter().enumerate().map(|(at, sql)| format!("prepare s{at} as {};\n", sql.for_postgres()));
    let types = "select substr(name, 2), array_to_string(parameter_types, ',') from pg_prepared_statements";
    let prepared = schema_of(migrations).sql(PART, &(prepare.collect::<String>() + types));
    assert_eq!(prepared.lines().count(), all.len());
    for line in prepared.lines() {
        let (at, types) = line.split_once('|').unwrap();
        let sql = all[at.parse::<usize>().unwrap()];
        let types: Vec<&str> = types.split(',').filter(|name| !name.is_empty()).collect();
        let all_are = |known: &[&str]| types.iter().all(|name| known.contains(name));
        assert!(all_are(&TYPES) || all_are(&ARRAYS), "{types:?}: {}", sql.for_postgres());
        // Both engines must accept the same number of values.
        assert_eq!(types.len(), highest_placeholder(sql.text), "{}", sql.for_postgres());
    }
}

/// Creates a schema with empty tables.
fn schema_of(migrations: &[Migration]) -> harness::Place {
    let place = harness::server().place();
    let schema = place.schema(PART);
    let steps: Vec<String> =
        migrations.iter().map(|migration| without_comments(migration.postgres)).collect();
    let script = format!("create schema {schema}; set search_path to {schema}; {}", steps.join("\n"));
    place.database_sql(&script).unwrap_or_else(|why| panic!("{why}"));
    place
}

fn without_comments(step: &str) -> String {
    step.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n")
}

fn highest_placeholder(text: &str) -> usize {
    let digits = text.split('$').skip(1).map(|part| part.chars().take_while(char::is_ascii_digit).collect());
    digits.map(|digits: String| digits.parse().unwrap()).max().unwrap_or(0)
}

/// SQLite orders text by bytes. Another collation would depend on the server's locale, and its
/// indexes could break with an update of the system library.
#[test]
fn text_is_ordered_by_bytes() {
    let columns = "select table_name, column_name, data_type, coalesce(collation_name, '') \
        from information_schema.columns where table_schema = current_schema() order by 1, 2";
    for migrations in [ALL, ACCOUNTS] {
        let columns = schema_of(migrations).sql(PART, columns);
        for column in columns.lines() {
            let [.., data_type, collation] = *column.split('|').collect::<Vec<_>>() else {
                panic!("{column}")
            };
            assert!(TYPES.contains(&data_type), "{column}");
            assert_eq!(collation, if data_type == "text" { "C" } else { "" }, "{column}");
        }
        assert!(columns.lines().count() > 100);
    }
}

/// Data can be moved between engines, so each SQLite table must exist on PostgreSQL with the same
/// columns, except for the seals.
#[test]
fn both_engines_have_the_same_tables() {
    for migrations in [ALL, ACCOUNTS] {
        let conn = super::statements::schema_of(migrations);
        let mut statement = conn
            .prepare(
                "select t.name || '|' || c.name from main.sqlite_schema t join pragma_table_info(t.name) c \
                 where t.type = 'table' and t.name <> 'sealed_table' and c.name <> 'seal' order by 1",
            )
            .unwrap();
        let ours: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let theirs = schema_of(migrations).sql(
            PART,
            "select table_name || '|' || column_name from information_schema.columns \
             where table_schema = current_schema()",
        );
        let theirs: Vec<&str> = theirs.lines().collect();
        let missing: Vec<&String> = ours.iter().filter(|column| !theirs.contains(&column.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
        // Additional columns are allowed only in additional tables, which are for stores with
        // several nodes.
        let tables: Vec<&str> = ours.iter().filter_map(|column| Some(column.split_once('|')?.0)).collect();
        let more = theirs.iter().filter(|column| !ours.iter().any(|ours| ours == *column));
        let more: Vec<_> =
            more.filter(|column| tables.contains(&column.split_once('|').unwrap().0)).collect();
        assert!(more.is_empty(), "{more:?}");
    }
}
