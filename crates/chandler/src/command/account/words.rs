//! Messages of all account commands: an unknown account, an invalid value, the result.

use std::io::Write;

use access::{Access, AccessError, Account};
use anyhow::anyhow;
use serde_json::Value;

use crate::failure::{Failure, usage};
use crate::output::{self, Format};

pub(crate) fn named(access: &Access, name: &str) -> Result<Account, Failure> {
    let found = access.account_called(name)?;
    found.ok_or_else(|| anyhow!("there is no account {name:?}: `chandler account list` shows them").into())
}

/// Turns errors that the user can correct into usage errors.
pub(super) fn theirs(error: AccessError) -> Failure {
    match error {
        error @ (AccessError::Name { .. } | AccessError::Terms(_) | AccessError::Password(_)) => usage(error),
        error => error.into(),
    }
}

/// Reports the result: one line of text, or a JSON document.
pub(super) fn say(format: Format, text: &str, document: Value) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(&document)?);
    }
    let mut out = output::stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
