//! Stored form of statements: compressed JSON.

use std::io::Read;

use store::STATEMENT_BYTES_MAX;

use crate::statement_document::StatementDocument;

/// Zstd compression level. Most of a statement is repeated field names, so a higher level saves
/// little.
const LEVEL: i32 = 3;
/// Maximum decompressed size in bytes: enough for a month with a hundred thousand trades.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// Encodes a document. Returns `None` if it is too long.
pub(crate) fn encode(document: &StatementDocument) -> Option<Vec<u8>> {
    let text = serde_json::to_vec(document).ok()?;
    let packed = zstd::encode_all(text.as_slice(), LEVEL).ok()?;
    (packed.len() <= STATEMENT_BYTES_MAX).then_some(packed)
}

/// Decompresses a document. Returns `None` if it is invalid.
pub(crate) fn decode(packed: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    zstd::Decoder::new(packed).ok()?.take(TEXT_BYTES_MAX).read_to_end(&mut text).ok()?;
    Some(text)
}
