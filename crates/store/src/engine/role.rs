//! What a connection is for, and whose the database is that it finds.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    /// A reader that leaves no trace: not even the files beside a database that SQLite shares between processes.
    Onlooker,
    Writer,
    /// The writer of a file that no other process knows yet, and that is deleted if writing fails.
    Draft,
    /// The writer of a local copy: it may lose its last commits, and its rows may refer to some that are not there.
    Copy,
}

/// Whose a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// There is nothing in it.
    Nobody,
    Ours,
    AnotherProgram,
}
