//! `chandler man` and `chandler completions`: generate manual pages and shell completions from the
//! command tree.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::failure::{EXIT_CODES, Failure, usage};
use crate::output;
use crate::remote::session::TOKEN_VARIABLE;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Command whose page is printed, such as `account create` [default: chandler itself]
    #[arg(conflicts_with = "dir")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder: chandler.1, chandler-kline.1, …
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, command: Command) -> Result<(), Failure> {
    // The `help` subcommand duplicates the whole command tree and needs no manual page.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    if let Some(directory) = &arguments.dir {
        std::fs::create_dir_all(directory)
            .and_then(|()| write_all(&command, directory))
            .map_err(|error| usage(format!("cannot write into {}: {error}", directory.display())))?;
        return Ok(());
    }
    let (_, page) = page(named(&command, &arguments.command)?)?;
    let mut out = output::stdout();
    out.write_all(&page)?;
    Ok(out.flush()?)
}

/// Finds a command by its path of subcommand names. Returns an error if there is no such command.
fn named<'a>(command: &'a Command, path: &[String]) -> Result<&'a Command, Failure> {
    let mut found = command;
    for name in path {
        found = found.find_subcommand(name).ok_or_else(|| {
            usage(format!("there is no command {:?}: `chandler --help` lists them", path.join(" ")))
        })?;
    }
    Ok(found)
}

fn write_all(command: &Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_all(below, directory)?;
    }
    let (name, page) = page(command)?;
    std::fs::write(directory.join(name), page)
}

/// Returns the file name of a manual page and its content.
fn page(command: &Command) -> io::Result<(String, Vec<u8>)> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    environment(command).to_writer(&mut page)?;
    exit_status().to_writer(&mut page)?;
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    Ok((man.get_filename(), page))
}

/// Environment variables that have no corresponding flag.
const OF_COLOURS: [(&str, &str); 3] = [
    ("NO_COLOR", "Disables colours, unless it is empty."),
    ("CLICOLOR_FORCE", "Enables colours even in a pipe, unless it is empty or 0."),
    ("TERM", "The value dumb disables colours and progress bars."),
];
const OF_SERVERS: (&str, &str) =
    (TOKEN_VARIABLE, "Access token for requests to a server, instead of that of a login.");

fn environment(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["ENVIRONMENT"]);
    let mut entry = |name: &str, words: String| {
        roff.control("TP", []).text([bold(name)]).text([roman(words)]);
    };
    let arguments: Vec<&Arg> = command.get_arguments().filter(|argument| !argument.is_hide_set()).collect();
    for argument in &arguments {
        let (Some(variable), Some(long)) = (argument.get_env(), argument.get_long()) else { continue };
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        entry(&variable.to_string_lossy(), format!("{help}. The flag --{long} takes precedence."));
    }
    // Commands with this flag send a token. The exceptions are `login`, which creates the token,
    // and `logout`, which revokes it.
    let asks = arguments.iter().any(|argument| argument.get_long() == Some("insecure-http"));
    if asks && !["login", "logout"].contains(&command.get_name()) {
        entry(OF_SERVERS.0, OF_SERVERS.1.to_owned());
    }
    OF_COLOURS.iter().for_each(|(name, words)| entry(name, (*words).to_owned()));
    roff
}

fn exit_status() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, words) in EXIT_CODES {
        roff.control("TP", []).text([bold(code.to_string())]).text([roman(words)]);
    }
    roff
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Shell to generate the script for
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(arguments: &Completions, mut command: clap::Command) -> Result<(), Failure> {
    // The script is written to memory first, because the generator panics if a write fails, for
    // example on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "chandler", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
