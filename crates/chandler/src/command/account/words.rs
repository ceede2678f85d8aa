//! Messages shared by all account commands: an unknown account, an invalid value, the result.

use std::io::Write;

use access::AccessError;
use serde_json::Value;

use crate::failure::{Failure, usage};
use crate::output::{self, Format};

/// Converts errors that the user can correct into usage errors.
pub(super) fn theirs(error: AccessError) -> Failure {
    match error {
        error @ (AccessError::Name { .. } | AccessError::Terms(_) | AccessError::Password(_)) => usage(error),
        error => error.into(),
    }
}

/// Prints the result as one line of text or as a JSON document.
pub(super) fn say(format: Format, text: &str, document: Value) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(&document)?);
    }
    let mut out = output::stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
