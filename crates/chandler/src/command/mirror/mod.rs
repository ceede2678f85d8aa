//! `chandler mirror`: fills the store from another server with the same protocol.

mod add;
pub(crate) mod follow;
mod login;
mod named;
mod plan;
mod run;
mod status;
pub(crate) mod through;
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
    /// Set the list of securities, and show what a run would request; only the limits are requested
    Plan(plan::Arguments),
    /// Collect missing candles; an interrupted run is resumed
    Run(run::Arguments),
    /// Show the progress of mirrors, the remaining monthly quota, and reports
    Status(status::Arguments),
    /// Compare our adjusted daily candles with the received ones
    Verify(verify::Arguments),
    /// Remove a source and its credentials, but not its candles
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
