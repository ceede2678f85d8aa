use market::Timestamp;

use crate::engine::{BLOB_BYTES_MAX, Fault, Row, small};

/// Maximum size of a block, far above what four thousand candles need.
pub const BLOCK_BYTES_MAX: usize = BLOB_BYTES_MAX;

/// A block to be stored. The bytes are opaque; `first` and `last` are the stamps of its first and
/// last candle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBlock {
    pub first: Timestamp,
    pub last: Timestamp,
    pub rows: u32,
    pub bytes: Vec<u8>,
}

/// One block in a series' directory. `last` is the stamp of its last candle, so it is inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    pub id: i64,
    pub first: Timestamp,
    pub last: Timestamp,
    pub rows: u32,
    pub bytes: u32,
    /// The last bytes of its body.
    pub tail: Tail,
}

/// The last bytes of a block's body, zero-padded in front. A block ends with its own checksum: once
/// that is verified, the tail alone identifies the body.
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
            // A store of an older schema may lack the body.
            tail: Tail::of(row.bytes_or_null(5)?.unwrap_or_default()),
        })
    }

    /// Whether a body matches this entry by length and tail.
    pub(crate) fn fits(&self, body: &[u8]) -> bool {
        usize::try_from(self.bytes) == Ok(body.len()) && Tail::of(body) == self.tail
    }
}
