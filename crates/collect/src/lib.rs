//! Fills a store from another server: sends the requests of a mirror and stores the responses.
//!
//! This crate joins the rules of a mirror (`mirror`), the protocol client (`source`) and the
//! transactions (`history::mirror`). It opens no connection and reads no clock: both are arguments
//! ([`Connect`], [`Time`]), so tests run without waiting.
//!
//! Start at `run.rs`, the main loop. `jobs.rs` selects the series to read, `requests.rs` sends
//! requests with rate limit, retries and reconnects, and `derive.rs` computes corporate actions.
//! `through/` answers requests to the server for data that is not stored, and `follow/` follows the
//! source's pushes. `settings.rs` defines the stored settings and state of a mirror.

mod calendar;
mod convert;
mod derive;
mod error;
mod follow;
mod jobs;
mod link;
mod plan;
mod reading;
mod requests;
mod run;
mod settings;
mod through;
mod today;
mod verify;

pub use derive::{Derivation, derive};
pub use error::CollectError;
pub use follow::{Delivered, Delivery, Follower, Following, Sink, follow, followed};
pub use jobs::{covered, is_of_run, last_complete_day};
pub use link::{Answered, Connect, Link, Received, Server, Time};
pub use plan::{Cost, cost, plan};
pub use run::{Progress, RunOptions, RunReport, Runner, Watch};
pub use settings::{FollowState, ListOptions, Login, Rate, Settings, State};
pub use through::{
    Counts as ReadThroughCounts, Fetched, Fetcher, Missing, Need, OpenSource, ReadThrough, Scope, Wants,
    read_through,
};
pub use verify::{SecurityCheck, verify};
