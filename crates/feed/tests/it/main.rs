//! `rules_*.rs` are the worked examples of the specification, `properties_*.rs` are property tests
//! with random candles and subscriptions, and `client.rs` models how clients merge pushes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod client;
mod common;
mod properties_of_days;
mod properties_of_prints;
mod properties_of_queues;
mod properties_of_subscriptions;
mod queues;
mod random;
mod rules_alerts;
mod rules_prints;
mod rules_pushes;
mod rules_subscriptions;
