//! The `chandler` executable. This file lists the commands, which are implemented under `command/`.

// The print macros panic if a pipe is closed or a disk is full. Functions in `output` return an
// error instead.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod chart;
mod client;
mod clock;
mod clock_wish;
mod command;
mod config;
mod context;
mod demo;
mod failure;
mod field_flags;
mod local;
mod log;
mod machine;
mod open_hours;
mod output;
mod paper_flags;
mod progress;
mod remote;
mod sdk;
mod suggest;
mod terminal;
#[cfg(test)]
mod tests;
mod tips;
mod tree;
mod write_error;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use context::{CommandContext, NamedFlags};
use failure::Failure;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Self-hosted market data: import, store and query price history.
///
/// Chandler is an independent implementation of a securities history service. It is not affiliated
/// with any broker or data vendor.
#[derive(Debug, Parser)]
#[command(name = "chandler", version, max_term_width = 110)]
struct Arguments {
    #[command(flatten)]
    context: context::Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Import candles, trades, securities and corporate actions from CSV and Parquet files
    Import(command::import::Import),
    /// Import files, serve them on this machine, and open the chart in a browser, signed in
    Open(command::open::Arguments),
    /// List the stored securities with their date ranges, last prices and missing days
    #[command(visible_aliases = ["ls", "search"], aliases = ["symbols", "securities", "find"])]
    List(command::list::Arguments),
    /// Query candles by count or date range, in any period, unadjusted or adjusted
    #[command(aliases = ["candles", "candlesticks", "klines", "bars", "ohlc"])]
    Kline(command::kline::Arguments),
    /// Show the latest prices: last, change, volume and state
    #[command(aliases = ["quotes", "price", "prices", "snapshot"])]
    Quote(command::quote::Arguments),
    /// Write whole series or ranges to CSV, Parquet or Arrow files
    Export(command::export::Arguments),
    /// Compare the stored candles with the calendar, and list the gaps
    Coverage(command::coverage::Arguments),
    /// Verify every checksum and every index entry of the store
    Check(command::check::Arguments),
    /// Show the stored data of a symbol: series, blocks, bytes, sources
    Inspect(command::inspect::Arguments),
    /// List the import ledger, or undo an import
    Imports(command::imports::Arguments),
    /// List the rows that imports refused, with file, line and reason
    Quarantine(command::quarantine::Arguments),
    /// Remove a symbol, or its candles of one period, from the store
    #[command(aliases = ["rm", "delete"])]
    Remove(command::remove::Arguments),
    /// Fill the store from another server, using your account there
    Mirror(command::mirror::Arguments),
    /// Serve the store to clients: HTTP, WebSocket and TCP
    Serve(command::serve::Arguments),
    /// Manage client accounts, and report the assets and orders that determine their levels
    #[command(aliases = ["accounts", "user", "users"])]
    Account(command::account::Arguments),
    /// Print the environment variables that the public SDKs need for a server
    SdkEnv(command::sdk_env::Arguments),
    /// Submit, change, list and explain the orders of a paper account
    Order(command::order::Arguments),
    /// Submit, change and list the grid strategies of a paper account
    Grid(command::grid::Arguments),
    /// Show the positions of a paper account
    #[command(aliases = ["portfolio", "holdings"])]
    Positions(command::portfolio::Positions),
    /// Show the assets and buying power of a paper account
    #[command(aliases = ["balance", "cash"])]
    Assets(command::portfolio::Assets),
    /// Show the profit of a paper account by security, its closed trades, and its equity curve
    #[command(visible_alias = "pnl")]
    Performance(command::performance::Arguments),
    /// List the executions of a paper account
    Executions(command::portfolio::Executions),
    /// List the cash flow of a paper account
    Cashflow(command::portfolio::CashFlow),
    /// List and change the watchlists of an account
    #[command(aliases = ["watchlists", "watch"])]
    Watchlist(command::watchlist::Arguments),
    /// List, show and download the daily and monthly statements of a paper account
    Statement(command::statement::Arguments),
    /// Create, show and step worlds: accounts with their own market clocks
    World(command::world::Arguments),
    /// Show the market clock of a server, or move a fixed one
    Clock(command::clock::Arguments),
    /// Show the monthly quota usage of accounts, and their levels with the reasons
    Quota(command::quota::Arguments),
    /// List or close the long connections of a server
    Connections(command::connections::Arguments),
    /// List posts about securities, and hide or restore them
    Topic(command::topic::Arguments),
    /// Show the audit log, or delete old events
    Audit(command::audit::Arguments),
    /// Back up the store to a folder while it is in use, with a checksum of every file
    Backup(command::backup::Arguments),
    /// Replace the store with a backup; its server must be stopped
    Restore(command::restore::Arguments),
    /// Copy the store to another directory or PostgreSQL database
    Move(command::move_store::Arguments),
    /// Sign in to a server in a browser, and store the token where SDKs find it
    Login(command::login::Arguments),
    /// Sign out and remove the login files
    Logout(command::logout::Arguments),
    /// Show who is signed in
    Auth(command::auth::Arguments),
    /// Generate the demo market data and show charts
    Demo(command::demo::Arguments),
    /// Show the trading calendars in use, or write them to files for editing
    Calendar(command::calendar::Arguments),
    /// Check for common problems: clock, calendars, disk, ports, SDK variables, databases
    Doctor(command::doctor::Arguments),
    /// Show the effective configuration and the source of each value, or check a file
    Config(command::config::Arguments),
    /// Print a completion script for a shell
    Completions(command::man::Completions),
    /// Print a manual page, or write all of them into a folder
    Man(command::man::Arguments),
}

fn main() -> ExitCode {
    let _flush = log::FlushAtEnd;
    let typed: Vec<OsString> = std::env::args_os().collect();
    let matches = commands()
        .try_get_matches_from(&typed)
        .unwrap_or_else(|error| tips::explain(error, &mut commands(), &typed).exit());
    let (innermost, path) = innermost(&matches);
    remote::http::announce(path.join(" "));
    let result = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => CommandContext::of(arguments.context, NamedFlags::of(innermost))
            .and_then(|context| run(arguments.command, context, innermost)),
        Err(error) => error.exit(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = context::with_store(&failure.to_string(), innermost);
            if !text.is_empty() {
                output::note(format_args!("chandler: {text}"));
            }
            failure.exit_code()
        }
    }
}

/// Returns the complete command tree.
fn commands() -> clap::Command {
    tree::complete(Arguments::command())
}

/// Returns the matches of the innermost subcommand, and the path of subcommand names.
fn innermost(matches: &ArgMatches) -> (&ArgMatches, Vec<&str>) {
    let (mut inner, mut path) = (matches, Vec::new());
    while let Some((name, below)) = inner.subcommand() {
        path.push(name);
        inner = below;
    }
    (inner, path)
}

fn run(command: Command, context: CommandContext, matches: &ArgMatches) -> Result<(), Failure> {
    let context = &match command {
        Command::Demo(_) => context.beside_default(command::demo::DEFAULT),
        _ => context,
    };
    match command {
        Command::Import(import) => import.run(context),
        Command::Open(arguments) => command::open::run(&arguments, context),
        Command::List(arguments) => command::list::run(&arguments, context),
        Command::Kline(arguments) => command::kline::run(&arguments, context),
        Command::Quote(arguments) => command::quote::run(&arguments, context),
        Command::Export(arguments) => command::export::run(&arguments, context),
        Command::Coverage(arguments) => command::coverage::run(&arguments, context),
        Command::Check(arguments) => command::check::run(&arguments, context),
        Command::Inspect(arguments) => command::inspect::run(&arguments, context),
        Command::Imports(arguments) => command::imports::run(&arguments, context),
        Command::Quarantine(arguments) => command::quarantine::run(&arguments, context),
        Command::Remove(arguments) => command::remove::run(&arguments, context),
        Command::Mirror(arguments) => command::mirror::run(&arguments, context),
        Command::Serve(arguments) => command::serve::run(&arguments, context),
        Command::Account(arguments) => command::account::run(&arguments, context),
        Command::SdkEnv(arguments) => command::sdk_env::run(&arguments, context),
        Command::Order(arguments) => command::order::run(&arguments, context),
        Command::Grid(arguments) => command::grid::run(&arguments, context),
        Command::Positions(arguments) => command::portfolio::positions(&arguments, context),
        Command::Assets(arguments) => command::portfolio::assets(&arguments, context),
        Command::Performance(arguments) => command::performance::run(&arguments, context),
        Command::Executions(arguments) => command::portfolio::executions(&arguments, context),
        Command::Cashflow(arguments) => command::portfolio::cash_flow(&arguments, context),
        Command::Watchlist(arguments) => command::watchlist::run(&arguments, context),
        Command::World(arguments) => command::world::run(&arguments, context),
        Command::Statement(arguments) => command::statement::run(&arguments, context),
        Command::Clock(arguments) => command::clock::run(&arguments, context),
        Command::Quota(arguments) => command::quota::run(&arguments, context),
        Command::Connections(arguments) => command::connections::run(&arguments),
        Command::Topic(arguments) => command::topic::run(&arguments, context),
        Command::Audit(arguments) => command::audit::run(&arguments, context),
        Command::Backup(arguments) => command::backup::run(&arguments, context),
        Command::Restore(arguments) => command::restore::run(&arguments, context),
        Command::Move(arguments) => command::move_store::run(&arguments, context),
        Command::Login(arguments) => command::login::run(&arguments),
        Command::Logout(arguments) => command::logout::run(&arguments),
        Command::Auth(arguments) => command::auth::run(&arguments),
        Command::Demo(arguments) => command::demo::run(&arguments, context),
        Command::Calendar(arguments) => command::calendar::run(&arguments, context),
        Command::Doctor(arguments) => command::doctor::run(&arguments, context),
        Command::Config(arguments) => command::config::run(&arguments, matches, context),
        Command::Completions(arguments) => command::man::completions(&arguments, commands()),
        Command::Man(arguments) => command::man::run(&arguments, commands()),
    }
}
