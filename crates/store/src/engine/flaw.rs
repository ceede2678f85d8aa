//! Defects that an engine finds in its stored data.

/// Maximum number of findings before a check stops.
pub const FINDINGS_MAX: usize = 1_000;

/// Depth of SQLite's page check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Quick,
    /// Also checks that every index agrees with its table.
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Message of the engine's own check.
    Engine(String),
    /// Rows that reference missing rows.
    Dangling { table: String, parent: String, count: u64 },
    /// A row with a wrong seal.
    Row { table: String, key: String },
    /// A table whose row count differs from the recorded one.
    Rows { table: String, written: i64, found: i64 },
    /// A table whose entry in `sealed_table` is missing or differs from the schema.
    Misnoted { table: String },
    /// A part of the database that could not be read.
    Unreadable(String),
}
