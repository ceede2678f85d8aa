//! Parameters of UDF requests. Unknown ones are ignored.

use crate::kit::Call;
pub(super) use crate::kit::fields::echo;
use crate::refusal::Refusal;

/// A required parameter.
pub(super) fn required(call: &Call<'_>, name: &str) -> Result<String, Refusal> {
    let found = call.parameter_of(name).filter(|text| !text.is_empty());
    found.ok_or_else(|| Refusal::Malformed(format!("{name} is missing")))
}

/// An integer, if present.
pub(super) fn number(call: &Call<'_>, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(text) = call.parameter_of(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || Refusal::Malformed(format!("{name} {:?} is not a whole number", echo(&text)));
    text.parse().map(Some).map_err(|_| wrong())
}
