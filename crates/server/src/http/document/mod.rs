//! `GET /openapi.json`: what there is to ask for, for programs that make clients of it. It is made of the rows and of what stands beside them,
//! once, when somebody first asks.

mod assemble;
mod frame;

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::Value;

use super::routes;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag};
use crate::kit::{Answer, Asks, Call, Problem, Row, Site, envelope};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[Row::get("/openapi.json", Asks::Anyone, Task::Other, show).doc(&DOC)];

const DOC: Doc = Doc::new(Tag::Service, "openapi", "This document")
    .answers(&[AnswerDoc::ok("OpenAPI 3.1", &[Media::json::<serde_json::Map<String, Value>>()])]);

/// What is still described by hand.
const REST: &str = include_str!("../openapi.json");

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let rows = routes::GROUPS.into_iter().flatten();
    let mut document = assemble::document(rows);
    add(serde_json::from_str(REST).unwrap_or_default(), &mut document);
    Bytes::from(document.to_string())
});

/// Adds what is not there yet.
fn add(rest: Value, document: &mut Value) {
    match (rest, document) {
        (Value::Object(rest), Value::Object(document)) => {
            for (name, value) in rest {
                add(value, document.entry(name).or_insert(Value::Null));
            }
        }
        (rest, document) if document.is_null() => *document = rest,
        _ => {}
    }
}

/// The description of everything over HTTP, as `GET /openapi.json` has it.
pub fn openapi() -> &'static [u8] {
    &DOCUMENT
}

fn show(_: &Call<'_>, _: &Site) -> Result<Answer, Problem> {
    Ok(envelope::json(200, DOCUMENT.clone()))
}

#[cfg(test)]
mod tests;
