//! `chandler config`: which settings are in effect, where each comes from, and whether a file is one.

use std::io::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

use super::serve;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, Column};
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show every setting of `chandler serve` as it would hold now, and where it comes from
    Show(Box<Show>),
    /// Check a configuration file without using it
    Check(Check),
}

#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    serve: serve::Arguments,
    /// TOML is a configuration file again
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

/// Every key of the file, and the argument of `serve` that sets it. A test holds the list to the structs and to the
/// arguments, so that none is forgotten.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("server.listen", "listen"),
    ("server.tcp", "tcp"),
    ("server.connections_max", "connections_max"),
    ("server.cache_mb", "cache_mb"),
    ("server.regional", "regional"),
    ("server.public_url", "public_url"),
    ("server.trusted_proxies", "trusted_proxy"),
    ("server.internal", "internal"),
    ("server.tls_cert", "tls_cert"),
    ("server.tls_key", "tls_key"),
    ("server.floors", "floors"),
    ("server.pkce", "pkce"),
    ("limits.calls_per_second", "calls_per_second"),
    ("limits.calls_at_once", "calls_at_once"),
    ("limits.refusals_per_second", "refusals_per_second"),
    ("limits.unsent_mb", "unsent_mb"),
    ("limits.unproven_connections", "unproven_connections"),
    ("limits.threads", "threads"),
    ("log.filter", "log"),
    ("log.format", "log_format"),
    ("log.requests", "log_requests"),
];

/// One setting as it holds.
#[derive(Debug)]
struct Setting {
    key: String,
    value: Value,
    from: Origin,
}

/// Where a value comes from, the strongest first.
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
    surroundings: &Surroundings,
) -> Result<(), Failure> {
    match &arguments.action {
        Action::Show(show) => show.run(matches, surroundings),
        Action::Check(check) => check.run(),
    }
}

impl Show {
    fn run(&self, matches: &ArgMatches, surroundings: &Surroundings) -> Result<(), Failure> {
        let config = self.serve.config()?;
        let file = self.serve.config_file();
        let in_file = match file {
            Some(path) => Config::keys_of(path)?,
            None => Vec::new(),
        };
        let from = |key: &str| {
            let path = file.map(|path| path.display().to_string()).unwrap_or_default();
            given(matches, argument_of(key)).unwrap_or_else(|| {
                if in_file.iter().any(|known| known == key) { Origin::File(path) } else { Origin::Default }
            })
        };
        let values = flattened(&config);
        let settings: Vec<Setting> =
            values.into_iter().map(|(key, value)| Setting { from: from(&key), key, value }).collect();
        let store = Setting {
            key: "store".to_owned(),
            value: surroundings
                .directory()
                .map_or(Value::Null, |path| format!("sqlite:{}", path.display()).into()),
            from: surroundings_from(matches, "store"),
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
                writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
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
            1 => writeln!(out, "{shown}: good, sets 1 of {} keys", KEYS.len())?,
            some => writeln!(out, "{shown}: good, sets {some} of {} keys", KEYS.len())?,
        }
        Ok(out.flush()?)
    }
}

fn argument_of(key: &str) -> &'static str {
    KEYS.iter().find(|(known, _)| *known == key).map_or("", |(_, argument)| argument)
}

/// The flag or the variable that gave a value, if one did.
fn given(matches: &ArgMatches, argument: &str) -> Option<Origin> {
    matches.try_contains_id(argument).ok()?;
    let command = clap::Command::new("serve");
    let command = <serve::Arguments as Args>::augment_args(command);
    let found = command.get_arguments().find(|known| known.get_id() == argument);
    let named = |of: Option<String>| of.unwrap_or_else(|| argument.to_owned());
    match matches.value_source(argument)? {
        ValueSource::CommandLine => {
            let long = found.and_then(|found| found.get_long()).map(|long| format!("--{long}"));
            Some(Origin::Flag(named(long)))
        }
        ValueSource::EnvVariable => {
            let variable =
                found.and_then(|found| found.get_env()).map(|name| name.to_string_lossy().into_owned());
            Some(Origin::Environment(named(variable)))
        }
        _ => None,
    }
}

/// Where one of the flags of every command comes from.
fn surroundings_from(matches: &ArgMatches, argument: &str) -> Origin {
    let is_known = matches.try_contains_id(argument).is_ok();
    match matches.value_source(argument).filter(|_| is_known) {
        Some(ValueSource::CommandLine) => Origin::Flag(format!("--{argument}")),
        Some(ValueSource::EnvVariable) => {
            Origin::Environment(format!("CHANDLER_{}", argument.to_ascii_uppercase()))
        }
        _ => Origin::Default,
    }
}

/// Every key with its value, in the order of the file.
pub(crate) fn flattened(config: &Config) -> Vec<(String, Value)> {
    let Ok(Value::Object(tables)) = serde_json::to_value(config) else { return Vec::new() };
    let keys = |(table, values): (String, Value)| {
        let values = match values {
            Value::Object(values) => values,
            _ => Map::new(),
        };
        values.into_iter().map(move |(key, value)| (format!("{table}.{key}"), value))
    };
    let mut all: Vec<(String, Value)> = tables.into_iter().flat_map(keys).collect();
    let place = |key: &str| KEYS.iter().position(|(known, _)| *known == key).unwrap_or(usize::MAX);
    all.sort_by_key(|(key, _)| place(key));
    all
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// A configuration file that says what holds now; where it comes from stands in comments.
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
        // What is not set is empty text in the file.
        let value = match value {
            Value::Null => toml::Value::String(String::new()),
            value => toml::Value::try_from(value)?,
        };
        writeln!(out, "{name} = {value}  # {}", output::printable(&from.words()))?;
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_file_is_listed_with_the_argument_that_sets_it() {
        let keys: Vec<String> = flattened(&Config::default()).into_iter().map(|(key, _)| key).collect();
        let listed: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, listed, "a key more or less in config.rs is one in KEYS");
        let command = <serve::Arguments as Args>::augment_args(clap::Command::new("serve"));
        for (key, argument) in KEYS {
            let found = command.get_arguments().find(|known| known.get_id() == argument);
            let found = found.unwrap_or_else(|| panic!("{key}: serve has no argument {argument}"));
            assert!(found.get_long().is_some() && found.get_env().is_some(), "{key} has no flag or variable");
        }
        let others: Vec<&str> = command
            .get_arguments()
            .map(|known| known.get_id().as_str())
            .filter(|id| *id != "config" && !KEYS.iter().any(|(_, argument)| argument == id))
            .collect();
        assert!(others.is_empty(), "{others:?} can be set by a flag, but not in the file");
    }
}
