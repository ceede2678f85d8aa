use market::Timestamp;

use crate::engine::{BLOB_BYTES_MAX, Fault, Row, small};

/// Maximum size of a block in bytes; far more than four thousand candles need.
pub const BLOCK_BYTES_MAX: usize = BLOB_BYTES_MAX;

/// A block to be stored. The bytes are opaque; `first` and `last` are the timestamps of its first
/// and last candle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBlock {
    pub first: Timestamp,
    pub last: Timestamp,
    pub rows: u32,
    pub bytes: Vec<u8>,
}

/// Directory entry of a block. `last` is the timestamp of its last candle, so it is inclusive.
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

/// The last eight bytes of a block's body; shorter bodies are padded with leading zeros. A block
/// ends with its checksum: once the checksum is verified, the tail alone identifies the body.
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
