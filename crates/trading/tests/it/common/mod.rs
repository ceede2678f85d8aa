//! Scripts in, transcripts out: what the golden tables are written with.
//!
//! A script is a list of lines. `given …` prepares the account and the store; a line that begins with a clock reading does
//! something then; lines that begin with `>` are what must come of the line above them. Clock readings are market-local and
//! belong to the last `day`.
#![allow(dead_code, unreachable_pub, reason = "every test file takes its own part of this module")]

mod grid;
mod market;
mod script;
mod show;

pub use grid::triggers;
pub use market::{Store, at, date, symbol, tables, venues};
pub use script::{Player, check, play, play_as};
