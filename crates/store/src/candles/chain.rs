//! The links of a series' directory: each block stores where the next one begins, and the series
//! where the first begins and the last ends. So reading a few blocks among many detects a missing
//! one between them.

use market::Timestamp;

use crate::BlockEntry;
use crate::engine::{Fault, Row};

/// A directory row with its links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkedEntry {
    pub(crate) entry: BlockEntry,
    /// Where the next block begins; `None` after the last.
    next: Option<Timestamp>,
    /// The first and last stamp of the whole series.
    ends: (Timestamp, Timestamp),
}

impl LinkedEntry {
    pub(crate) fn read(row: &Row<'_>) -> Result<LinkedEntry, Fault> {
        Ok(LinkedEntry {
            entry: BlockEntry::read(row)?,
            next: row.get::<Option<i64>>(6)?.map(Timestamp),
            ends: (Timestamp(row.get(7)?), Timestamp(row.get(8)?)),
        })
    }

    /// Whether no block begins between this one and `until`.
    fn is_last_before(&self, until: Option<Timestamp>) -> bool {
        match self.next {
            None => self.entry.last == self.ends.1,
            Some(next) => until.is_some_and(|until| next >= until),
        }
    }

    fn is_followed_by(&self, other: &LinkedEntry) -> bool {
        self.next == Some(other.entry.first)
    }

    fn is_first(&self) -> bool {
        self.entry.first == self.ends.0
    }
}

/// Checks blocks from a point on, oldest first.
#[derive(Debug)]
pub(crate) struct Forward {
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    before: Option<LinkedEntry>,
}

impl Forward {
    pub(crate) fn new(from: Option<Timestamp>, until: Option<Timestamp>) -> Forward {
        Forward { from, until, before: None }
    }

    /// The first must be the block at or before the point, or else the first of the series.
    pub(crate) fn step(&mut self, linked: LinkedEntry) -> Result<(), Fault> {
        let fits = match &self.before {
            Some(before) => before.is_followed_by(&linked),
            None => linked.is_first() || self.from.is_some_and(|from| linked.entry.first <= from),
        };
        self.before = Some(linked);
        if fits { Ok(()) } else { Err(Fault::Missing) }
    }

    /// Call after the last row. Returns whether there was any.
    pub(crate) fn end(&self) -> Result<bool, Fault> {
        match &self.before {
            Some(last) if !last.is_last_before(self.until) => Err(Fault::Missing),
            last => Ok(last.is_some()),
        }
    }
}

/// Checks blocks that begin before a point, newest first.
#[derive(Debug)]
pub(crate) struct Back {
    until: Timestamp,
    after: Option<LinkedEntry>,
}

impl Back {
    pub(crate) fn new(until: Timestamp) -> Back {
        Back { until, after: None }
    }

    pub(crate) fn step(&mut self, linked: LinkedEntry) -> Result<(), Fault> {
        let fits = match &self.after {
            Some(after) => linked.is_followed_by(after),
            None => linked.is_last_before(Some(self.until)),
        };
        self.after = Some(linked);
        if fits { Ok(()) } else { Err(Fault::Missing) }
    }

    /// Call after the last row. Returns whether there was any.
    pub(crate) fn end(&self) -> Result<bool, Fault> {
        match &self.after {
            Some(oldest) if !oldest.is_first() => Err(Fault::Missing),
            oldest => Ok(oldest.is_some()),
        }
    }
}
