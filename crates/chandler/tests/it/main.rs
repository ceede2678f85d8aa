//! Integration tests of the executable. The tests run commands on a real store in a temporary
//! folder and check the output and exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod account;
mod audit;
mod backup;
mod bad_input;
mod beside;
mod cli;
mod coarse_days;
mod counting_proxy;
mod damage;
mod dead_server;
mod demo;
mod doctor;
#[cfg(unix)]
mod follow;
mod follow_server;
mod grid;
mod house;
mod import;
mod import_circles;
mod json_times;
mod kline;
mod levels;
mod list;
mod login;
mod manners;
mod mirror;
mod mirror_limits;
mod mirror_through;
mod open;
mod paper;
mod paper_processes;
mod people;
#[cfg(unix)]
mod postgres;
#[cfg(unix)]
#[path = "../../../store/tests/postgres/harness.rs"]
mod postgres_server;
mod quote;
mod reach;
mod remote;
mod reports;
mod sdk_env;
mod serve;
#[cfg(unix)]
mod stuck;
mod toolchain;
mod topics;
mod trading;
mod trading_remote;
mod transports;
mod undo;
mod watchlists;
mod world;
mod world_logs;
#[cfg(unix)]
mod world_run;
mod worlds;
