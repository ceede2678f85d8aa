//! Shared parts of the pages' OpenAPI descriptions, and the descriptions of the chart and the
//! dashboard, which are one document each.

use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag};

pub(super) const HTML: &[Media] = &[Media::text("text/html")];
pub(super) const PAGE: AnswerDoc = AnswerDoc::ok("a page", HTML);
pub(super) const NOT_OUR_FORM: AnswerDoc =
    AnswerDoc::status("403", "not a form that this server made for this browser", HTML);
pub(super) const CLIENT_ID: Parameter = Parameter::query("client_id", Kind::Text, "the client that asks");

pub(super) const fn page(id: &'static str, summary: &'static str) -> Doc {
    Doc::new(Tag::Pages, id, summary)
}

pub(super) const STYLE: Doc = page("style", "The stylesheet of the pages")
    .answers(&[AnswerDoc::ok("the stylesheet", &[Media::text("text/css")])]);

const FRONT: &[AnswerDoc] = &[
    AnswerDoc::ok("a page, packed with gzip for those who take it", HTML),
    AnswerDoc::status("304", "the page that the browser has", &[]),
];

pub(super) const CHART: Doc = page("chartPage", "The chart").answers(FRONT);
pub(super) const SECURITIES: Doc =
    page("securitiesPage", "The desk: what is stored, a row for each security").answers(FRONT);
pub(super) const PORTFOLIO: Doc =
    page("portfolioPage", "The desk: the paper account, its orders, and a ticket for new ones")
        .answers(FRONT);
pub(super) const TOPICS: Doc =
    page("topicsPage", "The desk: topics about securities, and writing one").answers(FRONT);
pub(super) const TOPIC: Doc = page("topicPage", "The desk: a topic with its replies")
    .parameters(&[Parameter::path("id", "The number of the topic")])
    .answers(FRONT);
pub(super) const QUOTA: Doc = page("quotaPage", "The desk: the month's securities").answers(FRONT);
pub(super) const CONNECTIONS: Doc = page("connectionsPage", "The desk: long connections").answers(FRONT);
pub(super) const COVERAGE: Doc =
    page("coveragePage", "The desk: what is stored against the calendar").answers(FRONT);
pub(super) const IMPORTS: Doc = page("importsPage", "The desk: the ledger and the quarantine").answers(FRONT);
pub(super) const ADMIN: Doc =
    page("adminPage", "The desk: accounts, for operators; creating, changing and revoking them")
        .answers(FRONT);
pub(super) const ADMIN_AUDIT: Doc =
    page("adminAuditPage", "The desk: who did what, for operators").answers(FRONT);
pub(super) const ADMIN_STATUS: Doc =
    page("adminStatusPage", "The desk: what the server has and does, for operators").answers(FRONT);
