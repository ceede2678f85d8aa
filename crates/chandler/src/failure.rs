//! How a command fails: one line on stderr and an exit code.

use std::fmt;
use std::process::ExitCode;

use crate::output;

/// Every exit code and its meaning; the manual lists them too.
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

/// A usage error, which the caller can correct (exit 2), or a failure of data or environment (exit
/// 1).
#[derive(Debug)]
pub(crate) enum Failure {
    Usage(String),
    Data(anyhow::Error),
    /// Stopped by the user.
    Interrupted(String),
    /// Already reported; only the exit code remains.
    Reported,
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            // `chandler export … | head` ends quietly when the reader closes the pipe.
            failure if failure.is_reader_gone() => DONE,
            Failure::Usage(_) => WRITTEN_WRONGLY,
            Failure::Data(_) | Failure::Reported => STOOD_IN_THE_WAY,
            Failure::Interrupted(_) => STOPPED,
        })
    }

    /// Whether the only failure is that stdout was closed.
    fn is_reader_gone(&self) -> bool {
        matches!(self, Failure::Data(error) if output::is_reader_gone(error))
    }
}

/// The verdict of a report after it was printed: `chandler check | head -1` fails if `chandler
/// check` does. A failure to print for another reason than a closed pipe is returned instead.
pub(crate) fn found(report: Result<(), Failure>, verdict: Result<(), Failure>) -> Result<(), Failure> {
    match report {
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
                // Causes are joined into one line without duplicates: an outer message often quotes
                // its source.
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

/// A usage error with this message.
pub(crate) fn usage(text: impl fmt::Display) -> Failure {
    Failure::Usage(text.to_string())
}
