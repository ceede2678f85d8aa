//! Defects that an engine finds in its stored data.

/// Maximum findings before a check stops: a database with so many is not repaired one by one.
pub const FINDINGS_MAX: usize = 1_000;

/// The thoroughness of SQLite's page check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Quick,
    /// Also checks that every index agrees with its table.
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The engine's own message.
    Engine(String),
    /// Rows that reference missing rows.
    Dangling { table: String, parent: String, count: u64 },
    /// A row with a wrong seal.
    Row { table: String, key: String },
    /// A table whose row count differs from the recorded one.
    Rows { table: String, written: i64, found: i64 },
    /// A table whose entry in `sealed_table` is missing or differs from the schema.
    Misnoted { table: String },
    /// A part that could not be read.
    Unreadable(String),
}
