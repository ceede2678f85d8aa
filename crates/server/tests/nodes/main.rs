//! The whole server on PostgreSQL: what it does with a store in a folder, and what two of them do with one database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "the suite with a folder uses the rest")]

#[path = "../it/conformance.rs"]
mod conformance;
#[path = "../../../store/tests/postgres/harness.rs"]
mod harness;
mod home;
#[path = "../it/support.rs"]
mod support;

// As with a folder. Tests that change the files of the folder behind the server, or that want a change of another process at once, have no place here.
#[path = "../it/link/broken.rs"]
mod broken;
#[path = "../it/http/connections.rs"]
mod connections;
#[path = "../it/link/gateway.rs"]
mod gateway;
#[path = "../it/http/signed.rs"]
mod signed;

// Of several nodes.
mod several;
