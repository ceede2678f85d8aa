//! The purpose of a connection, and the owner of a database.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    /// A reader that leaves no trace: not even SQLite's shared-memory files.
    Onlooker,
    Writer,
    /// The writer of a file that no other process knows yet, and that is deleted if writing fails.
    Draft,
    /// The writer of a local copy: it may lose its last commits, and its rows may have dangling
    /// references.
    Copy,
}

/// The owner of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The database is empty.
    Unclaimed,
    Ours,
    AnotherProgram,
}
