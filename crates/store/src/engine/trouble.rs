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
