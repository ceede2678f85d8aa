//! Engine errors, classified by remedy.

use std::fmt;

/// The engine's own error.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Damaged,
    /// A change was interrupted and must be rolled back first, which requires write permission.
    Interrupted,
    Full,
    Denied,
    Disk,
    Locked,
    /// A value that the engine cannot store.
    Unfit,
    /// The server is unreachable.
    Away,
    /// The server is reachable but rejects the connection.
    Refused,
    Exhausted,
    ReadOnlyServer,
    NoRights,
    WrongEncoding,
    TooOldServer,
    /// The response to a change was lost.
    Unknown,
    /// The call would block on a thread that must not.
    Waits,
    Other,
}

#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: Kind,
    pub(crate) cause: Cause,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

/// An error inside a statement, before the statement's name is attached.
#[derive(Debug)]
pub(crate) enum Fault {
    Engine(Trouble),
    Value {
        field: &'static str,
        text: String,
    },
    /// A required row is missing.
    Missing,
}

impl Fault {
    pub(crate) fn value(field: &'static str, text: &str) -> Fault {
        Fault::Value { field, text: text.chars().take(80).collect() }
    }
}
