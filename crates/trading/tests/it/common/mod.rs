//! Scripts and transcripts for the golden tables.
//!
//! A script is a list of lines. `given …` prepares the account and the store; a line that begins
//! with a time acts at that time; lines that begin with `>` are the expected output of the line
//! above them. Times are market-local and belong to the last `day`.
#![allow(dead_code, unreachable_pub, reason = "every test file takes its own part of this module")]

mod grid;
mod market;
mod script;
mod show;

pub use grid::triggers;
pub use market::{Store, at, date, symbol, tables, venues};
pub use script::{Player, check, play, play_as};
