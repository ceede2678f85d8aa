//! How a command ends when it does not end well: one line on stderr, and an exit code that says whose turn it is.

use std::fmt;
use std::process::ExitCode;

/// Usage is the caller's to mend (exit 2), data and surroundings are the rest (exit 1).
#[derive(Debug)]
pub(crate) enum Failure {
    Usage(String),
    Data(anyhow::Error),
    /// Stopped by the user; the shell's convention for SIGINT.
    Interrupted(String),
    /// Reported already, only the exit code is left to give.
    Reported,
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Data(_) | Failure::Reported => ExitCode::from(1),
            Failure::Interrupted(_) => ExitCode::from(130),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Interrupted(text) => f.write_str(text),
            Failure::Data(error) => {
                // Causes are joined to one line, each once: an outer message often quotes its source already.
                let mut said = error.to_string();
                for cause in error.chain().skip(1).map(ToString::to_string) {
                    if !said.contains(&cause) {
                        said = format!("{said}: {cause}");
                    }
                }
                f.write_str(&said)
            }
            Failure::Reported => Ok(()),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Data(error.into())
    }
}

/// A usage failure, from anything that says what is wrong.
pub(crate) fn usage(text: impl fmt::Display) -> Failure {
    Failure::Usage(text.to_string())
}
