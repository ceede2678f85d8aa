//! `POST /v1/uploads/{upload}/import` and `/stop`: starts and stops an import. Only one import runs
//! at a time.

use access::{Actor, ImportStep};
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{FileReport, UploadDocument};
use super::file::{CONFLICT, UPLOAD, find};
use super::options::{self, ImportOptions};
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const START: Doc = Doc::new(Tag::Admin, "importUpload", "Begin to import a file")
    .about(
        "The answer comes at once; `GET /v1/uploads/{upload}` says how far it is and what became of it. While another import runs, also \
         one of the command line, it is refused with 409. A file that was stopped goes on behind its last checkpoint.",
    )
    .parameters(&[UPLOAD])
    .body(&[Media::json::<ImportOptions>()])
    .answers(&[AnswerDoc::ok("It has begun", &[data::<UploadDocument>()])])
    .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT]);

pub(super) const STOP: Doc =
    Doc::new(Tag::Admin, "stopImport", "Stop the import of a file at its next checkpoint")
        .parameters(&[UPLOAD])
        .answers(&[AnswerDoc::ok("It will stop, or has ended", &[data::<UploadDocument>()])])
        .refuses(&[NOT_FOUND]);

pub(super) fn start(call: &Call<'_>, site: &Site, by: Admitted) -> Result<Answer, Problem> {
    let (upload, core) = (find(call, site)?, &site.core);
    let run = core.intake.start(&upload, options::of_request(call, core.floors)?)?;
    let (actor, what) = (Actor::Account(by.account().id), format!("{}, {} bytes", upload.name, upload.bytes));
    if let Err(error) = core.access.note_import(ImportStep::Begun, &what, &actor, core.machine_now()) {
        // An import without an audit entry must not continue.
        run.stop();
        return Err(Problem::from_access(error));
    }
    tracing::info!(account = by.account().id.0, file = %upload.path.display(), "an import was begun");
    Ok(envelope::success(UploadDocument::of(&upload, &core.intake)))
}

pub(super) fn stop(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let upload = find(call, site)?;
    let intake = &site.core.intake;
    if let Some(run) = intake.run_of(&upload) {
        run.stop();
    }
    Ok(envelope::success(UploadDocument::of(&upload, intake)))
}

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
