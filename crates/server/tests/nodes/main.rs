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

// As with a folder.
#[path = "../it/commands/mod.rs"]
mod commands;
#[path = "../it/http/mod.rs"]
mod http;
#[path = "../it/link/mod.rs"]
mod link;
#[path = "../it/trade/mod.rs"]
mod trade;

// Of several nodes.
mod several;
