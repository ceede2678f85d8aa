//! `chandler grid`: a paper account's grid orders, in the local store or on a server.

mod before;
mod change;
mod list;
mod rule;
mod show;
mod submit;
mod triggers;

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
    /// Submit a grid, which sells at every step up and buys at every step down; prints its id
    Submit(submit::Submit),
    /// Change a grid's rule
    Replace(submit::Replace),
    /// Show the inputs for a grid on a security: price, lot size and price steps
    Info(before::Info),
    /// Accept the risk questionnaire, if the operator requires it for grids
    Agree(before::Agree),
    /// List the grids
    List(list::List),
    /// Show a grid with its orders and history
    Show(show::Show),
    /// List the triggers of grids
    History(triggers::History),
    /// Explain a grid's triggers: the candle of each, and why one submitted no order
    Why(triggers::Why),
    /// Cancel a grid and its open orders
    Cancel(change::Cancel),
    /// Pause a grid; its open orders remain
    Suspend(change::Suspend),
    /// Resume a paused grid
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
