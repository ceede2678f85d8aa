//! Server settings from flags and environment variables. The flags are generated from the table of
//! keys.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value;

use super::{Config, KEYS, Key};
use crate::failure::{Failure, usage};

/// Settings from flags and variables, and the path of the configuration file that they override.
#[derive(Debug)]
pub(crate) struct Arguments {
    file: Option<PathBuf>,
    given: Vec<GivenSetting>,
}

/// A setting with its source. Values are stored as text, so that errors can name the flag or
/// variable and `chandler doctor` can report them.
#[derive(Debug)]
struct GivenSetting {
    key: &'static Key,
    by: SettingSource,
    texts: Vec<String>,
}

/// Source of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingSource {
    /// Flag name, such as `--listen`.
    Flag(String),
    /// Variable name, such as `CHANDLER_LISTEN`.
    Variable(&'static str),
}

/// Value parser that accepts any text. The possible values are only shown in the help and in
/// completions.
#[derive(Clone, Copy, Debug)]
struct Text(&'static [&'static str]);

impl TypedValueParser for Text {
    type Value = String;

    fn parse_ref(&self, _: &Command, _: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        Ok(value.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = self.0.iter().map(PossibleValue::new);
        (!self.0.is_empty()).then(|| Box::new(values) as Box<dyn Iterator<Item = PossibleValue>>)
    }
}

const FILE: &str = "config";

impl Args for Arguments {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(FILE)
            .long(FILE)
            .env("CHANDLER_CONFIG")
            .value_name("FILE")
            .value_parser(OsStringValueParser::new().map(PathBuf::from))
            .help("A configuration file; docs/chandler.toml lists its keys");
        let defaults = Config::default().values();
        let own = defaults.into_iter().filter(|(key, _)| !key.is_everywhere);
        command.args(own.map(|(key, default)| argument(key, &default))).arg(file)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Arguments::augment_args(command)
    }
}

fn argument(key: &Key, default: &Value) -> Arg {
    let help = match default {
        Value::String(text) if !text.is_empty() => format!("{} [default: {text}]", key.help),
        Value::Number(_) | Value::Bool(_) => format!("{} [default: {default}]", key.help),
        _ => key.help.to_owned(),
    };
    let argument = Arg::new(key.flag)
        .long(key.flag)
        .env(key.variable)
        .value_name(key.value)
        .value_parser(Text(key.choices))
        .help(help);
    match default {
        // The flag alone turns it on.
        Value::Bool(false) => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ if key.is_list => argument.action(ArgAction::Append).value_delimiter(','),
        _ => argument,
    }
}

impl FromArgMatches for Arguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Arguments, clap::Error> {
        let given = KEYS.iter().filter_map(|key| {
            // Global flags are undefined if only the flags from this table are parsed, as in tests.
            let texts = matches.try_get_many(key.flag).ok()??.cloned().collect();
            let by = match matches.value_source(key.flag)? {
                ValueSource::EnvVariable => SettingSource::Variable(key.variable),
                _ => SettingSource::Flag(format!("--{}", key.flag)),
            };
            Some(GivenSetting { key, by, texts })
        });
        Ok(Arguments { file: matches.get_one(FILE).cloned(), given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Arguments::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Arguments {
    /// Returns the path of the configuration file, or `None` if none was given.
    pub(crate) fn config_file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the flag or variable that sets a key, or `None` if neither does.
    pub(crate) fn source_of(&self, key: &Key) -> Option<&SettingSource> {
        self.given.iter().find(|given| given.key.flag == key.flag).map(|given| &given.by)
    }

    /// Returns the validated server settings. Two settings for the same port are an error.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let config = self.laid()?;
        config.server.check_ports().map_err(usage)?;
        Ok(config)
    }

    /// Merges the defaults, the file, the environment and the flags, in increasing order of
    /// precedence. Does not check for two settings with the same port.
    pub(crate) fn laid(&self) -> Result<Config, Failure> {
        let mut config = self.config_file().map(Config::read_under).transpose()?.unwrap_or_default();
        for GivenSetting { key, by, texts } in &self.given {
            key.lay(&mut config, texts).map_err(|error| usage(format!("{} {error}", by.name())))?;
        }
        config.server.check().map_err(usage)?;
        Ok(config)
    }
}

impl SettingSource {
    pub(crate) fn name(&self) -> &str {
        match self {
            SettingSource::Flag(name) => name,
            SettingSource::Variable(name) => name,
        }
    }
}
