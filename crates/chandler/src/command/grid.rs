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

use crate::context::CommandContext;
use crate::failure::Failure;

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

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    match &arguments.action {
        Action::Submit(arguments) => arguments.run(context),
        Action::Replace(arguments) => arguments.run(context),
        Action::Info(arguments) => arguments.run(context),
        Action::Agree(arguments) => arguments.run(context),
        Action::List(arguments) => arguments.run(context),
        Action::Show(arguments) => arguments.run(context),
        Action::History(arguments) => arguments.run(context),
        Action::Why(arguments) => arguments.run(context),
        Action::Cancel(arguments) => arguments.run(context),
        Action::Suspend(arguments) => arguments.run(context),
        Action::Restart(arguments) => arguments.run(context),
    }
}
