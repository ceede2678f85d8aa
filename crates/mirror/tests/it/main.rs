//! `rules_*.rs` are the worked examples of the specification, `properties_*.rs` are property tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod rules_factors;
mod rules_quota;
