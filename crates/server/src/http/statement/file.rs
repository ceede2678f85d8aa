//! `GET /v1/statement/download` creates a temporary signed URL from which a statement can be
//! fetched without other credentials. `GET /files/statement/{file}` serves the statement to any
//! holder of that URL.

use access::{Download, DownloadRefused};
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use market::Timestamp;
use paper::StatementDocument;
use schemars::JsonSchema;
use serde::Serialize;

use super::file_key::{FileKey, Format, digits};
use crate::caller::Language;
use crate::kit::doc::refusals::{FORBIDDEN, NOT_FOUND, NOT_OFFERED, TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, data};
use crate::kit::query::Query;
use crate::kit::{Admitted, Answer, Call, Problem, Site, base_url, envelope};
use crate::statement_pdf::{PdfError, typeset};

pub(super) const FILE: Doc = Doc::new(
    Tag::Trade,
    "statementFile",
    "Download a statement with a download URL",
)
.about(
    "`/v1/statement/download` returns the whole URL, which is signed and cannot be modified. The format \
         is JSON, with all values as strings, or PDF.",
)
.parameters(&[
    Parameter::path("file", "From the download URL"),
    Parameter::query("lang", Kind::Text, "From the download URL"),
    Parameter::query("expires", Kind::Stamp, "From the download URL"),
    Parameter::query("sig", Kind::Text, "From the download URL"),
])
.answers(&[AnswerDoc::ok(
    "The statement",
    &[Media::json::<StatementDocument>(), Media::binary("application/pdf")],
)])
.refuses(&[FORBIDDEN, NOT_FOUND, NOT_OFFERED]);

const PDF: HeaderValue = HeaderValue::from_static("application/pdf");

/// Returns the signed part of a URL, which contains everything that determines the content.
pub(super) fn signed_path(name: &str, language: &str) -> String {
    format!("/files/statement/{name}?lang={language}")
}

pub(super) fn file(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    let (key, language) = checked(call, site)?;
    let core = &site.core;
    let stored = core.with_reader(|reader| core.paper.at(key.account, reader, &**core).statement(key.of));
    // The statement can be missing if a rewind removed it after the URL was created.
    let text = stored.map_err(Problem::from_paper)?.ok_or_else(Problem::not_found)?;
    let mut answer = match key.format {
        Format::Json => envelope::json(200, text.into()),
        Format::Pdf => envelope::respond(200, PDF, pdf(&text, language, site)?.into()),
    };
    let (kind, date) = (key.of.kind, digits(key.of.date));
    let ending = if key.format == Format::Pdf { "pdf" } else { "json" };
    let name = format!("attachment; filename=\"statement-{kind}-{date:08}.{ending}\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        answer.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    Ok(answer)
}

/// Verifies a signed URL. Returns the file and the language.
fn checked(call: &Call<'_>, site: &Site) -> Result<(FileKey, Language), Problem> {
    // All invalid URLs get the same refusal, so that the refusal reveals nothing.
    let forged = || Problem::download_refused(DownloadRefused::Forged.to_string());
    let query = Query::parse(call.query).map_err(|_| forged())?;
    let key = FileKey::parse_name(call.path_value("file")).ok_or_else(forged)?;
    let expires = query.get("expires").and_then(|text| text.parse().ok()).map(Timestamp);
    let (Some(expires), Some(language), Some(signature)) = (expires, query.get("lang"), query.get("sig"))
    else {
        return Err(forged());
    };
    // The query must be in canonical form: no extra parameters, and no alternative spellings of
    // numbers.
    if call.query != format!("lang={language}&expires={}&sig={signature}", expires.0) {
        return Err(forged());
    }
    let path = signed_path(&key.name(), language);
    let download = Download { account: key.account, path: &path, expires };
    match site.core.access.check_download(&download, signature, site.core.machine_now()) {
        Ok(()) => Ok((key, Language::preferred(language))),
        Err(DownloadRefused::Failed(error)) => Err(Problem::from_access(error)),
        Err(refused) => Err(Problem::download_refused(refused.to_string())),
    }
}

fn pdf(text: &[u8], language: Language, site: &Site) -> Result<Vec<u8>, Problem> {
    let document: StatementDocument = serde_json::from_slice(text).map_err(|error| {
        tracing::error!(%error, "cannot read a statement");
        Problem::internal()
    })?;
    typeset(&document, language, site.statement_font.as_deref()).map_err(|error| match error {
        PdfError::NoFont => Problem::not_set_up(error.to_string()),
        error => {
            tracing::error!(%error, "cannot make a statement as PDF");
            Problem::internal()
        }
    })
}

pub(super) const DOWNLOAD: Doc =
    Doc::new(Tag::Trade, "statementDownload", "Create a download URL for a statement")
        .about(
            "The URL is valid for one file and for a limited time (`statement_link_seconds`), and requires \
             no other credentials: treat it as a password. Ending all sessions of the account also \
             invalidates it.",
        )
        .parameters(&[Parameter::query(
            "file_key",
            Kind::TextUpTo(256),
            "File key from the list; with .pdf instead of .json, a PDF in the language of accept-language",
        )
        .required()])
        .answers(&[AnswerDoc::ok("The download URL", &[data::<DownloadAddress>()])])
        .refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
struct DownloadAddress {
    url: String,
}

pub(super) fn download(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let query = Query::parse(call.query)?;
    let (core, account) = (&site.core, admitted.account().id);
    let (key, _) = stored(site, &admitted, query.required("file_key")?)?;
    let language = language_tag(admitted.caller.language);
    let path = signed_path(&key.name(), language);
    let now = core.machine_now();
    let expires = Timestamp(now.0.saturating_add(site.statement_link_s.into()));
    let download = Download { account, path: &path, expires };
    let signature = core.access.sign_download(&download).map_err(Problem::from_access)?;
    let signature = signature.ok_or_else(not_found)?;
    let url = format!("{}{path}&expires={}&sig={signature}", base_url(call, site), expires.0);
    Ok(envelope::success(DownloadAddress { url }))
}

/// Returns a statement and its key. Another account's statement is reported as not found.
pub(in crate::http) fn stored(
    site: &Site,
    admitted: &Admitted,
    file_key: &str,
) -> Result<(FileKey, Vec<u8>), Problem> {
    let (core, account) = (&site.core, admitted.account().id);
    let key = FileKey::parse_key(file_key).filter(|key| key.account == account).ok_or_else(not_found)?;
    let moment = core.paper_moment(admitted.caller.as_of);
    let text = core.with_reader(|reader| core.paper.at(account, reader, &moment).statement(key.of));
    Ok((key, text.map_err(Problem::from_paper)?.ok_or_else(not_found)?))
}

fn not_found() -> Problem {
    Problem::trade_parameter("statement not found")
}

fn language_tag(language: Language) -> &'static str {
    match language {
        Language::En => "en",
        Language::ZhCn => "zh-CN",
        Language::ZhHk => "zh-HK",
    }
}
