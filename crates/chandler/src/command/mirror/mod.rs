//! `chandler mirror`: fills the store from another server that speaks the same protocol.

mod add;
mod login;
mod named;
mod plan;
mod run;
mod status;
mod verify;

use clap::{Args, Subcommand};

use crate::context::CommandContext;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a source: its addresses, and the credentials of your account there
    Add(add::Arguments),
    /// Set the list of securities, and show what a run would request; requests only the limits
    Plan(plan::Arguments),
    /// Collect what is missing; an interrupted run continues where it was
    Run(run::Arguments),
    /// Show how far the mirrors are, what is left of the month, and what was reported
    Status(status::Arguments),
    /// Compare our adjusted daily candles with those that were received
    Verify(verify::Arguments),
    /// Remove a source and its credentials; its candles stay
    Remove(add::Removal),
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    match &arguments.command {
        Command::Add(arguments) => add::add(arguments, context),
        Command::Plan(arguments) => plan::run(arguments, context),
        Command::Run(arguments) => run::run(arguments, context),
        Command::Status(arguments) => status::run(arguments, context),
        Command::Verify(arguments) => verify::run(arguments, context),
        Command::Remove(arguments) => add::remove(arguments, context),
    }
}
