//! What every file of statements has in common: a name for each, and the tests that none of them may do without.

/// A statement and what it is for, in the words of an error message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sql {
    pub(crate) what: &'static str,
    pub(crate) text: &'static str,
}

/// Constants of statements for a schema, and the tests that each of them fits it and means the same to both engines.
macro_rules! statements {
    (for $schema:expr; $($name:ident: $what:literal, $text:expr;)*) => {
        $(pub(crate) const $name: $crate::statements::Sql = $crate::statements::Sql { what: $what, text: $text };)*

        #[cfg(test)]
        mod statements {
            use $crate::statements::Sql;

            const ALL: &[Sql] = &[$(super::$name),*];

            /// SQLite numbers `$7` by its first appearance and PostgreSQL by its name; only in this order do they agree.
            #[test]
            fn placeholders_first_appear_in_ascending_order() {
                for sql in ALL {
                    $crate::statements::placeholders_ascend(sql);
                }
            }

            #[test]
            fn every_statement_fits_the_schema() {
                let conn = $crate::statements::schema_of($schema);
                for sql in ALL {
                    conn.prepare(sql.text).unwrap_or_else(|error| panic!("{error}: {}", sql.text));
                }
            }
        }
    };
}
pub(crate) use statements;

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

/// A database with nothing in it but the tables.
#[cfg(test)]
pub(crate) fn schema_of(migrations: &[crate::migrations::Migration]) -> rusqlite::Connection {
    let conn = rusqlite::Connection::open_in_memory().unwrap();
    crate::seal::define(&conn).unwrap();
    migrations.iter().for_each(|migration| conn.execute_batch(migration.text).unwrap());
    crate::seal::seal_all(&conn).unwrap();
    crate::seal::attach(&conn, crate::seal::SealMode::Writing).unwrap();
    conn
}

/// A statement that goes through a whole table grows with the store, and no other test would notice.
#[cfg(test)]
pub(crate) fn follow_the_keys(migrations: &[crate::migrations::Migration], all: &[Sql]) {
    let conn = schema_of(migrations);
    for sql in all {
        let plan = plan(&conn, sql);
        let scans = plan.iter().any(|step| step.starts_with("SCAN") && step != "SCAN CONSTANT ROW");
        assert!(!scans, "{plan:#?}\n{}", sql.text);
    }
}

/// How SQLite would go about a statement, step by step.
#[cfg(test)]
pub(crate) fn plan(conn: &rusqlite::Connection, sql: &Sql) -> Vec<String> {
    let mut statement = conn.prepare(&format!("explain query plan {}", sql.text)).unwrap();
    statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>().unwrap()
}
