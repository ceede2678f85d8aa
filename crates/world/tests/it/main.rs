//! `rules_*.rs` are the worked examples of the specification, `properties.rs` are property tests
//! with random instants and settings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod properties;
mod rules_clock;
mod rules_settings;
mod rules_state;
