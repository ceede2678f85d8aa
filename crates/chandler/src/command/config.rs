//! `chandler config`: shows the effective settings with their sources, and checks a configuration
//! file.

use std::io::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::config::arguments::{Arguments as ServeArguments, SettingSource};
use crate::config::{Config, KEYS, Key};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the effective value of every setting of `chandler serve`, and where it comes from
    Show(Box<Show>),
    /// Check a configuration file without using it
    Check(Check),
}

#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    serve: ServeArguments,
    /// The output format; TOML is a valid configuration file
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Check {
    file: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: output::Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Table,
    Json,
    Toml,
}

/// One effective setting.
#[derive(Debug)]
struct Setting {
    key: String,
    value: Value,
    from: Origin,
}

/// Source of a setting's value, in order of precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    Flag(String),
    Environment(String),
    File(String),
    Default,
}

impl Origin {
    fn kind(&self) -> &'static str {
        match self {
            Origin::Flag(_) => "flag",
            Origin::Environment(_) => "environment",
            Origin::File(_) => "file",
            Origin::Default => "default",
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Origin::Flag(name) | Origin::Environment(name) | Origin::File(name) => Some(name),
            Origin::Default => None,
        }
    }

    fn words(&self) -> String {
        self.name().map_or_else(|| self.kind().to_owned(), |name| format!("{} {name}", self.kind()))
    }
}

pub(crate) fn run(
    arguments: &Arguments,
    matches: &ArgMatches,
    context: &CommandContext,
) -> Result<(), Failure> {
    match &arguments.action {
        Action::Show(show) => show.run(matches, context),
        Action::Check(check) => check.run(),
    }
}

impl Show {
    fn run(&self, matches: &ArgMatches, context: &CommandContext) -> Result<(), Failure> {
        let config = self.serve.config()?;
        let file = self.serve.config_file();
        let in_file = match file {
            Some(path) => Config::keys_of(path)?,
            None => Vec::new(),
        };
        let path = file.map(|path| path.display().to_string()).unwrap_or_default();
        let from = |key: &Key| match self.serve.source_of(key) {
            Some(SettingSource::Flag(name)) => Origin::Flag(name.clone()),
            Some(SettingSource::Variable(name)) => Origin::Environment((*name).to_owned()),
            None if in_file.contains(&key.to_string()) => Origin::File(path.clone()),
            None => Origin::Default,
        };
        let values = config.values().into_iter();
        let settings: Vec<Setting> =
            values.map(|(key, value)| Setting { from: from(key), key: key.to_string(), value }).collect();
        let store = Setting {
            key: "store".to_owned(),
            value: context.store_word().map_or(Value::Null, Value::from),
            from: context_from(matches, "store"),
        };
        match self.format {
            Format::Toml => toml(&settings),
            Format::Json => {
                let file = file.map(|path| path.display().to_string());
                let settings: Vec<Value> = settings.iter().map(Setting::json).collect();
                Ok(output::json(&json!({"file": file, "store": store.json(), "settings": settings}))?)
            }
            Format::Table => {
                let columns = ["setting", "value", "from"].map(Column::Left);
                let rows = settings.iter().chain([&store]);
                let rows = rows.map(|one| vec![one.key.clone(), text(&one.value), one.from.words()]);
                let mut out = output::stdout();
                writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
                Ok(out.flush()?)
            }
        }
    }
}

impl Setting {
    fn json(&self) -> Value {
        json!({"key": self.key, "value": self.value, "source": self.from.kind(), "from": self.from.name()})
    }
}

impl Check {
    fn run(&self) -> Result<(), Failure> {
        let config = Config::read(&self.file)?;
        config.server.check_tls().map_err(|error| anyhow!("{}: {error}", self.file.display()))?;
        let keys = Config::keys_of(&self.file)?;
        let shown = self.file.display().to_string();
        if self.format == output::Format::Json {
            return Ok(output::json(&json!({"file": shown, "keys": keys}))?);
        }
        let mut out = output::stdout();
        match keys.len() {
            1 => writeln!(out, "{shown}: valid, sets 1 of {} keys", KEYS.len())?,
            some => writeln!(out, "{shown}: valid, sets {some} of {} keys", KEYS.len())?,
        }
        Ok(out.flush()?)
    }
}

/// Returns the source of a global flag's value.
fn context_from(matches: &ArgMatches, argument: &str) -> Origin {
    let is_known = matches.try_contains_id(argument).is_ok();
    match matches.value_source(argument).filter(|_| is_known) {
        Some(ValueSource::CommandLine) => Origin::Flag(format!("--{argument}")),
        Some(ValueSource::EnvVariable) => {
            Origin::Environment(format!("CHANDLER_{}", argument.to_ascii_uppercase()))
        }
        _ => Origin::Default,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Prints the effective settings as a configuration file, with each setting's source in a comment.
fn toml(settings: &[Setting]) -> Result<(), Failure> {
    let mut out = output::stdout();
    let mut table = "";
    for Setting { key, value, from } in settings {
        let (of, name) = key.split_once('.').unwrap_or(("", key));
        if of != table {
            let before = if table.is_empty() { "" } else { "\n" };
            writeln!(out, "{before}[{of}]")?;
            table = of;
        }
        // An unset value is an empty string in the file.
        let value = match value {
            Value::Null => toml::Value::String(String::new()),
            value => toml::Value::try_from(value)?,
        };
        writeln!(out, "{name} = {value}  # {}", output::printable(&from.words()))?;
    }
    Ok(out.flush()?)
}
