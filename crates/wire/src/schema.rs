//! JSON schemas of message fields, for the description of their HTTP form.

use schemars::{Schema, SchemaGenerator, json_schema};

use crate::quote::Period;

/// The numbers of periods.
pub(crate) fn period(_: &mut SchemaGenerator) -> Schema {
    let last = Period::Year as i32;
    let known = |number: &i32| Period::try_from(*number).is_ok_and(|period| period != Period::Unknown);
    let numbers: Vec<i32> = (0..=last).filter(known).collect();
    json_schema!({"type": "integer", "format": "int32", "enum": numbers})
}
