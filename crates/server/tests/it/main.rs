//! Integration tests of the whole server in process, over loopback sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod ahead;
mod commands;
mod conformance;
mod damaged;
mod floors;
mod home;
mod http;
mod link;
mod look_ahead;
mod page;
mod places;
mod replay;
mod restored;
mod support;
mod tls;
mod trade;
