//! `GET /openapi.json`: the description of the HTTP interface, for programs that generate clients. It is made from the rows and their
//! descriptions, once, at the first request.

mod assemble;
mod frame;

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::Value;

use super::routes;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag};
use crate::kit::{Answer, Audience, Call, Problem, Row, Site, envelope};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] =
    &[Row::open_get("/openapi.json", Audience::Anyone, Task::Other, show).doc(&DOC)];

const DOC: Doc = Doc::new(Tag::Service, "openapi", "This document")
    .answers(&[AnswerDoc::ok("OpenAPI 3.1", &[Media::json::<serde_json::Map<String, Value>>()])]);

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let rows = routes::GROUPS.into_iter().flatten();
    Bytes::from(assemble::document(rows).to_string())
});

/// The OpenAPI document, as `GET /openapi.json` returns it.
pub fn openapi() -> &'static [u8] {
    &DOCUMENT
}

fn show(_: &Call<'_>, _: &Site) -> Result<Answer, Problem> {
    Ok(envelope::json(200, DOCUMENT.clone()))
}

#[cfg(test)]
mod tests;
