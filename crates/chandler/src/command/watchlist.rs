//! `chandler watchlist`: an account's watchlists, in the local store or on a server.

use std::io::Write;

use access::WatchlistName;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use market::Symbol;
use serde_json::{Value, json};

use super::trade::shown::{self, amount, rows, text, zoned};
use crate::client::{AccountFlags, Client};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::Purpose;
use crate::output::{self, Column, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the followed securities, with the price and the time when they were added
    List(List),
    /// Add a group; prints its id
    Create(Create),
    /// Add securities to the end of a group
    Add(Change),
    /// Remove securities from a group; those removed from `all` are unfollowed
    Remove(Change),
    /// Set the securities of a group, in this order
    Replace(Change),
    /// Rename a group
    Rename(Rename),
    /// Delete a group; its securities stay followed
    Delete(Delete),
    /// Pin securities to the top of their groups
    Pin(Pin),
}

#[derive(Debug, Args)]
struct List {
    /// One group, by id or name [default: all groups]
    group: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Create {
    /// The name of the group
    name: String,
    /// Securities, such as 700.HK
    symbols: Vec<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Change {
    /// The group, by id or name; `all` is the group of all followed securities
    group: String,
    /// Securities, such as 700.HK
    #[arg(required = true)]
    symbols: Vec<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Rename {
    /// The group, by id or name
    group: String,
    /// New name
    name: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Delete {
    /// The group, by id or name
    group: String,
    /// Unfollow its securities, in every group
    #[arg(long)]
    purge: bool,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Pin {
    /// Securities, such as 700.HK
    #[arg(required = true)]
    symbols: Vec<String>,
    /// Unpin them instead
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    match &arguments.action {
        Action::List(list) => list.run(context),
        Action::Create(create) => create.run(context),
        Action::Add(change) => change.run(Members::Add, context),
        Action::Remove(change) => change.run(Members::Remove, context),
        Action::Replace(change) => change.run(Members::Replace, context),
        Action::Rename(rename) => rename.run(context),
        Action::Delete(delete) => delete.run(context),
        Action::Pin(pin) => pin.run(context),
    }
}

impl List {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let mut document = open(&self.whose, context)?.watchlists()?;
        if let Some(wanted) = &self.group {
            let group = found(&document, wanted)?.clone();
            document = json!({"groups": [group]});
        }
        if self.format == Format::Json {
            return shown::json(&document);
        }
        let mut out = output::stdout();
        for (place, group) in rows(&document, "groups").iter().enumerate() {
            if place > 0 {
                writeln!(out)?;
            }
            print(&mut out, group)?;
        }
        Ok(out.flush()?)
    }
}

fn print(out: &mut impl Write, group: &Value) -> Result<(), Failure> {
    writeln!(out, "{}  {}", text(group, "id"), text(group, "name"))?;
    let securities = rows(group, "securities");
    if securities.is_empty() {
        return Ok(writeln!(out, "no securities")?);
    }
    let columns = [
        Column::Left("symbol"),
        Column::Left("name"),
        Column::Right("price then"),
        Column::Left("followed"),
        Column::Left("pinned"),
    ];
    let row = |one: &Value| {
        let symbol = text(one, "symbol");
        let pinned = if text(one, "is_pinned") == "true" { "yes" } else { "" };
        let (price, at) = (amount(one, "watched_price"), zoned(one, "watched_at", &symbol));
        vec![symbol, text(one, "name"), price, at, pinned.to_owned()]
    };
    Ok(writeln!(
        out,
        "{}",
        output::text(
            output::table(&columns, securities.iter().map(row)).optional(&["followed", "pinned", "name"])
        )
    )?)
}

impl Create {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = open(&self.whose, context)?;
        let symbols = symbols(&client, &self.symbols, context)?;
        let id = client.create_watchlist(&self.name, &symbols)?;
        done(self.format, &format!("group {id} is created"), &id)
    }
}

impl Change {
    fn run(&self, members: Members, context: &CommandContext) -> Result<(), Failure> {
        let client = open(&self.whose, context)?;
        let symbols = symbols(&client, &self.symbols, context)?;
        let id = id_of(&client.watchlists()?, &self.group)?;
        client.change_watchlist(&id, members, &symbols)?;
        done(self.format, &format!("group {id} is changed"), &id)
    }
}

impl Rename {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = open(&self.whose, context)?;
        let id = id_of(&client.watchlists()?, &self.group)?;
        client.rename_watchlist(&id, &self.name)?;
        done(self.format, &format!("group {id} is renamed"), &id)
    }
}

impl Delete {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = open(&self.whose, context)?;
        let id = id_of(&client.watchlists()?, &self.group)?;
        client.delete_watchlist(&id, self.purge)?;
        done(self.format, &format!("group {id} is deleted"), &id)
    }
}

impl Pin {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = open(&self.whose, context)?;
        let symbols = symbols(&client, &self.symbols, context)?;
        let names: Vec<String> = symbols.iter().map(ToString::to_string).collect();
        client.pin(&symbols, if self.off { Pinning::Remove } else { Pinning::Add })?;
        let is = if self.off { "no longer pinned" } else { "pinned" };
        match self.format {
            Format::Json => Ok(output::json(&json!({"securities": names}))?),
            Format::Table => say(&format!("{} {is}", names.join(", "))),
        }
    }
}

fn open(whose: &AccountFlags, context: &CommandContext) -> Result<Client, Failure> {
    whose.client(Purpose::Watchlists, context)
}

/// Parses symbols typed by the user.
fn symbols(client: &Client, texts: &[String], context: &CommandContext) -> Result<Vec<Symbol>, Failure> {
    texts.iter().map(|text| client.symbol(text, context)).collect()
}

/// Returns the ID of a watchlist group, given its ID or name. An unknown group is an error.
fn id_of(document: &Value, wanted: &str) -> Result<String, Failure> {
    Ok(text(found(document, wanted)?, "id"))
}

fn found<'a>(document: &'a Value, wanted: &str) -> Result<&'a Value, Failure> {
    let groups = rows(document, "groups");
    if let Some(group) = groups.iter().find(|group| text(group, "id") == wanted) {
        return Ok(group);
    }
    let named: Vec<&Value> = groups.iter().filter(|group| text(group, "name") == wanted.trim()).collect();
    match named.as_slice() {
        [group] => Ok(*group),
        [] => Err(usage(format!(
            "there is no watchlist group {wanted:?}: `chandler watchlist list` lists the groups"
        ))),
        several => {
            let ids: Vec<String> = several.iter().map(|group| text(group, "id")).collect();
            Err(usage(format!("several groups are named {wanted:?}: use an id, {}", ids.join(" or "))))
        }
    }
}

fn done(format: Format, words: &str, id: &str) -> Result<(), Failure> {
    match format {
        Format::Json => Ok(output::json(&json!({"id": id}))?),
        Format::Table => say(words),
    }
}

fn say(words: &str) -> Result<(), Failure> {
    let mut out = output::stdout();
    writeln!(out, "{words}")?;
    Ok(out.flush()?)
}

const GROUPS: &str = "/v1/watchlist/groups";

/// How a group's securities are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Members {
    Add,
    Remove,
    Replace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pinning {
    Add,
    Remove,
}

impl Client {
    /// Returns all watchlist groups.
    fn watchlists(&self) -> Result<Value, Failure> {
        self.read(GROUPS, &[])
    }

    /// Creates a watchlist group and returns its ID.
    fn create_watchlist(&self, name: &str, symbols: &[Symbol]) -> Result<String, Failure> {
        self.check_name(name)?;
        let body = json!({"name": name, "securities": texts(symbols)});
        let created = self.post(GROUPS, body).map_err(|error| self.to_failure(error))?;
        let server = match self {
            Client::Local(_) => "the store",
            Client::Remote(session) => session.url.as_str(),
        };
        let id = field(&created, "id").as_str().map(str::to_owned);
        id.ok_or_else(|| anyhow!("{server} did not return the id of the group").into())
    }

    fn change_watchlist(&self, id: &str, members: Members, symbols: &[Symbol]) -> Result<(), Failure> {
        let mode = match members {
            Members::Add => "add",
            Members::Remove => "remove",
            Members::Replace => "replace",
        };
        let body = json!({"id": id, "securities": texts(symbols), "mode": mode});
        self.put(GROUPS, body).map(drop).map_err(|error| self.to_failure(error))
    }

    fn rename_watchlist(&self, id: &str, name: &str) -> Result<(), Failure> {
        self.check_name(name)?;
        let answer = self.put(GROUPS, json!({"id": id, "name": name}));
        answer.map(drop).map_err(|error| self.to_failure(error))
    }

    /// Returns a usage error for an invalid name if the store is local. A server validates names
    /// itself.
    fn check_name(&self, name: &str) -> Result<(), Failure> {
        match self {
            Client::Local(_) => WatchlistName::parse(name).map(drop).map_err(usage),
            Client::Remote(_) => Ok(()),
        }
    }

    fn delete_watchlist(&self, id: &str, purge: bool) -> Result<(), Failure> {
        // IDs from the list need no encoding; the server rejects other IDs.
        let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
        let answer = self.delete(&format!("{GROUPS}?id={id}&purge={purge}"));
        answer.map(drop).map_err(|error| self.to_failure(error))
    }

    fn pin(&self, symbols: &[Symbol], pinning: Pinning) -> Result<(), Failure> {
        let mode = match pinning {
            Pinning::Add => "add",
            Pinning::Remove => "remove",
        };
        let body = json!({"mode": mode, "securities": texts(symbols)});
        self.post("/v1/watchlist/pinned", body).map(drop).map_err(|error| self.to_failure(error))
    }
}

fn texts(symbols: &[Symbol]) -> Vec<String> {
    symbols.iter().map(ToString::to_string).collect()
}
