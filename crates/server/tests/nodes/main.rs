//! Integration tests of the whole server on PostgreSQL: tests shared with `it`, and tests with two
//! nodes on one database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "the suite with a folder uses the rest")]

#[path = "../it/ahead/mod.rs"]
mod ahead;
#[path = "../it/conformance.rs"]
mod conformance;
#[path = "../../../store/tests/postgres/harness.rs"]
mod harness;
mod home;
#[path = "../it/support.rs"]
mod support;

// Tests shared with `it`. Tests that modify store files directly, or that need another process's
// change to be visible immediately, are excluded.
#[path = "../it/link/broken.rs"]
mod broken;
#[path = "../it/http/connections.rs"]
mod connections;
#[path = "../it/link/gateway.rs"]
mod gateway;
#[path = "../it/http/signed.rs"]
mod signed;

// Tests with two nodes.
mod several;

// Worlds on a node.
mod look_ahead;
mod worlds;
