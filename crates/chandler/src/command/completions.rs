//! `chandler completions`: shell completions for commands, flags and their values.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Shell to generate the script for
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, mut command: clap::Command) -> Result<(), Failure> {
    // Written to memory first, because the generator panics if a write fails, as on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "chandler", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
