//! `chandler world`: accounts with their own market clocks, in the local store or on a server.

mod diff;
mod log;
mod run;
mod words;

use std::io::Write;

use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

use self::words::{SkipName, cash_of, credentials_of, path_of, speed_of};
use super::trade::shown::{self, rows, text};
use crate::client::{AccountFlags, Client};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::Purpose;
use crate::output::{self, Column, Format};
use crate::paper_flags::PaperFlags;
use crate::remote::field;
use crate::sdk::{self, Url};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a world, and print the environment variables that connect the public SDKs to it
    Create(Box<Create>),
    /// List the worlds of an account
    List(List),
    /// Show a world and its clock
    Show(Named),
    /// Change the start and the end of a world that has not begun
    Set(Set),
    /// Move the clock of a world to the next event, to an instant, or by a duration
    Step(Step),
    /// Start the clock of a world
    Start(Start),
    /// Stop the clock of a running world
    Pause(Named),
    /// Stop the clock of a world permanently
    End(Named),
    /// Run a program in a new world or in an existing one, and report on its trades
    Run(Box<run::Arguments>),
    /// Copy a world as of an instant, and print the environment variables as `create` does
    Fork(Fork),
    /// Create another API key of a world, and print the environment variables as `create` does
    Token(Token),
    /// Set the clock of a world back; later changes of its account are archived
    Reset(Reset),
    /// Delete a world that has ended, or has not begun
    Delete(Named),
    /// Show the log of a world, line by line
    Log(log::Log),
    /// Compare two runs: print the first difference, and exit with 1 if there is one
    Diff(diff::Diff),
}

#[derive(Debug, Args)]
struct Create {
    /// Name: 1 to 40 of a-z, 0-9 and -
    name: String,
    /// First instant, such as 2026-03-18T09:30:00+08:00, or a date [default: the instant of --from]
    #[arg(long, value_name = "INSTANT", required_unless_present = "from")]
    start: Option<String>,
    /// Last instant [default: when the last stored candle is complete]
    #[arg(long, value_name = "INSTANT")]
    end: Option<String>,
    /// Market seconds per second, 0.001 to 1000000, or max; 0: only steps move the clock
    #[arg(long, value_name = "N|max", default_value = "0")]
    speed: String,
    /// Whether a running clock skips hours in which no market is open
    #[arg(long, value_enum, default_value_t)]
    skip: SkipName,
    /// Markets whose trading hours count
    #[arg(long, value_name = "MARKETS", default_value = "HK,US", value_delimiter = ',')]
    markets: Vec<String>,
    /// Count night sessions too
    #[arg(long)]
    overnight: bool,
    /// Begin with a copy of an account as of an instant, account:NAME@INSTANT or world:NAME@INSTANT
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["cash", "PaperFlags"])]
    from: Option<String>,
    /// Initial cash [default: HKD=1000000,USD=100000]
    #[arg(long, value_name = "HKD=500000,USD=20000", value_delimiter = ',')]
    cash: Vec<String>,
    /// Rate limit and quota: none, or those of the owner
    #[arg(long, value_enum, default_value_t)]
    limits: LimitsName,
    /// Once started, the world steps automatically after this time without requests, such as 50ms
    #[arg(long, value_name = "TIME", value_parser = quiet_ms)]
    auto: Option<u32>,
    /// Whether a running world pauses when its last connection is closed, and resumes with the next
    /// one
    #[arg(long, value_enum, default_value_t)]
    pause_when_alone: Switch,
    #[command(flatten)]
    paper: PaperFlags,
    /// Address of the server for programs [default: that of --server, or http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LimitsName {
    #[default]
    None,
    Owner,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Switch {
    #[default]
    On,
    Off,
}

#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Named {
    /// Name of the world
    name: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("span").required(true).multiple(true)))]
struct Set {
    /// Name of the world
    name: String,
    /// New first instant, or a date
    #[arg(long, value_name = "INSTANT", group = "span")]
    start: Option<String>,
    /// New last instant, or a date
    #[arg(long, value_name = "INSTANT", group = "span")]
    end: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Step {
    /// Name of the world
    name: String,
    /// Instant to move the clock to, such as 2026-03-18T10:02:00+08:00
    #[arg(long, value_name = "INSTANT", conflicts_with = "by")]
    to: Option<String>,
    /// Duration to move the clock by, such as PT1M or P1D
    #[arg(long, value_name = "DURATION")]
    by: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Start {
    /// Name of the world
    name: String,
    /// Market seconds per second, 0.001 to 1000000, or max [default: the speed of the world]
    #[arg(long, value_name = "N|max")]
    speed: Option<String>,
    /// Instant at which the world is paused, such as 2026-03-18T10:02:00+08:00
    #[arg(long, value_name = "INSTANT")]
    until: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Fork {
    /// Name of the world
    name: String,
    /// Name of the copy
    new: String,
    /// Instant as of which the world is copied [default: now]
    #[arg(long, value_name = "INSTANT")]
    at: Option<String>,
    /// Address of the server for programs [default: that of --server, or http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Token {
    /// Name of the world
    name: String,
    /// Address of the server for programs [default: that of --server, or http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Reset {
    /// Name of the world
    name: String,
    /// Instant to go back to [default: the start]
    #[arg(long, value_name = "INSTANT")]
    at: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    match &arguments.action {
        Action::Create(create) => create.run(context),
        Action::List(list) => list.run(context),
        Action::Show(named) => named.run(context, |client, path| client.read(path, &[])),
        Action::End(named) => named.run(context, |client, path| {
            client.post(&format!("{path}/end"), json!({})).map_err(|error| client.refused(error))
        }),
        Action::Delete(named) => {
            named.run(context, |client, path| client.delete(path).map_err(|error| client.refused(error)))
        }
        Action::Start(start) => start.run(context),
        Action::Pause(named) => named.run(context, |client, path| {
            client.post(&format!("{path}/pause"), json!({})).map_err(|error| client.refused(error))
        }),
        Action::Set(set) => set.run(context),
        Action::Step(step) => step.run(context),
        Action::Run(run) => run.run(context),
        Action::Fork(fork) => fork.run(context),
        Action::Token(token) => token.run(context),
        Action::Reset(reset) => reset.run(context),
        Action::Log(log) => log.run(context),
        Action::Diff(diff) => diff.run(context),
    }
}

impl Create {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        let url = url_of(self.url.as_deref(), &client)?;
        let created = client.post("/v1/worlds", self.body()?).map_err(|error| client.refused(error))?;
        print_created(created, &url, self.format)
    }

    fn body(&self) -> Result<Value, Failure> {
        let speed = speed_of(&self.speed);
        let mut body = json!({
            "name": self.name, "start": self.start, "from": self.from, "speed": speed, "markets": self.markets,
            "overnight": self.overnight,
            "skip": self.skip.as_str(),
            "limits": if self.limits == LimitsName::None { "none" } else { "owner" },
            "auto": self.auto.map(|quiet_ms| json!({"quiet_ms": quiet_ms})),
            "pause_when_alone": self.pause_when_alone == Switch::On,
        });
        let Value::Object(fields) = &mut body else { return Err(anyhow!("no body").into()) };
        if let Some(end) = &self.end {
            fields.insert("end".to_owned(), end.clone().into());
        }
        if !self.cash.is_empty() {
            fields.insert("cash".to_owned(), cash_of(&self.cash)?);
        }
        fields.extend(self.paper.fields()?);
        Ok(body)
    }
}

impl Start {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        if let Client::Local(_) = client {
            return Err(usage("a world runs on a server: add --server URL, or use `world step`"));
        }
        let speed = self.speed.as_ref().map(|speed| speed_of(speed));
        let body = json!({"speed": speed, "stop_at": self.until});
        let path = format!("{}/run", path_of(&self.name)?);
        print(&client.post(&path, body).map_err(|error| client.refused(error))?, self.format)
    }
}

/// Parses a quiet time, such as `50ms` or `2s`.
fn quiet_ms(text: &str) -> Result<u32, String> {
    let wrong = || format!("{text:?} is not a time: write 50ms or 2s");
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1_000),
    };
    let number: u32 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

impl Fork {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        let url = url_of(self.url.as_deref(), &client)?;
        let mut body = json!({"name": self.new});
        if let (Some(at), Value::Object(fields)) = (&self.at, &mut body) {
            fields.insert("at".to_owned(), at.clone().into());
        }
        let path = format!("{}/fork", path_of(&self.name)?);
        let created = client.post(&path, body).map_err(|error| client.refused(error))?;
        print_created(created, &url, self.format)
    }
}

impl Token {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        let url = url_of(self.url.as_deref(), &client)?;
        let path = format!("{}/token", path_of(&self.name)?);
        let created = client.post(&path, json!({})).map_err(|error| client.refused(error))?;
        print_created(created, &url, self.format)
    }
}

impl Reset {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        let body = self.at.as_ref().map_or_else(|| json!({}), |at| json!({"at": at}));
        let path = format!("{}/reset", path_of(&self.name)?);
        print(&client.post(&path, body).map_err(|error| client.refused(error))?, self.format)
    }
}

/// Returns the address of the server for programs.
fn url_of(flag: Option<&str>, client: &Client) -> Result<Url, Failure> {
    match (flag, client) {
        (Some(url), _) => Url::parse(url),
        (None, Client::Remote(session)) => Ok(session.url.clone()),
        (None, Client::Local(_)) => Url::parse("http://127.0.0.1:8080"),
    }
}

/// Prints a new world and its environment variables.
fn print_created(created: Value, url: &Url, format: Format) -> Result<(), Failure> {
    let credentials = credentials_of(&created);
    if format == Format::Json {
        let environment = sdk::environment(url, &credentials).into_iter();
        let environment: Map<String, Value> = environment.map(|(name, value)| (name, value.into())).collect();
        let mut document = created;
        if let Value::Object(fields) = &mut document {
            fields.insert("environment".to_owned(), environment.into());
        }
        return Ok(output::json(&document)?);
    }
    let mut out = output::stdout();
    let world = field(&created, "world");
    let (name, start, end) = (text(world, "name"), text(world, "start"), text(world, "end"));
    writeln!(out, "# World {name} from {start} to {end}")?;
    write!(out, "{}", sdk::exports(url, &credentials))?;
    Ok(out.flush()?)
}

impl List {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let document = self.whose.client(Purpose::Watchlists, context)?.read("/v1/worlds", &[])?;
        if self.format == Format::Json {
            return Ok(output::json(&document)?);
        }
        let columns = ["name", "state", "now", "end", "speed", "step"].map(Column::Left);
        let row = |world: &Value| {
            ["name", "state", "now", "end", "speed", "step"].map(|name| text(world, name)).to_vec()
        };
        let worlds = output::table(&columns, rows(&document, "worlds").iter().map(row));
        shown::table(worlds.optional(&["step", "speed", "end"]), "no worlds")
    }
}

impl Named {
    fn run(
        &self,
        context: &CommandContext,
        ask: impl FnOnce(&Client, &str) -> Result<Value, Failure>,
    ) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        print(&ask(&client, &path_of(&self.name)?)?, self.format)
    }
}

impl Set {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        let body = json!({"start": self.start, "end": self.end});
        let path = format!("{}/set", path_of(&self.name)?);
        print(&client.post(&path, body).map_err(|error| client.refused(error))?, self.format)
    }
}

impl Step {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        let body = match (&self.to, &self.by) {
            (Some(to), _) => json!({"to": to}),
            (None, Some(by)) => json!({"by": by}),
            (None, None) => json!({}),
        };
        let path = format!("{}/step", path_of(&self.name)?);
        let stepped = client.post(&path, body).map_err(|error| client.refused(error))?;
        print(&stepped, self.format)
    }
}

/// Prints the fields of a document, one per line.
fn print(document: &Value, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(document)?);
    }
    let mut out = output::stdout();
    for (name, value) in document.as_object().into_iter().flatten() {
        let shown = match value {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            Value::Object(parts) => parts
                .keys()
                .map(|name| format!("{name} {}", text(value, name)))
                .collect::<Vec<_>>()
                .join(", "),
            Value::Null => continue,
            _ => text(document, name),
        };
        writeln!(out, "{:<18}{shown}", name.replace('_', " "))?;
    }
    Ok(out.flush()?)
}
