//! `chandler order`: a paper account's orders, in the local store or on a server.

mod attached;
mod change;
mod flags;
mod list;
mod ticket;

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
    /// List today's orders, or those of earlier days
    List(list::List),
    /// Show an order with its history and charges
    Show(list::Show),
    /// Explain an order: each event with the candle and rule behind it, and each charge
    Why(list::Why),
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
