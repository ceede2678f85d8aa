//! String enumerations of answers and bodies, each derived from the type that defines its values.

use access::{Region, Right, Role};
use schemars::{Schema, SchemaGenerator};

use super::one_of;

pub(crate) fn role(_: &mut SchemaGenerator) -> Schema {
    one_of(&[Role::User, Role::Operator].map(Role::as_str))
}

pub(crate) fn region(_: &mut SchemaGenerator) -> Schema {
    one_of(&Region::ALL.map(Region::as_str))
}

pub(crate) fn package(_: &mut SchemaGenerator) -> Schema {
    one_of(&Right::ALL.map(Right::as_str))
}
