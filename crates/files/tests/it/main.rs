//! Files in, rows out; and back.

mod common;
mod forms;
mod headers;
mod limits;
mod parquet_types;
mod periods;
mod records;
mod roundtrip;
mod vendors;
