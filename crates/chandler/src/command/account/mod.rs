//! `chandler account`: accounts, their rights, the reports that determine their levels, and their
//! paper accounts. The command can be used while a server is running; a change takes effect with
//! the next request.

mod create;
mod device;
mod ingest_token;
mod levels;
mod money;
mod paper_account;
mod password;
mod reports;
mod rewind;
mod show;

use access::{Access, Account, Actor, Present};
use clap::{Args, Subcommand};
use serde_json::json;

use super::serve::create_if_absent;
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local::{named, open_accounts};
use crate::output::{Format, say};

pub(crate) use create::create;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create an account and print its credentials, which are shown only once
    Create(create::Arguments),
    /// List all accounts, including revoked ones
    List {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show the limits of an account and its usage this month
    Show {
        name: String,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Change the limits of an account, or the settings of its paper account
    Set(create::Set),
    /// Grant a quote package to an account: HK, US, US_OVERNIGHT, CN, SG, US_OPTIONS
    Grant(money::Grant),
    /// Deposit money into a paper account
    Deposit(money::Deposit),
    /// Withdraw money from a paper account, or revoke a quote package
    Withdraw(money::Withdraw),
    /// Exchange money in a paper account, at the stored rate
    Exchange(money::Exchange),
    /// Book an amount to a paper account, with a note
    Adjust(money::Adjust),
    /// Set the quantity and cost of a position in a paper account
    Position(money::Position),
    /// Rewind a paper account to an instant; later entries are archived
    Rewind(rewind::Rewind),
    /// Reset a paper account to its initial cash and settings
    Reset(rewind::Reset),
    /// Copy a paper account to a new account
    Fork(rewind::Fork),
    /// Report the end-of-day assets of accounts, which determine their levels
    // The former name is accepted as an alias.
    #[command(alias = "assets")]
    ReportedAssets(reports::ReportedAssets),
    /// Report the number of orders that accounts have completed
    #[command(alias = "orders")]
    ReportedOrders(reports::ReportedOrders),
    /// Report exchange rates: HKD per unit of a currency, from a given day on
    Rates(reports::Rates),
    /// List the levels, or change one of them
    Levels(levels::Arguments),
    /// Set the password with which an account signs in to the web pages, from a prompt or the first
    /// line of stdin
    Password(password::Arguments),
    /// Approve or deny the code that a program shows, on behalf of an account
    Device(device::Arguments),
    /// Tokens of an operator account for programs that only add candles and trades
    IngestToken(ingest_token::Arguments),
    /// Revoke an account, its token, sessions and connections
    Revoke {
        name: String,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    match &arguments.action {
        // `account create` is often the first command run, so it creates the store.
        Action::Create(arguments) => {
            arguments.check()?;
            create_if_absent(context)?;
        }
        // Other commands must not create a store, or a mistyped path would go unnoticed.
        _ => drop(context.open(store::Access::Read)?),
    }
    let access = open_accounts(context)?;
    let present = Present { market: context.now(), machine: Clock::Machine.now() };
    match &arguments.action {
        Action::Create(arguments) => arguments.run(&access, context, present),
        Action::List { format } => show::list(&access, *format, present, context),
        Action::Show { name, format } => {
            show::show(&access, &named(&access, name)?, *format, (context, present))
        }
        Action::Set(arguments) => arguments.run(&access, context, present),
        Action::Grant(arguments) => arguments.run(&access, present),
        Action::Deposit(arguments) => arguments.run(&access, context),
        Action::Withdraw(arguments) => arguments.run(&access, context, present),
        Action::Exchange(arguments) => arguments.run(&access, context),
        Action::Adjust(arguments) => arguments.run(&access, context),
        Action::Position(arguments) => arguments.run(&access, context),
        Action::Rewind(arguments) => arguments.run(&access, context, present),
        Action::Reset(arguments) => arguments.run(&access, context, present),
        Action::Fork(arguments) => arguments.run(&access, context, present),
        Action::ReportedAssets(arguments) => arguments.run(&access, present),
        Action::ReportedOrders(arguments) => arguments.run(&access, present),
        Action::Rates(arguments) => arguments.run(&access, present),
        Action::Levels(arguments) => arguments.run(&access, present),
        Action::Password(arguments) => arguments.run(&access, present),
        Action::Device(arguments) => arguments.run(&access, present),
        Action::IngestToken(arguments) => arguments.run(&access, present),
        Action::Revoke { name, format } => revoke(&access, &named(&access, name)?, *format, present),
    }
}

fn revoke(access: &Access, account: &Account, format: Format, present: Present) -> Result<(), Failure> {
    let revoked = access.revoke(account.id, &Actor::Operator, "", present.machine)?;
    let said = if revoked { "is revoked" } else { "was already revoked" };
    let text = format!("account {:?} {said}", account.name);
    say(format, &text, json!({"account_id": account.id.0, "name": account.name, "changed": revoked}))
}
