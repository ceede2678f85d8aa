//! Integration tests of reading and writing files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;
mod examples;
mod forms;
mod headers;
mod judged_periods;
mod limits;
mod parquet_types;
mod periods;
mod records;
mod roundtrip;
mod shapes;
mod strangers;
mod trades;
mod vendors;
mod workbooks;
