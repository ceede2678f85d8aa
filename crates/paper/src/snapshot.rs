//! The form of snapshots: an account as text, compressed. The orders of an account say much the same, one after the other, so that of
//! 50,000 of them, 60 MB, a twentieth is left.

use std::io::{BufWriter, Read, Write};

use store::SNAPSHOT_BYTES_MAX;
use trading::Account;

/// The version of this form. Another one is ignored, and made anew.
pub(crate) const FORMAT: &str = "5";
/// The quickest there is: a higher one takes several times as long for a tenth less.
const LEVEL: i32 = 1;
/// What one text may come to. A snapshot beyond it is none.
const TEXT_BYTES_MAX: u64 = 1 << 30;
const WRITTEN_AT_ONCE: usize = 256 << 10;

/// `None` for an account that is too large to be kept in one piece.
pub(crate) fn encode(account: &Account) -> Option<Vec<u8>> {
    let encoder = zstd::Encoder::new(Vec::new(), LEVEL).ok()?;
    let mut out = BufWriter::with_capacity(WRITTEN_AT_ONCE, encoder);
    serde_json::to_writer(&mut out, account).ok()?;
    out.flush().ok()?;
    let state = out.into_inner().ok()?.finish().ok()?;
    (state.len() <= SNAPSHOT_BYTES_MAX).then_some(state)
}

/// `None` for what cannot be read: that is no loss.
pub(crate) fn decode(state: &[u8]) -> Option<Account> {
    let mut text = Vec::new();
    zstd::Decoder::new(state).ok()?.take(TEXT_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
