//! How a command ends when it does not end well: one line on stderr, and an exit code that says whose turn it is.

use std::fmt;
use std::process::ExitCode;

use crate::output;

/// Every exit code there is, and what it means; the manual has them too.
pub(crate) const EXIT_CODES: [(u8, &str); 4] = [
    (DONE, "It is done."),
    (
        STOOD_IN_THE_WAY,
        "The data or the surroundings stood in the way, or something was found that has to be mended.",
    ),
    (WRITTEN_WRONGLY, "The command was written wrongly."),
    (STOPPED, "It was stopped by a signal before it was done."),
];
const DONE: u8 = 0;
const STOOD_IN_THE_WAY: u8 = 1;
const WRITTEN_WRONGLY: u8 = 2;
/// The shell's convention for SIGINT.
pub(crate) const STOPPED: u8 = 130;

/// Usage is the caller's to mend (exit 2), data and surroundings are the rest (exit 1).
#[derive(Debug)]
pub(crate) enum Failure {
    Usage(String),
    Data(anyhow::Error),
    /// Stopped by the user.
    Interrupted(String),
    /// Reported already, only the exit code is left to give.
    Reported,
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            // `chandler export … | head` ends quietly: the reader has seen enough.
            failure if failure.is_reader_gone() => DONE,
            Failure::Usage(_) => WRITTEN_WRONGLY,
            Failure::Data(_) | Failure::Reported => STOOD_IN_THE_WAY,
            Failure::Interrupted(_) => STOPPED,
        })
    }

    /// Whether nothing failed but that nobody reads any more.
    fn is_reader_gone(&self) -> bool {
        matches!(self, Failure::Data(error) if output::is_reader_gone(error))
    }
}

/// What a report found, once it has been told: `chandler check | head -1` fails where `chandler check` does. What could not be told for
/// another reason than a reader who has left is a failure of its own.
pub(crate) fn found(told: Result<(), Failure>, verdict: Result<(), Failure>) -> Result<(), Failure> {
    match told {
        Err(failure) if !failure.is_reader_gone() => Err(failure),
        _ => verdict,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            failure if failure.is_reader_gone() => Ok(()),
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
