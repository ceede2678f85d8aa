//! `chandler order`: a paper account's orders, in the local store or on a server.

mod change;
mod flags;
mod list;
mod preview;
mod ticket;
mod why;

use clap::{Args, Subcommand};
use trading::Side;

use crate::context::CommandContext;
use crate::failure::Failure;

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
    /// Change the prices, the quantity or the remark of an open order
    Replace(change::Replace),
    /// Cancel an open order
    Cancel(change::Cancel),
    /// List the orders of today, or of earlier days
    List(list::List),
    /// Show one order with its history and its charges
    Show(list::Show),
    /// Explain an order: what happened when, by which candle and which rule, and each charge
    Why(why::Arguments),
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    match &arguments.action {
        Action::Buy(arguments) => arguments.run(Side::Buy, context),
        Action::Sell(arguments) => arguments.run(Side::Sell, context),
        Action::Replace(arguments) => arguments.run(context),
        Action::Cancel(arguments) => arguments.run(context),
        Action::List(arguments) => arguments.run(context),
        Action::Show(arguments) => arguments.run(context),
        Action::Why(arguments) => arguments.run(context),
    }
}
