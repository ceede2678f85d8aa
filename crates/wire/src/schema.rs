//! JSON schemas of message fields, for the OpenAPI document.

use schemars::{Schema, SchemaGenerator, json_schema};

use crate::quote::Period;

/// Returns the JSON schema of a period: an integer that must be a known period number.
pub(crate) fn period(_: &mut SchemaGenerator) -> Schema {
    let last = Period::Year as i32;
    let known = |number: &i32| Period::try_from(*number).is_ok_and(|period| period != Period::Unknown);
    let numbers: Vec<i32> = (0..=last).filter(known).collect();
    json_schema!({"type": "integer", "format": "int32", "enum": numbers})
}
