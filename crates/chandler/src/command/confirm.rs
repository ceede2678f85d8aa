//! Confirmation before data is removed.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use crate::failure::{Failure, usage};

/// Maximum length of an answer, in bytes.
const ANSWER_MAX: u64 = 100;

/// Returns `Ok` if `yes` is set or the user confirms at the terminal, otherwise an error.
pub(crate) fn confirm(yes: bool, question: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(usage("nothing was changed: pass --yes to confirm"));
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
