//! `GET /v1/statement/download`: creates a temporary signed URL from which a statement can be
//! fetched without other credentials.

use access::Download;
use market::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::file::signed_path;
use super::file_key::FileKey;
use crate::caller::Language;
use crate::kit::base_url;
use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::kit::query::Query;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const DOWNLOAD: Doc =
    Doc::new(Tag::Trade, "statementDownload", "An address from which a statement can be fetched")
        .about(
            "It is good for one file and for some minutes (`statement_link_seconds`), and needs no other proof: treat it as a password. \
             What ends all sessions of the account ends it, too.",
        )
        .parameters(&[Parameter::query(
            "file_key",
            Kind::TextUpTo(256),
            "As the list has it; with .pdf in place of .json for a PDF in the language of accept-language",
        )
        .required()])
        .answers(&[AnswerDoc::ok("The address", &[data::<DownloadAddress>()])])
        .refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
struct DownloadAddress {
    url: String,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
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
