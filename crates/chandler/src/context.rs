//! State shared by all commands: the store, the clock and the calendars.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use history::{AsOf, History};
use market::{Calendar, Market, SessionTable, Symbol, Timestamp, Venue, Venues};
use store::{Access, Store, StoreError, StoreUrl};
use trading::Tables;

use crate::clock::{Clock, NoticePath};
use crate::failure::{Failure, usage};
use crate::{machine, suggest};

/// Help heading of the global options, which are listed after a command's own options.
const EVERYWHERE: &str = "Global options";

#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Store: sqlite:DIR, or postgres://USER@HOST/DATABASE; the password is read from PGPASSWORD or
    /// a file
    // The variable's value is not shown in the help, because it may contain a password.
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "CHANDLER_STORE", hide_env_values = true, value_name = "STORE")]
    store: Option<String>,
    /// With a store on PostgreSQL: key file that encrypts app secrets, the same on every machine
    // This is also a key in the server's configuration file: `config/arguments.rs` reads it by this
    // ID.
    #[arg(id = "key-file", long, global = true, help_heading = EVERYWHERE, env = "CHANDLER_KEY_FILE", value_name = "FILE")]
    key_file: Option<String>,
    /// Use this instant as the current time; with ",run" the clock starts there, with ",run@60" it
    /// advances a minute per second; `now` is the machine's time
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "CHANDLER_CLOCK", value_name = "INSTANT[,run[@SPEED]]")]
    clock: Option<Clock>,
    /// Folder with hk.csv, us.csv, cn.csv or sessions.csv to use instead of the built-in calendars;
    /// also ticks.csv, fees.csv, plan.csv, settlement.csv and interest.csv
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "CHANDLER_CALENDARS", value_name = "DIR")]
    calendars: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct CommandContext {
    pub(crate) clock: Clock,
    /// Whether the clock was set by a flag or a variable.
    pub(crate) is_clock_named: bool,
    pub(crate) history: History,
    /// Which flags were given on the command line rather than by the environment.
    pub(crate) named: NamedFlags,
    /// Location of the store. `None` if no store was given and there is no home folder for the
    /// default store; commands that need no store still work.
    store: Option<StoreUrl>,
    is_default: bool,
    /// Key file given by a flag or a variable.
    key: Option<PathBuf>,
    calendars: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NamedFlags {
    pub(crate) store: bool,
    pub(crate) server: bool,
}

impl NamedFlags {
    /// Reads the flags from the matches of the innermost subcommand, which include the global
    /// flags.
    pub(crate) fn of(matches: &ArgMatches) -> NamedFlags {
        let named = |id: &str| {
            let is_known = matches.try_contains_id(id).is_ok();
            is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
        };
        NamedFlags { store: named("store"), server: named("server") }
    }
}

impl CommandContext {
    pub(crate) fn of(flags: Flags, named: NamedFlags) -> Result<CommandContext, Failure> {
        let (store, is_default) = match flags.store {
            Some(text) => (Some(place(&text, "--store")?), false),
            None => (machine::data().map(|data| data.join("chandler").into()), true),
        };
        let venues = venues(flags.calendars.as_deref())?;
        Ok(CommandContext {
            clock: flags.clock.unwrap_or_default(),
            is_clock_named: flags.clock.is_some(),
            history: History::new(venues),
            named,
            store,
            is_default,
            key: named_file(flags.key_file),
            calendars: flags.calendars,
        })
    }

    /// Creates a copy of the context for another thread.
    pub(crate) fn again(&self) -> CommandContext {
        let history = History::new(self.history.venues().clone());
        let (store, key) = (self.store.clone(), self.key.clone());
        CommandContext { history, store, key, calendars: self.calendars.clone(), ..*self }
    }

    /// Clones the context with another clock, as if it had been given.
    pub(crate) fn under(&self, clock: Clock) -> CommandContext {
        CommandContext { clock, is_clock_named: true, ..self.again() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the current time and which stored data is visible to queries.
    pub(crate) fn as_of(&self) -> AsOf {
        self.clock.as_of()
    }

    pub(crate) fn url(&self) -> Result<&StoreUrl, Failure> {
        self.store.as_ref().ok_or_else(|| {
            usage(format!(
                "no store is given, and {} is not set, so there is no default: add --store sqlite:DIR, or set CHANDLER_STORE",
                machine::DATA
            ))
        })
    }

    /// Returns the store's directory. `None` if the store is on a database server or not given.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.store.as_ref().and_then(StoreUrl::path)
    }

    /// Returns the store in the syntax of `--store`.
    pub(crate) fn store_word(&self) -> Result<String, Failure> {
        Ok(store_word(self.url()?))
    }

    /// Returns the key file for a store on PostgreSQL. `None` for a directory, which contains its
    /// own key file.
    pub(crate) fn key_file(&self) -> Option<PathBuf> {
        self.key_file_of(self.store.as_ref()?)
    }

    /// Returns the key file for the store at `place`, like [`CommandContext::key_file`].
    pub(crate) fn key_file_of(&self, place: &StoreUrl) -> Option<PathBuf> {
        match place.path() {
            Some(_) => None,
            None => self.key.clone().or_else(|| machine::config().map(|config| config.join("chandler/key"))),
        }
    }

    /// Sets the key file from a configuration, unless a flag or a variable gives one.
    pub(crate) fn with_key_file(mut self, configured: &str) -> CommandContext {
        self.key = self.key.or_else(|| named_file(Some(configured.to_owned())));
        self
    }

    /// Returns the folder for files that belong to the store but are not part of it: the store's
    /// directory or, for a store on PostgreSQL, `cache` or the user's cache folder.
    pub(crate) fn work_folder(&self, cache: Option<&Path>) -> Result<PathBuf, Failure> {
        match (self.url()?.path(), cache) {
            (Some(directory), _) => Ok(directory.to_owned()),
            (None, Some(cache)) => Ok(cache.to_owned()),
            (None, None) => machine::cache().map(|cache| cache.join("chandler")).ok_or_else(|| {
                usage(format!(
                    "no folder for local files is given, and {} is not set: add --cache DIR",
                    machine::HOME
                ))
            }),
        }
    }

    /// Returns the path of the file that publishes the clock for the store's paper accounts. The
    /// file is local, so for a store on PostgreSQL it does not apply to nodes on other machines.
    pub(crate) fn clock_notice(&self) -> Result<NoticePath, Failure> {
        let of = self.directory().is_none().then(|| self.store_word()).transpose()?;
        Ok(NoticePath::new(&self.work_folder(None)?, of.as_deref()))
    }

    /// Uses a store with this name next to the default store, unless a store was given. The demo
    /// uses such a store, so that its securities are not mixed with real ones.
    pub(crate) fn beside_default(mut self, name: &str) -> CommandContext {
        if let Some(path) = self.directory().filter(|_| self.is_default) {
            self.store = Some(path.with_file_name(name).into());
            self.is_default = false;
        }
        self
    }

    /// Returns a command line to suggest, with `--store` unless the store is the default store.
    pub(crate) fn hint(&self, command: &str) -> String {
        match self.store.as_ref().filter(|_| !self.is_default) {
            Some(store) => format!("chandler --store {} {command}", shell_word(&store_word(store))),
            None => format!("chandler {command}"),
        }
    }

    /// Parses a symbol. The error explains the format and suggests stored symbols.
    pub(crate) fn symbol(&self, text: &str) -> Result<Symbol, Failure> {
        text.parse().or_else(|_| {
            let store = self.store.as_ref().and_then(suggest::store_for_hints);
            suggest::symbol(text, store.as_ref())
        })
    }

    /// Returns `; did you mean 700.HK?` for a symbol that is not stored. Empty if the symbol is
    /// stored or there are no similar symbols.
    pub(crate) fn symbol_hint(&self, symbol: &Symbol) -> String {
        let store = self.store.as_ref().and_then(suggest::store_for_hints);
        store.map(|store| suggest::for_unknown(symbol, &store)).unwrap_or_default()
    }

    /// Returns suggestions for a word that is not a valid symbol. Empty if there are none.
    pub(crate) fn word_hint(&self, word: &str) -> String {
        let store = self.store.as_ref().and_then(suggest::store_for_hints);
        store.map(|store| suggest::for_word(word, &store)).unwrap_or_default()
    }

    /// Loads the tables of ticks, fees, settlement days and interest. Files in the calendars folder
    /// override the built-in tables.
    pub(crate) fn tables(&self) -> Result<Tables, Failure> {
        let Some(directory) = &self.calendars else { return Ok(Tables::built_in()?) };
        let mut replaced: Vec<(&str, String)> = Vec::new();
        for (name, _) in trading::tables::BUILT_IN {
            let path = directory.join(name);
            match std::fs::read_to_string(&path) {
                Ok(text) => replaced.push((name, text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(anyhow::Error::new(error)
                        .context(format!("cannot read {}", path.display()))
                        .into());
                }
            }
        }
        let of = |name: &str| replaced.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
        Tables::with(of).with_context(|| directory.display().to_string()).map_err(Failure::from)
    }

    pub(crate) fn open(&self, access: Access) -> Result<Store, Failure> {
        Ok(Store::open(self.url()?, access)?)
    }

    /// Opens an existing store for writing. An older schema is migrated. Returns an error if there
    /// is no store.
    pub(crate) fn open_existing(&self) -> Result<Store, Failure> {
        match Store::open(self.url()?, Access::Read) {
            Ok(_) | Err(StoreError::Outdated { .. }) => self.open(Access::Write { now: self.now() }),
            Err(error) => Err(error.into()),
        }
    }
}

/// Commands that use no store, or that use their own store, as `demo` does.
const WITHOUT_STORE: [&str; 6] = ["login", "logout", "auth", "demo", "man", "completions"];

/// Adds `--store` to every command suggested in a message, if the flag was given to the current
/// command. A store from the environment also applies to the next command and needs no flag.
pub(crate) fn with_store(message: &str, matches: &ArgMatches) -> String {
    let named = NamedFlags::of(matches).store;
    let store = matches.try_get_one::<String>("store").ok().flatten().filter(|_| named);
    // The parsed store is used rather than the typed text, because a malformed address may contain
    // a password.
    match store.and_then(|store| place(store, "--store").ok()) {
        Some(store) => naming_store(message, &store_word(&store)),
        None => message.to_owned(),
    }
}

fn naming_store(message: &str, store: &str) -> String {
    const BEGINS: &str = "`chandler ";
    let mut parts = message.split(BEGINS);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let command = part.split('`').next().unwrap_or_default();
        let first = command.split(' ').next().unwrap_or_default();
        text.push_str(BEGINS);
        if !command.contains("--server") && !command.contains("--store") && !WITHOUT_STORE.contains(&first) {
            text.push_str(&format!("--store {} ", shell_word(store)));
        }
        text.push_str(part);
    }
    text
}

/// Quotes a word for a shell if it contains special characters.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+,=".contains(letter);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Parses a symbol, without suggestions.
pub(crate) fn symbol(text: &str) -> Result<Symbol, Failure> {
    text.parse().map_err(usage)
}

/// Parses a store from the command line or the environment. A directory requires the prefix
/// `sqlite:`, so that a mistyped address is not treated as a directory.
pub(crate) fn place(text: &str, flag: &str) -> Result<StoreUrl, Failure> {
    let wrong = || {
        // The part of an address after the first colon may contain a password.
        let shown = text.split_once(':').map_or(text, |(word, _)| word);
        usage(format!(
            "{shown:?} is not a store: write {flag} sqlite:DIR, or {flag} postgres://USER@HOST/DATABASE"
        ))
    };
    match text.split_once(':') {
        Some(("sqlite", directory)) if !directory.is_empty() => Ok(PathBuf::from(directory).into()),
        Some((word, _)) if word.to_ascii_lowercase().starts_with("postgres") => {
            text.parse().map_err(|error| usage(format!("{flag}: {error}")))
        }
        _ => Err(wrong()),
    }
}

/// Converts a non-empty string to a path. `None` if the string is empty.
fn named_file(text: Option<String>) -> Option<PathBuf> {
    text.filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// Formats a store in the syntax of `--store`.
pub(crate) fn store_word(place: &StoreUrl) -> String {
    match place.path() {
        Some(path) => format!("sqlite:{}", path.display()),
        None => place.to_string(),
    }
}

fn venues(directory: Option<&Path>) -> Result<Venues, Failure> {
    let Some(directory) = directory else { return Ok(Venues::built_in()?) };
    if !directory.is_dir() {
        return Err(usage(format!("--calendars {}: not a folder", directory.display())));
    }
    let text = |name: &str, built_in: &'static str| -> anyhow::Result<String> {
        let path = directory.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(built_in.to_owned()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    };
    let sessions = text("sessions.csv", Venue::built_in_sessions())?;
    let venue = |market: Market| -> anyhow::Result<Venue> {
        let name = format!("{}.csv", market.as_str().to_ascii_lowercase());
        let days = text(&name, Venue::built_in_calendar(market))?;
        let days = Calendar::parse(&days).with_context(|| directory.join(&name).display().to_string())?;
        let table = SessionTable::parse(&sessions, market)
            .with_context(|| directory.join("sessions.csv").display().to_string())?;
        Ok(Venue::new(market, days, table))
    };
    Ok(Venues::new(venue(Market::Hk)?, venue(Market::Us)?, venue(Market::Cn)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_commands_include_the_store() {
        let said = |text: &str| naming_store(text, "sqlite:own");
        assert_eq!(said("no commands here"), "no commands here");
        assert_eq!(
            said("there is no account: `chandler account create NAME` creates one"),
            "there is no account: `chandler --store sqlite:own account create NAME` creates one"
        );
        for same in
            ["run `chandler login`", "`chandler quota --server http://x` lists them", "`chandler` alone"]
        {
            assert_eq!(said(same), same);
        }
        assert_eq!(
            said("`chandler check`, then `chandler login`"),
            "`chandler --store sqlite:own check`, then `chandler login`"
        );
    }

    #[test]
    fn a_hint_includes_a_store_that_is_not_the_default() {
        let hint = |store: Option<&str>| {
            let flags =
                Flags { store: store.map(str::to_owned), key_file: None, clock: None, calendars: None };
            CommandContext::of(flags, NamedFlags::default()).unwrap().hint("import FILES")
        };
        assert_eq!(hint(None), "chandler import FILES");
        assert_eq!(hint(Some("sqlite:demo")), "chandler --store sqlite:demo import FILES");
        assert_eq!(hint(Some("sqlite:/a b/c'd")), r"chandler --store 'sqlite:/a b/c'\''d' import FILES");
    }
}
