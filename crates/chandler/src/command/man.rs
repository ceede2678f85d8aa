//! `chandler man`: the manual, made from the arguments themselves, a page a command.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;

use crate::failure::{Failure, usage};
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The command whose page is printed, as `account create` [default: chandler itself]
    #[arg(conflicts_with = "dir")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder: chandler.1, chandler-kline.1, …
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, command: clap::Command) -> Result<(), Failure> {
    if let Some(directory) = &arguments.dir {
        std::fs::create_dir_all(directory)
            .and_then(|()| clap_mangen::generate_to(command, directory))
            .map_err(|error| usage(format!("cannot write into {}: {error}", directory.display())))?;
        return Ok(());
    }
    let mut page = Vec::new();
    Man::new(named(command, &arguments.command)?).render(&mut page)?;
    let mut out = output::stdout();
    out.write_all(&page)?;
    Ok(out.flush()?)
}

/// The command under a name; its page has the whole of it.
fn named(command: clap::Command, path: &[String]) -> Result<clap::Command, Failure> {
    // The help command is a copy of everything below it, and needs no page.
    let mut found = command.disable_help_subcommand(true);
    found.build();
    for name in path {
        let below = found.find_subcommand(name).cloned();
        found = below.ok_or_else(|| {
            usage(format!("there is no command {:?}: `chandler --help` lists them", path.join(" ")))
        })?;
    }
    Ok(found)
}
