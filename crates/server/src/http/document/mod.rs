//! `GET /openapi.json`: the OpenAPI document for client generators, built from the route rows and
//! their documentation on the first request. `GET /v1/versions`: the API changelog.

mod assemble;
mod frame;

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::Value;

use super::routes;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Answer, Audience, Call, Problem, Row, Site, envelope};
use crate::metrics::Task;
use crate::versions::{self, InterfaceVersions};

pub(super) const ROUTES: &[Row] = &[
    Row::open_get("/openapi.json", Audience::Anyone, Task::Other, show).doc(&DOC),
    Row::open_get("/v1/versions", Audience::Anyone, Task::Other, show_versions).doc(&VERSIONS),
];

const DOC: Doc = Doc::new(Tag::Service, "openapi", "This document")
    .answers(&[AnswerDoc::ok("OpenAPI 3.1", &[Media::json::<serde_json::Map<String, Value>>()])]);

const VERSIONS: Doc = Doc::new(Tag::Service, "versions", "Changes of the API by date")
    .about(
        "An account that is pinned to a date gets responses as of that date; they carry the header \
     x-api-date.",
    )
    .answers(&[AnswerDoc::ok("All changes, newest first", &[data::<InterfaceVersions>()])]);

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let rows = routes::GROUPS.into_iter().flatten();
    Bytes::from(assemble::document(rows).to_string())
});

/// Returns the OpenAPI document that `GET /openapi.json` serves.
pub fn openapi() -> &'static [u8] {
    &DOCUMENT
}

fn show(_: &Call<'_>, _: &Site) -> Result<Answer, Problem> {
    Ok(envelope::json(200, DOCUMENT.clone()))
}

fn show_versions(_: &Call<'_>, _: &Site) -> Result<Answer, Problem> {
    Ok(envelope::success(versions::versions()))
}

#[cfg(test)]
mod tests;
