//! `POST /v1/uploads/{upload}/dry-run`: the expected result of an import.

use schemars::JsonSchema;
use serde::Serialize;

use super::document::FileReport;
use super::file::{CONFLICT, UPLOAD, find};
use super::options::{self, ImportOptions};
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const DRY_RUN: Doc =
    Doc::new(Tag::Admin, "dryRun", "What a file would bring: nothing is imported")
        .about(
            "Reads the whole file as an import with the same options would, and says what was understood of it, what of that is only a \
             guess, the first rows as they would be stored, and which rows would be refused.",
        )
        .parameters(&[UPLOAD])
        .body(&[Media::json::<ImportOptions>()])
        .answers(&[AnswerDoc::ok("What it would do", &[data::<DryRun>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT, TOO_FAST]);

/// The expected result of an import.
#[derive(Debug, Serialize, JsonSchema)]
struct DryRun {
    upload: String,
    /// One report, or one per file of an archive.
    files: Vec<FileReport>,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let upload = find(call, site)?;
    let core = &site.core;
    let reports = core.intake.check(&upload, &options::of_request(call, core.floors)?)?;
    let files = reports.iter().map(|report| FileReport::of(report, core.history.venues())).collect();
    Ok(envelope::success(DryRun { upload: upload.id.to_string(), files }))
}
