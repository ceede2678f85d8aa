//! Asking before something is taken away.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use crate::failure::{Failure, usage};

/// The longest answer that is read.
const ANSWER_MAX: u64 = 100;

/// Whether to go on: said by `--yes`, or answered by whoever is at the terminal. Without either it is an error.
pub(crate) fn confirm(yes: bool, question: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(usage("nothing was changed: pass --yes to do it"));
    }
    let mut terminal = io::stderr();
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().lock().take(ANSWER_MAX).read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Interrupted("nothing was changed".to_owned())),
    }
}
