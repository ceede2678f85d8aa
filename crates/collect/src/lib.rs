//! Fills a store from another server: sends the requests of a mirror and stores the answers.
//!
//! The rules are in the crate `mirror`, the protocol is in `source`, and the transactions are in
//! `history::mirror`; this crate joins them. It reads no clock and opens no connection itself: both
//! are arguments ([`Time`], [`Connect`]), so that tests run without waiting.
//!
//! Start at `run.rs`, the loop over requests; then `jobs.rs` (which series are read), `requests.rs`
//! (one connection with its pace, retries and reconnects) and `derive.rs` (factors). `settings.rs`
//! is what is stored about a mirror.

mod calendar;
mod convert;
mod derive;
mod error;
mod jobs;
mod link;
mod plan;
mod reading;
mod requests;
mod run;
mod settings;
mod today;
mod verify;

pub use derive::{Derivation, derive};
pub use error::CollectError;
pub use jobs::{covered, last_complete_day};
pub use link::{Answered, Connect, Link, Server, Time};
pub use plan::plan;
pub use run::{Progress, RunOptions, RunReport, Runner, Watch};
pub use settings::{ListOptions, Login, Rate, Settings, State};
pub use verify::{SecurityCheck, verify};
