//! Command failures: one line on stderr and an exit code.

use std::fmt;
use std::process::ExitCode;

use access::AccessError;

use crate::output;

/// All exit codes with their meanings, which the manual also lists.
pub(crate) const EXIT_CODES: [(u8, &str); 4] = [
    (DONE, "Success."),
    (STOOD_IN_THE_WAY, "A failure of the data or the environment, or a check that found a problem."),
    (WRITTEN_WRONGLY, "A usage error."),
    (STOPPED, "Stopped by a signal before completion."),
];
const DONE: u8 = 0;
const STOOD_IN_THE_WAY: u8 = 1;
const WRITTEN_WRONGLY: u8 = 2;
/// Exit code for SIGINT, by shell convention.
pub(crate) const STOPPED: u8 = 130;

/// Error of a command. A usage error can be corrected by the caller (exit code 2); data errors are
/// problems with the data or the environment (exit code 1).
#[derive(Debug)]
pub(crate) enum Failure {
    Usage(String),
    Data(anyhow::Error),
    /// Stopped by the user.
    Interrupted(String),
    /// Already printed; only the exit code remains.
    Reported,
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            // `chandler export … | head` exits silently when the reader closes the pipe.
            failure if failure.is_reader_gone() => DONE,
            Failure::Usage(_) => WRITTEN_WRONGLY,
            Failure::Data(_) | Failure::Reported => STOOD_IN_THE_WAY,
            Failure::Interrupted(_) => STOPPED,
        })
    }

    /// Returns whether the error is only a closed stdout.
    fn is_reader_gone(&self) -> bool {
        matches!(self, Failure::Data(error) if output::is_reader_gone(error))
    }
}

/// Returns the verdict of a check after its report was printed, so that `chandler check | head -1`
/// fails if `chandler check` does. A print error other than a closed pipe is returned instead.
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
                // Causes are joined into one line without repetition, because an outer message
                // often quotes its source.
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

/// Creates a usage error.
pub(crate) fn usage(text: impl fmt::Display) -> Failure {
    Failure::Usage(text.to_string())
}

/// Converts errors that the user can correct into usage errors.
pub(crate) fn theirs(error: AccessError) -> Failure {
    match error {
        error @ (AccessError::Name { .. } | AccessError::Terms(_) | AccessError::Password(_)) => usage(error),
        error => error.into(),
    }
}
