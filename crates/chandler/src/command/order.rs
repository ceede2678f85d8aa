//! `chandler order`: orders of a paper account, here or at a server.

mod change;
mod flags;
mod list;
mod preview;
mod ticket;
mod why;

use clap::{Args, Subcommand};
use trading::Side;

use crate::failure::Failure;
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Buy a security; prints the id of the order
    Buy(ticket::Arguments),
    /// Sell a security; prints the id of the order
    Sell(ticket::Arguments),
    /// Change what an open order asks for
    Replace(change::Replace),
    /// Take an open order back
    Cancel(change::Cancel),
    /// List the orders of today, or of earlier days
    List(list::List),
    /// Show one order with its history and its charges
    Show(list::Show),
    /// Tell the story of an order: what happened when, by which candle and which rule, and each charge
    Why(why::Arguments),
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    match &arguments.action {
        Action::Buy(arguments) => arguments.run(Side::Buy, surroundings),
        Action::Sell(arguments) => arguments.run(Side::Sell, surroundings),
        Action::Replace(arguments) => arguments.run(surroundings),
        Action::Cancel(arguments) => arguments.run(surroundings),
        Action::List(arguments) => arguments.run(surroundings),
        Action::Show(arguments) => arguments.run(surroundings),
        Action::Why(arguments) => arguments.run(surroundings),
    }
}
