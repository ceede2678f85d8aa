//! `chandler grid`: grid orders of a paper account, here or at a server.

mod before;
mod change;
mod list;
mod preview;
mod rule;
mod show;
mod submit;
mod triggers;
mod why;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Begin a grid: sell a little at every step up, buy a little at every step down; prints its id
    Submit(submit::Submit),
    /// Give a grid another rule
    Replace(submit::Replace),
    /// Show what a grid of a security needs: its price, lot and price steps
    Info(before::Info),
    /// Agree to what a strategy risks, which a grid needs where the operator says so
    Agree(before::Agree),
    /// List the grids
    List(list::List),
    /// Show one grid with its orders and its history
    Show(show::Show),
    /// List what grids have triggered
    History(triggers::History),
    /// Tell the story of a grid: every trigger, the candle behind it, and why it made no order
    Why(why::Arguments),
    /// End a grid, and take its open orders back
    Cancel(change::Cancel),
    /// Let a grid pause; its open orders stay
    Suspend(change::Suspend),
    /// Let a grid that pauses go on
    Restart(change::Restart),
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    match &arguments.action {
        Action::Submit(arguments) => arguments.run(surroundings),
        Action::Replace(arguments) => arguments.run(surroundings),
        Action::Info(arguments) => arguments.run(surroundings),
        Action::Agree(arguments) => arguments.run(surroundings),
        Action::List(arguments) => arguments.run(surroundings),
        Action::Show(arguments) => arguments.run(surroundings),
        Action::History(arguments) => arguments.run(surroundings),
        Action::Why(arguments) => arguments.run(surroundings),
        Action::Cancel(arguments) => arguments.run(surroundings),
        Action::Suspend(arguments) => arguments.run(surroundings),
        Action::Restart(arguments) => arguments.run(surroundings),
    }
}
