//! Confirmation before something is removed.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use crate::failure::{Failure, usage};

/// The longest answer that is read, in bytes.
const ANSWER_MAX: u64 = 100;

/// Returns `Ok` with `--yes`, or if the user at the terminal answers yes. Without either it is an
/// error.
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
