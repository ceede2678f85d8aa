//! The whole server on PostgreSQL: the same as with a store in a folder, and two nodes on one
//! database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "the suite with a folder uses the rest")]

#[path = "../it/conformance.rs"]
mod conformance;
#[path = "../../../store/tests/postgres/harness.rs"]
mod harness;
mod home;
#[path = "../it/support.rs"]
mod support;

// The same as with a folder. Tests that change the files of the folder directly, or that need a
// change of another process immediately, are left out.
#[path = "../it/link/broken.rs"]
mod broken;
#[path = "../it/http/connections.rs"]
mod connections;
#[path = "../it/link/gateway.rs"]
mod gateway;
#[path = "../it/http/signed.rs"]
mod signed;

// Tests with several nodes.
mod several;
