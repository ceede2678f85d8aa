//! Tests of runs against a source in memory, with a simulated clock.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod fake;
mod faults;
mod follow;
mod options;
mod runs;
mod through;
