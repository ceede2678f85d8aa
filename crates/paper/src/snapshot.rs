//! The format of snapshots: an account as JSON, compressed. Orders resemble each other, so 50,000
//! of them shrink from 60 MB to a twentieth.

use std::io::{BufWriter, Read, Write};

use store::SNAPSHOT_BYTES_MAX;
use trading::Account;

/// The version of this format. Snapshots of other versions are ignored and written again.
pub(crate) const FORMAT: &str = "5";
/// The fastest level: higher ones take several times as long to save a tenth.
const LEVEL: i32 = 1;
/// Maximum size of the text. A larger snapshot is rejected.
const TEXT_BYTES_MAX: u64 = 1 << 30;
const WRITTEN_AT_ONCE: usize = 256 << 10;

/// `None` for an account that is too large for one snapshot.
pub(crate) fn encode(account: &Account) -> Option<Vec<u8>> {
    let encoder = zstd::Encoder::new(Vec::new(), LEVEL).ok()?;
    let mut out = BufWriter::with_capacity(WRITTEN_AT_ONCE, encoder);
    serde_json::to_writer(&mut out, account).ok()?;
    out.flush().ok()?;
    let state = out.into_inner().ok()?.finish().ok()?;
    (state.len() <= SNAPSHOT_BYTES_MAX).then_some(state)
}

/// `None` for a snapshot that cannot be read; the journal is then used instead.
pub(crate) fn decode(state: &[u8]) -> Option<Account> {
    let mut text = Vec::new();
    zstd::Decoder::new(state).ok()?.take(TEXT_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
