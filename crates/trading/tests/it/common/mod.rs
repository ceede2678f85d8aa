//! Scripts and transcripts for the golden tests.
//!
//! A script is a list of lines. `given …` prepares the account and the store. A line that starts
//! with a time is executed at that time. Lines that start with `>` are the expected output of the
//! preceding line. Times are local to the market, on the date of the last `day` line.
#![allow(dead_code, unreachable_pub, reason = "every test file takes its own part of this module")]

mod grid;
mod market;
mod script;
mod show;

pub use grid::triggers;
pub use market::{Store, at, date, symbol, tables, venues};
pub use script::{Player, check, play, play_as};
