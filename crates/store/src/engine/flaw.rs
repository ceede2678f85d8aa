//! What an engine finds wrong with what it stores.

/// Findings listed before a check stops: a database with so many is not repaired one by one.
pub const FINDINGS_MAX: usize = 1_000;

/// How closely SQLite looks at its own pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Quick,
    /// Also that every index agrees with its table.
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// In the words of the engine.
    Engine(String),
    /// A row that points at one that is not there.
    Dangling { table: String, parent: String, count: u64 },
    /// A row that is not as it was written.
    Row { table: String, key: String },
    /// A table that has another number of rows than were written.
    Rows { table: String, written: i64, found: i64 },
    /// A table of which `sealed_table` says something else than the schema, or nothing.
    Misnoted { table: String },
    /// A part that could not be read at all.
    Unreadable(String),
}
