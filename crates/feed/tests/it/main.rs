//! `rules_*.rs` are the worked examples of the specification, `properties_*.rs` hold for random
//! candles, and `client.rs` is a model of how clients merge pushes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod client;
mod common;
mod properties_of_prints;
mod random;
mod rules_prints;
mod rules_pushes;
