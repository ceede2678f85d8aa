//! `rules_*.rs` are the worked examples of the specification, `properties_*.rs` are property tests,
//! and `server.rs` simulates a server that responds to the requests of a walk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod properties_factors;
mod properties_pace;
mod properties_walk;
mod rules_factors;
mod rules_forming;
mod rules_pace;
mod rules_plan;
mod rules_quota;
mod rules_recheck;
mod rules_verify;
mod rules_walk;
mod server;
