//! Snapshot format: an account as compressed JSON. Orders are similar to each other, so 50,000 of
//! them shrink from 60 MB to a twentieth of that.

use std::io::{BufWriter, Read, Write};

use store::SNAPSHOT_BYTES_MAX;
use trading::Account;

/// Version of this format. Snapshots in other versions are ignored and rewritten.
pub(crate) const FORMAT: &str = "5";
/// The fastest compression level. Higher levels take several times as long and save a tenth of the
/// size.
const LEVEL: i32 = 1;
/// Maximum decompressed size in bytes. A larger snapshot is rejected.
const TEXT_BYTES_MAX: u64 = 1 << 30;
const WRITTEN_AT_ONCE: usize = 256 << 10;

/// Encodes an account. Returns `None` if it is too large for a snapshot.
pub(crate) fn encode(account: &Account) -> Option<Vec<u8>> {
    let encoder = zstd::Encoder::new(Vec::new(), LEVEL).ok()?;
    let mut out = BufWriter::with_capacity(WRITTEN_AT_ONCE, encoder);
    serde_json::to_writer(&mut out, account).ok()?;
    out.flush().ok()?;
    let state = out.into_inner().ok()?.finish().ok()?;
    (state.len() <= SNAPSHOT_BYTES_MAX).then_some(state)
}

/// Decodes a snapshot. Returns `None` if it cannot be decoded; the caller then reads the journal.
pub(crate) fn decode(state: &[u8]) -> Option<Account> {
    let mut text = Vec::new();
    zstd::Decoder::new(state).ok()?.take(TEXT_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
