//! The chart page and the dashboard, with the OpenAPI descriptions of their paths. Both documents
//! are the same for all users; their scripts request data with the browser session. In demo mode, a
//! user on the same machine is signed in when opening a document.

use hyper::Method;
use hyper::header::{CACHE_CONTROL, HeaderValue, SET_COOKIE};

use super::assets;
use super::visit::{HTML, PageError, Visit, page};
use crate::kit::Answer;
use crate::kit::cookies::Kind;
use crate::kit::doc::{AnswerDoc, Doc, Media, Parameter};
use crate::metrics::{Authenticated, Entry};

pub(super) const STYLE: Doc = page("style", "Stylesheet of the pages")
    .answers(&[AnswerDoc::ok("the stylesheet", &[Media::text("text/css")])]);

const FRONT: &[AnswerDoc] = &[
    AnswerDoc::ok("the page, compressed with gzip if accepted", HTML),
    AnswerDoc::status("304", "not modified", &[]),
];

pub(super) const CHART: Doc = page("chartPage", "Chart page").answers(FRONT);
pub(super) const SECURITIES: Doc =
    page("securitiesPage", "Dashboard: stored data by security").answers(FRONT);
pub(super) const PORTFOLIO: Doc =
    page("portfolioPage", "Dashboard: paper account, orders and order form").answers(FRONT);
pub(super) const TOPICS: Doc = page("topicsPage", "Dashboard: topics about securities").answers(FRONT);
pub(super) const TOPIC: Doc = page("topicPage", "Dashboard: a topic with its replies")
    .parameters(&[Parameter::path("id", "Topic id")])
    .answers(FRONT);
pub(super) const QUOTA: Doc = page("quotaPage", "Dashboard: monthly quota").answers(FRONT);
pub(super) const CONNECTIONS: Doc = page("connectionsPage", "Dashboard: long connections").answers(FRONT);
pub(super) const COVERAGE: Doc =
    page("coveragePage", "Dashboard: stored data compared with the trading calendar").answers(FRONT);
pub(super) const IMPORTS: Doc = page("importsPage", "Dashboard: import ledger and quarantine").answers(FRONT);
pub(super) const ADMIN: Doc =
    page("adminPage", "Dashboard: account administration, for operators").answers(FRONT);
pub(super) const ADMIN_AUDIT: Doc =
    page("adminAuditPage", "Dashboard: audit log, for operators").answers(FRONT);
pub(super) const ADMIN_STATUS: Doc =
    page("adminStatusPage", "Dashboard: server status, for operators").answers(FRONT);

pub(super) fn answer(visit: &Visit<'_>, document: &str) -> Result<Answer, PageError> {
    let is_opened = visit.call.method == Method::GET && visit.session.is_none();
    let cookies = if is_opened { begin(visit)? } else { Vec::new() };
    let document = assets::document(visit.call.headers, document, visit.words.lang, visit.frame.base);
    let mut answer = document.ok_or(PageError::Failed)?;
    for cookie in cookies {
        // A document may be cached, but not together with a cookie.
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// Starts a guest session and returns its cookies. Returns no cookies if guests are disabled or too
/// many sessions were started.
pub(super) fn begin(visit: &Visit<'_>) -> Result<Vec<HeaderValue>, PageError> {
    let (call, site) = (visit.call, visit.site);
    let Some(account) = site.guest.filter(|_| is_for_guests(visit)) else { return Ok(Vec::new()) };
    if site.may_enter_as_guest(account).is_err() {
        return Ok(Vec::new());
    }
    let signed_in = site.core.access.sign_in_guest(account, call.peer.ip(), site.core.machine_now())?;
    let Some(signed_in) = signed_in else { return Ok(Vec::new()) };
    site.core.metrics.credentials(Entry::Page, Authenticated::Accepted);
    Ok(Kind::Session.set(&signed_in.session, visit.secure).into_iter().collect())
}

/// Returns whether a user on this machine opened a page, from the address bar or from one of our
/// pages. Links, images and frames on other sites are excluded. Health checks are excluded too,
/// because only browsers send the `Sec-Fetch` headers.
pub(super) fn is_for_guests(visit: &Visit<'_>) -> bool {
    let (call, site) = (visit.call, visit.site);
    let is_opened = call.header("sec-fetch-dest") == Some("document")
        && call.header("sec-fetch-mode") == Some("navigate")
        && matches!(call.header("sec-fetch-site"), Some("none" | "same-origin"));
    site.guest.is_some() && call.is_local && is_opened
}
