//! Definition of SQL statements with a name for error messages, and tests that apply to all
//! statements.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

/// A statement, and its purpose as worded in error messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sql {
    pub(crate) what: &'static str,
    pub(crate) text: &'static str,
    /// The text for PostgreSQL; `None` if both engines use `text`.
    pub(crate) postgres: Option<&'static str>,
}

impl Sql {
    /// Creates a statement for both engines.
    pub(crate) const fn new(what: &'static str, text: &'static str) -> Sql {
        Sql { what, text, postgres: None }
    }

    /// Returns the text for PostgreSQL. PostgreSQL has no seals, so `sealed_` views are replaced by
    /// the tables.
    pub(crate) fn for_postgres(&self) -> &'static str {
        match self.postgres {
            Some(text) => text,
            None if self.text.contains("sealed_") => without_seals(self.text),
            None => self.text,
        }
    }
}

/// Returns the text without the prefix of sealed views. Leaks one string per statement; the string
/// is cached.
fn without_seals(text: &'static str) -> &'static str {
    static MADE: LazyLock<RwLock<HashMap<&'static str, &'static str>>> = LazyLock::new(RwLock::default);
    if let Some(made) = MADE.read().unwrap_or_else(PoisonError::into_inner).get(text) {
        return made;
    }
    let made: &'static str = text.replace("sealed_", "").leak();
    MADE.write().unwrap_or_else(PoisonError::into_inner).insert(text, made);
    made
}

/// Defines statements for a schema, and tests that each of them is valid on both engines.
macro_rules! statements {
    (for $schema:expr; $($name:ident: $what:literal, $text:expr $(=> $postgres:expr)?;)*) => {
        $(pub(crate) const $name: $crate::engine::Sql = $crate::engine::Sql {
            postgres: $crate::engine::statements::second!($($postgres)?),
            ..$crate::engine::Sql::new($what, $text)
        };)*

        #[cfg(test)]
        mod statements {
            use $crate::engine::Sql;

            const ALL: &[Sql] = &[$(super::$name),*];

            /// SQLite numbers `$7` by its first appearance and PostgreSQL by its name. The numbers
            /// agree only if placeholders first appear in ascending order.
            #[test]
            fn placeholders_first_appear_in_ascending_order() {
                for sql in ALL {
                    $crate::engine::statements::placeholders_ascend(sql);
                }
            }

            #[test]
            fn every_statement_fits_the_schema() {
                let conn = $crate::engine::statements::schema_of($schema);
                for sql in ALL {
                    conn.prepare(sql.text).unwrap_or_else(|error| panic!("{error}: {}", sql.text));
                }
            }

            #[cfg(unix)]
            #[test]
            fn every_statement_fits_the_schema_of_postgres() {
                $crate::engine::statements_on_postgres::fit($schema, ALL);
            }
        }
    };
}
pub(crate) use statements;

/// Expands to `Some` with the PostgreSQL text of a statement, or to `None`.
macro_rules! second {
    () => {
        None
    };
    ($text:expr) => {
        Some($text)
    };
}
pub(crate) use second;

#[cfg(test)]
pub(crate) fn placeholders_ascend(sql: &Sql) {
    let mut highest = 0;
    for part in sql.text.split('$').skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let number: usize = digits.parse().unwrap();
        assert!(number <= highest + 1, "${number} comes too early in {}", sql.text);
        highest = highest.max(number);
    }
}

/// Returns an empty database with all tables.
#[cfg(test)]
pub(crate) fn schema_of(migrations: &[crate::engine::migrations::Migration]) -> rusqlite::Connection {
    let conn = rusqlite::Connection::open_in_memory().unwrap();
    crate::engine::sqlite::seal::define(&conn).unwrap();
    migrations.iter().for_each(|migration| conn.execute_batch(migration.sqlite).unwrap());
    crate::engine::sqlite::seal::seal_all(&conn).unwrap();
    crate::engine::sqlite::seal::attach(&conn, crate::engine::sqlite::seal::SealMode::Writing).unwrap();
    conn
}

/// Asserts that no statement scans a table. The cost of a scan grows with the store, which no other
/// test would detect.
#[cfg(test)]
pub(crate) fn follow_the_keys(migrations: &[crate::engine::migrations::Migration], all: &[Sql]) {
    let conn = schema_of(migrations);
    for sql in all {
        let plan = plan(&conn, sql);
        let scans = plan.iter().any(|step| step.starts_with("SCAN") && step != "SCAN CONSTANT ROW");
        assert!(!scans, "{plan:#?}\n{}", sql.text);
    }
}

/// Returns SQLite's query plan of a statement.
#[cfg(test)]
pub(crate) fn plan(conn: &rusqlite::Connection, sql: &Sql) -> Vec<String> {
    let mut statement = conn.prepare(&format!("explain query plan {}", sql.text)).unwrap();
    statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>().unwrap()
}
