//! `/v1/uploads`: receives, lists and removes uploaded files.

use super::document::{UploadDocument, UploadsDocument};
use crate::intake::Upload;
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND, RETRY_AFTER};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, RefusalDoc, Tag, data};
use crate::kit::envelope::{self, Empty};
use crate::kit::{Admitted, Answer, Call, Problem, Site, codes};

pub(super) const UPLOAD: Parameter = Parameter::path("upload", "Upload id from the response to the upload")
    .such_as("1794708000-9f86d081884c7d65");
pub(super) const CONFLICT: RefusalDoc = RefusalDoc::new("409", "Conflict", &[409]);
const TOO_LARGE: RefusalDoc = RefusalDoc::new("413", "FileTooLarge", &[413]);
const TOO_MANY_AT_ONCE: RefusalDoc =
    RefusalDoc::new("429", "TooManyAtOnce", &[codes::TOO_OFTEN]).headers(&[RETRY_AFTER]);
const DISK_FULL: RefusalDoc = RefusalDoc::new("507", "DiskFull", &[507]);

pub(super) const LIST: Doc = Doc::new(Tag::Admin, "uploads", "List uploaded files, oldest first")
    .answers(&[AnswerDoc::ok("The files", &[data::<UploadsDocument>()])]);

pub(super) const RECEIVE: Doc = Doc::new(Tag::Admin, "upload", "Upload a file for import")
    .about(
        "The body is the file itself, as sent by `curl --data-binary @AAPL.csv`. The file is stored for a \
         day and is not imported yet. A file that was uploaded before under the same name is not stored \
         again. Requires a token, or a browser session with its `x-csrf`; signed \
         requests are refused, because a signature would cover the body.",
    )
    .parameters(&[Parameter::query(
        "name",
        Kind::Text,
        "File name, which may be used to determine the symbol",
    )
    .required()
    .such_as("AAPL.csv")])
    .body(&[
        Media::binary("application/octet-stream").about("CSV (plain, .gz, .zst or .zip), XLSX or Parquet")
    ])
    .answers(&[AnswerDoc::ok("The file was uploaded", &[data::<UploadDocument>()])])
    .refuses(&[BAD_REQUEST, CONFLICT, TOO_LARGE, TOO_MANY_AT_ONCE, DISK_FULL]);

pub(super) const SHOW: Doc =
    Doc::new(Tag::Admin, "showUpload", "An uploaded file and the progress of its import")
        .parameters(&[UPLOAD])
        .answers(&[AnswerDoc::ok("The file", &[data::<UploadDocument>()])])
        .refuses(&[NOT_FOUND]);

pub(super) const REMOVE: Doc =
    Doc::new(Tag::Admin, "removeUpload", "Delete an uploaded file; imported data is not affected")
        .parameters(&[UPLOAD])
        .answers(&[AnswerDoc::ok("The file was deleted", &[data::<Empty>()])])
        .refuses(&[NOT_FOUND, CONFLICT]);

pub(super) fn list(_: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let intake = &site.core.intake;
    let uploads = intake.list()?.iter().map(|upload| UploadDocument::of(upload, intake)).collect();
    Ok(envelope::success(UploadsDocument { uploads, bytes_max: intake.limit }))
}

/// Stores a file that has been received completely.
pub(super) fn receive(call: &Call<'_>, site: &Site, by: Admitted) -> Result<Answer, Problem> {
    let upload = call.arriving.ok_or_else(Problem::internal)?.finish()?;
    let upload = site.core.intake.merged(upload)?;
    tracing::info!(account = by.account().id.0, bytes = upload.bytes, "a file was uploaded");
    Ok(envelope::success(UploadDocument::of(&upload, &site.core.intake)))
}

pub(super) fn show(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    Ok(envelope::success(UploadDocument::of(&find(call, site)?, &site.core.intake)))
}

pub(super) fn remove(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    site.core.intake.remove(&find(call, site)?)?;
    Ok(envelope::success(Empty {}))
}

/// Returns the upload named in the path.
pub(super) fn find(call: &Call<'_>, site: &Site) -> Result<Upload, Problem> {
    Ok(site.core.intake.find(call.path_value("upload"))?)
}
