//! What an engine complains of, told apart by what helps against it.

use std::fmt;

/// The engine's own words.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Damaged,
    /// A change was interrupted and has to be undone first, which takes the right to write.
    Interrupted,
    Full,
    Denied,
    Disk,
    Locked,
    /// What the engine cannot hold.
    Unfit,
    /// A server cannot be reached.
    Away,
    /// A server is there and does not let us in.
    Refused,
    Exhausted,
    ReadOnlyServer,
    NoRights,
    WrongEncoding,
    TooOldServer,
    /// The answer to a change was lost.
    Unknown,
    /// It would have to be waited for, and this thread must not.
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
