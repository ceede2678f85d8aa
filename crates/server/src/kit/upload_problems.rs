//! Refusals for files that cannot be uploaded or imported.

use super::envelope::Problem;
use crate::intake::IntakeError;
use crate::refusal::Refusal;

/// `Retry-After` for an upload, in seconds.
const RETRY_AFTER_S: i64 = 5;

impl From<IntakeError> for Problem {
    fn from(error: IntakeError) -> Problem {
        let text = error.to_string();
        match error {
            IntakeError::Name | IntakeError::Empty => Refusal::BadQuery(text).into(),
            IntakeError::TooLarge { .. } => Problem::file_too_large(text),
            IntakeError::TooManyAtOnce | IntakeError::Looking => Problem::too_often(&text, RETRY_AFTER_S),
            IntakeError::TooMany | IntakeError::Running { .. } | IntakeError::StoreBusy => {
                Problem::conflict(text)
            }
            IntakeError::DiskFull => Problem::disk_full(text),
            IntakeError::Unknown => Problem::nothing_there(&text),
            IntakeError::Stopping => Refusal::Busy.into(),
            error @ (IntakeError::Io(_) | IntakeError::Store(_) | IntakeError::Unexpected) => {
                tracing::error!(%error, "cannot keep or import an upload");
                Problem::internal()
            }
        }
    }
}
