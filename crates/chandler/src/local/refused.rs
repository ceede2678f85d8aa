//! Paper account errors as messages for the user.

use anyhow::anyhow;
use paper::{PaperError, Reason};

use crate::failure::Failure;
use crate::field_flags::in_flags;

/// Converts an error. The message includes the failed check with its numbers.
pub(crate) fn to_failure(error: PaperError) -> Failure {
    match error {
        PaperError::Refused(refusal) => anyhow!(in_flags(&Reason::of(&refusal).words)).into(),
        error => error.into(),
    }
}
