//! Runs against a source in memory, with a clock that moves when it is waited for.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod fake;
mod runs;
