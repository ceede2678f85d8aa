//! Blocks: directory entries, and the links between the blocks of a series. Each block stores where
//! the next block begins, and the series stores its first and last timestamp. Reading a few blocks
//! therefore detects a missing block between them.

use market::Timestamp;

use crate::engine::{BLOB_BYTES_MAX, Fault, Row, small};

/// Maximum size of a block, in bytes. Far larger than a block of 4,000 candles.
pub const BLOCK_BYTES_MAX: usize = BLOB_BYTES_MAX;

/// A block to be stored. The store does not interpret the bytes. `first` and `last` are the
/// timestamps of the first and last candle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBlock {
    pub first: Timestamp,
    pub last: Timestamp,
    pub rows: u32,
    pub bytes: Vec<u8>,
}

/// Directory entry of a block. `last` is the timestamp of the block's last candle, so the range is
/// inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    pub id: i64,
    pub first: Timestamp,
    pub last: Timestamp,
    pub rows: u32,
    pub bytes: u32,
    /// The last bytes of the body.
    pub tail: Tail,
}

/// The last eight bytes of a block's body. Shorter bodies are padded with leading zeros. A block
/// ends with its checksum, so once the checksum is verified, the tail alone identifies the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail([u8; 8]);

impl Tail {
    pub fn of(body: &[u8]) -> Tail {
        let mut tail = [0; 8];
        tail.iter_mut().rev().zip(body.iter().rev()).for_each(|(byte, end)| *byte = *end);
        Tail(tail)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl BlockEntry {
    pub(crate) fn read(row: &Row<'_>) -> Result<BlockEntry, Fault> {
        Ok(BlockEntry {
            id: row.get(0)?,
            first: Timestamp(row.get(1)?),
            last: Timestamp(row.get(2)?),
            rows: small(row, 3)?,
            bytes: small(row, 4)?,
            // In a store with an older schema the body may be missing.
            tail: Tail::of(row.bytes_or_null(5)?.unwrap_or_default()),
        })
    }

    /// Returns whether a body matches this entry by length and tail.
    pub(crate) fn fits(&self, body: &[u8]) -> bool {
        usize::try_from(self.bytes) == Ok(body.len()) && Tail::of(body) == self.tail
    }
}

/// A directory entry with the links to its neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkedEntry {
    pub(crate) entry: BlockEntry,
    /// Start of the next block; `None` for the last block.
    next: Option<Timestamp>,
    /// First and last timestamp of the series.
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

    /// Returns whether no block of the series begins after this block and before `until`.
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

/// Verifies the links of blocks that are read forwards from `from`.
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

    /// Verifies the link from the previous block. The first block must start at or before `from`,
    /// or be the first of the series.
    pub(crate) fn step(&mut self, linked: LinkedEntry) -> Result<(), Fault> {
        let fits = match &self.before {
            Some(before) => before.is_followed_by(&linked),
            None => linked.is_first() || self.from.is_some_and(|from| linked.entry.first <= from),
        };
        self.before = Some(linked);
        if fits { Ok(()) } else { Err(Fault::Missing) }
    }

    /// Verifies that no block is missing between the last block and `until`. Must be called after
    /// the last row. Returns whether there were any rows.
    pub(crate) fn end(&self) -> Result<bool, Fault> {
        match &self.before {
            Some(last) if !last.is_last_before(self.until) => Err(Fault::Missing),
            last => Ok(last.is_some()),
        }
    }
}

/// Verifies the links of blocks that are read backwards from `until`.
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

    /// Verifies that the oldest block is the first of the series. Must be called after the last
    /// row. Returns whether there were any rows.
    pub(crate) fn end(&self) -> Result<bool, Fault> {
        match &self.after {
            Some(oldest) if !oldest.is_first() => Err(Fault::Missing),
            oldest => Ok(oldest.is_some()),
        }
    }
}
