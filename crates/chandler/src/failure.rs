//! Command failures. A failure prints one line on stderr and determines the exit code.

use std::fmt;
use std::process::ExitCode;

use access::AccessError;

use crate::write_error;

/// All exit codes with their meanings, which the manual pages also list.
pub(crate) const EXIT_CODES: [(u8, &str); 5] = [
    (DONE, "Success."),
    (STOOD_IN_THE_WAY, "A failure of the data or the environment, or a check that found a problem."),
    (WRITTEN_WRONGLY, "A usage error."),
    (CHECK_FAILED, "A `--check` of `world run` failed; otherwise it has the exit code of its program."),
    (STOPPED, "Stopped by a signal before completion."),
];
const DONE: u8 = 0;
const STOOD_IN_THE_WAY: u8 = 1;
const WRITTEN_WRONGLY: u8 = 2;
/// Exit code of `world run` for a failed check.
pub(crate) const CHECK_FAILED: u8 = 3;
/// Exit code for SIGINT, by shell convention.
pub(crate) const STOPPED: u8 = 130;

/// Error of a command. A usage error can be corrected by the caller (exit code 2); a data error is
/// a problem with the data or the environment (exit code 1).
#[derive(Debug)]
pub(crate) enum Failure {
    Usage(String),
    Data(anyhow::Error),
    /// The user stopped the command.
    Interrupted(String),
    /// The error was already printed, and only the exit code is still to be returned.
    Reported,
    /// The error was already printed. The code is that of a failed check or of another program.
    Exit(u8),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            // When the reader closes the pipe, as in `chandler export … | head`, the command exits
            // silently.
            failure if failure.is_reader_gone() => DONE,
            Failure::Usage(_) => WRITTEN_WRONGLY,
            Failure::Data(_) | Failure::Reported => STOOD_IN_THE_WAY,
            Failure::Interrupted(_) => STOPPED,
            Failure::Exit(code) => *code,
        })
    }

    /// Returns whether the error was caused only by a closed stdout.
    fn is_reader_gone(&self) -> bool {
        matches!(self, Failure::Data(error) if write_error::is_reader_gone(error))
    }
}

/// Combines the result of printing a report with the verdict of the check. A closed pipe is
/// ignored, so that `chandler check | head -1` fails if the check fails; any other print error is
/// returned instead of the verdict.
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
                // The causes are joined into one line. A cause that an outer message already quotes
                // is omitted.
                let mut said = error.to_string();
                for cause in error.chain().skip(1).map(ToString::to_string) {
                    if !said.contains(&cause) {
                        said = format!("{said}: {cause}");
                    }
                }
                f.write_str(&said)
            }
            Failure::Reported | Failure::Exit(_) => Ok(()),
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

/// Converts an account error into a failure. Errors that the user can correct become usage errors.
pub(crate) fn theirs(error: AccessError) -> Failure {
    match error {
        error @ (AccessError::Name { .. } | AccessError::Terms(_) | AccessError::Password(_)) => usage(error),
        error => error.into(),
    }
}
