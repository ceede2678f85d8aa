//! The purpose of a connection, and the owner of a database.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    /// A reader that leaves no files behind, not even SQLite's shared-memory file.
    Onlooker,
    Writer,
    /// The writer of a file that no other process uses yet, and that is deleted if writing fails.
    Draft,
    /// The writer of a local copy, which may lose its last commits and may contain dangling
    /// references.
    Copy,
}

/// The program that a database belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The database is empty.
    Unclaimed,
    Ours,
    AnotherProgram,
}
