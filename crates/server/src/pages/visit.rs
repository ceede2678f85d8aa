//! A request for a page: the user, the language, the shared parts of all pages and of their OpenAPI
//! descriptions, and the errors.

use std::time::Duration;

use access::{AccessError, Moment, Permit};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    LOCATION, ORIGIN, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Response, StatusCode};

use super::forms::{self, Fields};
use super::html::Html;
use super::path;
use super::words::Words;
use crate::caller::Language;
use crate::kit::cookies::Kind;
use crate::kit::doc::{AnswerDoc, Doc, Kind as ParameterKind, Media, Parameter, Tag};
use crate::kit::envelope::seconds_up;
use crate::kit::{Answer, Call, Site};

const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

pub(super) const HTML: &[Media] = &[Media::text("text/html")];
pub(super) const PAGE: AnswerDoc = AnswerDoc::ok("a page", HTML);
pub(super) const NOT_OUR_FORM: AnswerDoc = AnswerDoc::status("403", "missing or invalid CSRF token", HTML);
pub(super) const CLIENT_ID: Parameter =
    Parameter::query("client_id", ParameterKind::Text, "client that requests access");

pub(super) const fn page(id: &'static str, summary: &'static str) -> Doc {
    Doc::new(Tag::Pages, id, summary)
}

/// State shared by all pages: the language, and the base path under which a proxy serves the pages.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) words: &'static Words,
    pub(super) base: &'a str,
}

impl<'a> Frame<'a> {
    pub(super) fn of(accept_language: &str, site: &'a Site) -> Frame<'a> {
        Frame { words: Words::of(Language::preferred(accept_language)), base: site.base() }
    }

    /// Strips the base path from one of our URLs, which scripts read from the browser.
    pub(super) fn within<'b>(&self, address: &'b str) -> &'b str {
        match address.strip_prefix(self.base) {
            Some("") if !self.base.is_empty() => path::CHART,
            Some(rest) if rest.starts_with('/') => rest,
            _ => address,
        }
    }

    /// Prefixes a page's path with the base path.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// Reason for an error page.
#[derive(Debug)]
pub(super) enum PageError {
    /// The form was not created for this browser.
    StaleForm {
        next: Option<String>,
    },
    Malformed,
    /// A message for the user.
    Said(&'static str),
    /// The account repeats the action more often than a person would.
    TooOften(Duration),
    Failed,
}

impl From<AccessError> for PageError {
    fn from(error: AccessError) -> PageError {
        if let Some(wait) = error.retry_after() {
            return PageError::TooOften(wait);
        }
        tracing::error!(%error, "cannot show a page");
        PageError::Failed
    }
}

impl From<forms::Malformed> for PageError {
    fn from(_: forms::Malformed) -> PageError {
        PageError::Malformed
    }
}

impl PageError {
    pub(super) fn answer(self, frame: Frame<'_>) -> Answer {
        let words = frame.words;
        let (mut html, mut retry_after) = (Html::default(), None);
        let status = match self {
            PageError::StaleForm { next } => {
                html.p(words.stale_form);
                let next = next.as_deref().unwrap_or(path::SIGN_IN);
                html.raw("<p>").a(&frame.at(next), words.again).raw("</p>");
                StatusCode::FORBIDDEN
            }
            PageError::Malformed => {
                html.p(words.malformed);
                StatusCode::BAD_REQUEST
            }
            PageError::Said(text) => {
                html.p(&sentence(text));
                StatusCode::BAD_REQUEST
            }
            PageError::TooOften(wait) => {
                html.p(&words.login_wait.replacen("{}", &seconds_up(wait).max(1).to_string(), 1));
                retry_after = Some(wait);
                StatusCode::TOO_MANY_REQUESTS
            }
            PageError::Failed => {
                html.p(words.failed);
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Sheet { retry_after, ..Sheet::new(words.trouble, html).status(status) }.answer(frame)
    }
}

/// Formats a message from another crate as a sentence.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// A request for a page, with the user, their cookies and language.
pub(super) struct Visit<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) site: &'a Site,
    pub(super) frame: Frame<'a>,
    pub(super) words: &'static Words,
    /// Whether cookies are restricted to HTTPS.
    pub(super) secure: bool,
    /// Session cookie and the account's permit; `None` if the user is not signed in.
    pub(super) session: Option<(&'a str, Permit)>,
}

impl<'a> Visit<'a> {
    pub(super) fn of(call: &'a Call<'a>, site: &'a Site, frame: Frame<'a>) -> Result<Visit<'a>, PageError> {
        let secure = site.is_https();
        let mut visit = Visit { call, site, frame, words: frame.words, secure, session: None };
        if let Some(cookie) = visit.cookie(Kind::Session) {
            let permit = site.core.access.admit_browser(cookie, site.core.present(site.core.market_now()))?;
            visit.session = permit.map(|permit| (cookie, permit));
        }
        Ok(visit)
    }

    pub(super) fn cookie(&self, kind: Kind) -> Option<&'a str> {
        kind.read(self.call.header("cookie").unwrap_or_default(), self.secure)
    }

    pub(super) fn is_post(&self) -> bool {
        self.call.method == Method::POST
    }

    pub(super) fn moment(&self) -> Moment {
        self.site.core.moment()
    }

    pub(super) fn query(&self) -> Result<Fields, PageError> {
        Ok(Fields::parse(self.call.query.as_bytes())?)
    }

    /// Returns the fields of a form, or an error if the form was not submitted from a page of this
    /// server.
    pub(super) fn form(&self) -> Result<Fields, PageError> {
        let content_type = self.call.header("content-type").unwrap_or_default();
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(PageError::Malformed);
        }
        let fields = Fields::parse(self.call.body)?;
        if !self.is_from_here() {
            return Err(stale(&fields));
        }
        Ok(fields)
    }

    /// Returns an error unless the form was created for this cookie and purpose.
    pub(super) fn check(&self, fields: &Fields, cookie: &str, purpose: &str) -> Result<(), PageError> {
        if self.site.core.access.is_csrf_token(fields.get("csrf"), cookie, purpose) {
            return Ok(());
        }
        Err(stale(fields))
    }

    /// Returns whether the browser's headers are consistent with a form on our pages. Our pages
    /// suppress the referrer, and some browsers then send no origin either. A missing header is
    /// therefore accepted, because the CSRF token is checked as well.
    pub(super) fn is_from_here(&self) -> bool {
        let headers = self.call.headers;
        if headers.get_all(ORIGIN).iter().count() > 1 {
            return false;
        }
        if self.is_from_elsewhere() {
            return false;
        }
        let Some(origin) = headers.get(ORIGIN) else { return true };
        match origin.to_str() {
            Ok("null") => true,
            Ok(origin) => self.is_ours(origin),
            Err(_) => false,
        }
    }

    /// Returns whether the browser reports that another site triggered the request, rather than one
    /// of our pages or the user.
    pub(super) fn is_from_elsewhere(&self) -> bool {
        let site = self.call.header("sec-fetch-site");
        site.is_some_and(|site| site != "same-origin" && site != "none")
    }

    pub(super) fn is_ours(&self, origin: &str) -> bool {
        let Some((_, theirs)) = origin.split_once("://") else { return false };
        let host = self.call.headers.get(HOST).and_then(|host| host.to_str().ok());
        let public = self.site.public_url.as_ref().map(|url| url.parts().0);
        host.into_iter().chain(public).any(|ours| ours.eq_ignore_ascii_case(theirs))
    }

    /// Returns the URL of this request, for returning to it after sign-in.
    pub(super) fn here(&self) -> String {
        let Call { path, query, .. } = self.call;
        let path = format!("/{}", path.trim_start_matches('/'));
        if query.is_empty() { path } else { format!("{path}?{query}") }
    }
}

pub(super) fn stale(fields: &Fields) -> PageError {
    PageError::StaleForm { next: forms::safe_next(fields.get("next")).map(str::to_owned) }
}

/// A page that is being built.
pub(super) struct Sheet<'a> {
    pub(super) status: StatusCode,
    pub(super) title: &'a str,
    pub(super) main: Html,
    pub(super) retry_after: Option<Duration>,
    /// Another site to which a form on this page may redirect.
    pub(super) leads_to: Option<String>,
    pub(super) cookies: Vec<HeaderValue>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(title: &'a str, main: Html) -> Sheet<'a> {
        Sheet { status: StatusCode::OK, title, main, retry_after: None, leads_to: None, cookies: Vec::new() }
    }

    pub(super) fn status(self, status: StatusCode) -> Sheet<'a> {
        Sheet { status, ..self }
    }

    pub(super) fn answer(self, frame: Frame<'_>) -> Answer {
        let words = frame.words;
        let mut html = Html::default();
        html.raw("<!doctype html>\n<html lang=\"")
            .text(words.lang)
            .raw("\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"robots\" content=\"noindex\">\n");
        html.raw("<title>")
            .text(self.title)
            .raw(" · Chandler</title>\n<link rel=\"stylesheet\" href=\"")
            .text(&frame.at(path::STYLE));
        html.raw("\">\n</head>\n<body>\n<header><a href=\"").text(&frame.at(path::CHART));
        html.raw("\"><span class=\"mark\" aria-hidden=\"true\"></span>Chandler</a></header>\n");
        html.raw("<main>\n<h1>").text(self.title).raw("</h1>\n").append(&self.main);
        html.raw("\n</main>\n<footer>").text(words.footer).raw("</footer>\n</body>\n</html>\n");
        let mut answer = Response::new(Full::new(Bytes::from(html.into_string())));
        *answer.status_mut() = self.status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(words.lang));
        let policy = match self.leads_to {
            Some(place) => HeaderValue::try_from(format!("{POLICY} {place}")),
            None => Ok(HeaderValue::from_static(POLICY)),
        };
        headers.insert(CONTENT_SECURITY_POLICY, policy.unwrap_or(HeaderValue::from_static(POLICY)));
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds_up(wait).max(1)));
        }
        guard(&mut answer, self.cookies);
        answer
    }
}

/// Redirects to another URL, always with GET.
pub(super) fn redirect(to: &str, cookies: Vec<HeaderValue>) -> Result<Answer, PageError> {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    answer.headers_mut().insert(LOCATION, HeaderValue::try_from(to).map_err(|_| PageError::Malformed)?);
    guard(&mut answer, cookies);
    Ok(answer)
}

/// Sets the headers of every page, which prevent caching, framing and content sniffing.
pub(super) fn guard(answer: &mut Answer, cookies: Vec<HeaderValue>) {
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    );
    for cookie in cookies {
        headers.append(SET_COOKIE, cookie);
    }
}

/// Adds an error line above a form.
pub(super) fn alert(html: &mut Html, text: &str) {
    html.raw("<p class=\"alert\" role=\"alert\">").text(text).raw("</p>\n");
}

/// Adds a name and its value to a list of facts.
pub(super) fn fact(html: &mut Html, name: &str, value: &str) {
    html.raw("<div><dt>").text(name).raw("</dt><dd>").text(value).raw("</dd></div>\n");
}
