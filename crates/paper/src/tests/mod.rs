//! Tests the service with a small store: fills from stored candles, persistence and notifications.

mod coarse;
mod equity;
mod explanation;
mod grids;
mod house;
mod ingested;
mod names;
mod orders;
mod performance;
mod portions;
mod refused;
mod rewind;
mod shared;
mod statements;
mod tallies;
