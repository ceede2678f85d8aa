//! `/signin/once`: opens a one-time link, which signs in the user of this machine and continues to
//! the link's page.
//!
//! A link that the user opens, in the address bar or through a program that starts a browser, is
//! consumed immediately. Other requests for the link (a link preview, a browser prefetch, a link on
//! another site) get a page with a button and do not consume the link. For requests from another
//! machine, through a proxy or by another user of the machine, the link is not even looked up.

use access::{LinkRefused, Secret};
use hyper::{Method, StatusCode};

use super::html::Html;
use super::sign_in::visitor;
use super::visit::{HTML, PageError, Sheet, Visit, page, redirect, stale};
use super::{forms, path};
use crate::kit::Answer;
use crate::kit::cookies::Kind;
use crate::kit::doc::{AnswerDoc, Doc, Kind as ParameterKind, Media, Parameter, described_only, of_form};
use crate::local;
use crate::metrics::{Authenticated, Entry};

const REFUSED: AnswerDoc = AnswerDoc::status(
    "403",
    "the link was already used, has expired, was not issued by this server, or was opened by another user or machine",
    HTML,
);
const DONE: AnswerDoc = AnswerDoc::status("303", "signed in; redirect to the page of the link", &[]);

pub(super) const ONE_TIME_LINK: Doc = page("oneTimeLink", "Open a one-time link on the server's machine")
    .parameters(&[Parameter::query("token", ParameterKind::Text, "secret of the link")])
    .answers(&[
        AnswerDoc::ok("a confirmation page, so that automatic prefetching does not use up the link", HTML),
        DONE,
        REFUSED,
    ]);

pub(super) const USE_ONE_TIME_LINK: Doc = page("useOneTimeLink", "Submit the form of a one-time link")
    .body(&[Media::form::<LinkForm>()])
    .answers(&[DONE, REFUSED]);

described_only! {
    #[schemars(inline, transform = of_form)]
    struct LinkForm {
        csrf: String,
        token: String,
    }
}

const PURPOSE: &str = "one-time link";

pub(super) fn answer(visit: &Visit<'_>) -> Result<Answer, PageError> {
    if let Some(text) = not_for(visit) {
        return Ok(refused(visit, text));
    }
    if visit.is_post() {
        let mut fields = visit.form()?;
        let cookie = visit.cookie(Kind::Visitor).ok_or_else(|| stale(&fields))?;
        visit.check(&fields, cookie, PURPOSE)?;
        return sign_in(visit, &Secret::new(fields.take("token")));
    }
    let token = Secret::new(visit.query()?.take("token"));
    if is_opened(visit) { sign_in(visit, &token) } else { offer(visit, &token) }
}

/// Returns the message for visitors that may not use links, or `None` for the user of this machine.
fn not_for(visit: &Visit<'_>) -> Option<&'static str> {
    let (call, words) = (visit.call, visit.words);
    if !visit.site.has_sign_in_links || !call.peer.ip().to_canonical().is_loopback() {
        Some(words.link_elsewhere)
    } else if !call.is_local {
        Some(words.link_proxied)
    } else if local::is_of_another_user(call.peer, call.reached) {
        Some(words.link_of_another_user)
    } else {
        None
    }
}

/// Returns whether the user opened the URL directly, rather than through a link on another site or
/// a prefetch.
fn is_opened(visit: &Visit<'_>) -> bool {
    let call = visit.call;
    call.method == Method::GET
        && call.header("sec-fetch-dest") == Some("document")
        && call.header("sec-fetch-mode") == Some("navigate")
        && matches!(call.header("sec-fetch-site"), Some("none" | "same-origin"))
        && !["sec-purpose", "purpose", "x-moz"].into_iter().any(|name| call.headers.contains_key(name))
}

fn sign_in(visit: &Visit<'_>, token: &Secret) -> Result<Answer, PageError> {
    let (access, metrics) = (&visit.site.core.access, &visit.site.core.metrics);
    let words = visit.words;
    let text = match access.redeem_sign_in_link(token.expose(), visit.call.peer.ip(), visit.moment()) {
        Ok(signed_in) => {
            metrics.credentials(Entry::Page, Authenticated::Accepted);
            let session = Kind::Session.set(&signed_in.session, visit.secure);
            return go_on(visit, &signed_in.next, session);
        }
        // Opening the link again in the same browser redirects to the link's page.
        Err(LinkRefused::Used { account, next }) if is_signed_in(visit, account) => {
            return go_on(visit, &next, None);
        }
        Err(LinkRefused::Failed(error)) => return Err(error.into()),
        Err(LinkRefused::Unknown) => words.link_unknown,
        Err(LinkRefused::Used { .. }) => words.link_used,
        Err(LinkRefused::Expired) => words.link_late,
        Err(LinkRefused::OfAnotherServer) => words.link_restarted,
    };
    metrics.credentials(Entry::Page, Authenticated::Refused);
    Ok(refused(visit, text))
}

fn is_signed_in(visit: &Visit<'_>, account: access::AccountId) -> bool {
    visit.session.as_ref().is_some_and(|(_, permit)| permit.account().id == account)
}

fn go_on(
    visit: &Visit<'_>,
    next: &str,
    session: Option<hyper::header::HeaderValue>,
) -> Result<Answer, PageError> {
    let next = forms::safe_next(next).unwrap_or(path::CHART);
    redirect(&visit.frame.at(next), session.into_iter().collect())
}

/// Returns the page with the button.
fn offer(visit: &Visit<'_>, token: &Secret) -> Result<Answer, PageError> {
    let words = visit.words;
    let (cookie, set) = visitor(visit)?;
    let mut html = Html::default();
    html.p(words.link_lead).raw("\n<form method=\"post\" action=\"");
    html.text(&visit.frame.at(path::SIGN_IN_ONCE)).raw("\">\n");
    html.hidden("csrf", &visit.site.core.access.csrf_token(cookie.expose(), PURPOSE));
    html.hidden("token", token.expose());
    html.raw("\n<div class=\"choices\"><button class=\"main\" type=\"submit\">").text(words.sign_in);
    html.raw("</button></div>\n</form>");
    let sheet = Sheet { cookies: set.into_iter().collect(), ..Sheet::new(words.sign_in, html) };
    Ok(sheet.answer(visit.frame))
}

fn refused(visit: &Visit<'_>, text: &str) -> Answer {
    let words = visit.words;
    let mut html = Html::default();
    html.p(text).raw("\n").p(words.link_new).raw("\n<p>");
    html.a(&visit.frame.at(path::SIGN_IN), words.sign_in).raw("</p>");
    Sheet::new(words.link_title, html).status(StatusCode::FORBIDDEN).answer(visit.frame)
}
