//! What a person sees: entering a device's code, signing in, approving or denying, and what went wrong. Plain HTML
//! without scripts; one stylesheet, in the executable. Looking at a page decides nothing: only a form that this server
//! made for this browser does.

mod assets;
mod authorize;
mod cookies;
mod device;
mod forms;
mod front;
mod home;
mod html;
mod programs;
mod sign_in;
mod words;

use std::time::Duration;

use access::{AccessError, Browser, Moment, Secret};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST,
    HeaderName, HeaderValue, LOCATION, ORIGIN, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Response, StatusCode};

use crate::http::{Answer, Asked};
use crate::route::Language;
use crate::services::Services;
use cookies::Kind;
use forms::Fields;
use html::Html;
use words::Words;

pub(crate) use assets::{file, is_file};
pub(crate) use front::{GUESTS_EACH, GUESTS_MAX};

/// Where the pages are.
pub(crate) mod path {
    pub(crate) const CONFIRM: &str = "/oauth2/device/authorize/confirm";
    pub(crate) const AUTHORIZE: &str = "/oauth2/authorize";
    pub(crate) const SIGN_IN: &str = "/signin";
    pub(crate) const SIGN_OUT: &str = "/signout";
    pub(crate) const END: &str = "/signin/end";
    pub(crate) const STYLE: &str = "/assets/pages.css";
    pub(crate) const CHART: &str = "/";
    pub(crate) const QUOTA: &str = "/quota";
    pub(crate) const CONNECTIONS: &str = "/connections";
    pub(crate) const COVERAGE: &str = "/coverage";
    pub(crate) const IMPORTS: &str = "/imports";
    /// Those with scripts of their own.
    pub(crate) const FRONT: [&str; 5] = [CHART, QUOTA, CONNECTIONS, COVERAGE, IMPORTS];
}

const STYLE: &str = include_str!("pages.css");
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";
/// The stylesheet changes with the executable only, and pages are few.
const STYLE_KEPT: HeaderValue = HeaderValue::from_static("public, max-age=300");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Confirm,
    Authorize,
    SignIn,
    SignOut,
    End,
    Style,
    Chart,
    /// What an account and an operator look after, a page each.
    Desk,
}

/// Whether a path is that of a page: whoever asks for one is a person, and is answered as one.
pub(crate) fn is_page(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    [path::CONFIRM, path::AUTHORIZE, path::SIGN_IN, path::SIGN_OUT, path::END]
        .iter()
        .chain(&path::FRONT)
        .any(|page| page.strip_prefix('/') == Some(path))
}

/// Somebody who types a slash too many behind the address of a page is sent to the page.
pub(crate) fn without_slash(asked: &Asked<'_>, services: &Services) -> Option<Answer> {
    let is_look = [Method::GET, Method::HEAD].contains(asked.method);
    let page = asked.path.strip_suffix('/').filter(|page| is_look && is_page(page))?;
    let query = if asked.query.is_empty() { String::new() } else { format!("?{}", asked.query) };
    let mut answer =
        redirect(&format!("{}/{}{query}", services.base(), page.trim_start_matches('/')), Vec::new()).ok()?;
    *answer.status_mut() = StatusCode::PERMANENT_REDIRECT;
    Some(answer)
}

pub(crate) fn answer(asked: &Asked<'_>, page: Page, services: &Services) -> Answer {
    let frame = Frame::of(asked.header("accept-language").unwrap_or_default(), services);
    let shown = Visit::of(asked, services, frame).and_then(|visit| match page {
        Page::Confirm => device::answer(&visit),
        Page::Authorize => authorize::answer(&visit),
        Page::SignIn => sign_in::answer(&visit),
        Page::SignOut => sign_in::sign_out(&visit),
        Page::End => programs::end(&visit),
        Page::Style => Ok(style()),
        Page::Chart => front::answer(&visit, assets::CHART),
        Page::Desk => front::answer(&visit, assets::DESK),
    });
    shown.unwrap_or_else(|trouble| trouble.answer(frame))
}

/// The cookie of whoever is signed in, among those of a request. Whether it is good is to be asked.
pub(crate) fn session<'a>(cookies: &'a str, services: &Services) -> Option<&'a str> {
    Kind::Session.read(cookies, is_secure(services))
}

/// Whether cookies are for https alone.
fn is_secure(services: &Services) -> bool {
    services.is_https()
}

/// The page in place of an answer that is meant for programs.
pub(crate) fn instead(other: &Answer, accept_language: &str, services: &Services) -> Answer {
    let frame = Frame::of(accept_language, services);
    let text = match other.status() {
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND => frame.words.not_here,
        status if status.is_server_error() => frame.words.failed,
        _ => frame.words.malformed,
    };
    let mut html = Html::default();
    html.p(text).raw("\n<p>").a(&frame.at(path::CHART), frame.words.chart).raw("</p>");
    let mut page = Sheet::new(frame.words.trouble, html).status(other.status()).answer(frame);
    for name in [ALLOW, CONNECTION, RETRY_AFTER] {
        if let Some(value) = other.headers().get(&name) {
            page.headers_mut().insert(name, value.clone());
        }
    }
    page
}

/// What every page has in common: its language, and the path that a proxy has us under.
#[derive(Clone, Copy)]
struct Frame<'a> {
    words: &'static Words,
    base: &'a str,
}

impl<'a> Frame<'a> {
    fn of(accept_language: &str, services: &'a Services) -> Frame<'a> {
        Frame { words: Words::of(Language::preferred(accept_language)), base: services.base() }
    }

    /// An address of ours without the path that a proxy has us under, as a script of a page may have it from its browser.
    fn within<'b>(&self, address: &'b str) -> &'b str {
        match address.strip_prefix(self.base) {
            Some("") if !self.base.is_empty() => path::CHART,
            Some(rest) if rest.starts_with('/') => rest,
            _ => address,
        }
    }

    /// A page's address, as a browser has to ask for it.
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

fn style() -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(STYLE.as_bytes())));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    headers.insert(CACHE_CONTROL, STYLE_KEPT);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// Why a page is not the one that was asked for.
#[derive(Debug)]
enum Trouble {
    /// A form that we did not make for this browser.
    StaleForm {
        next: Option<String>,
    },
    Malformed,
    /// In words for a person.
    Said(&'static str),
    /// The account does more than people do.
    TooOften(Duration),
    Failed,
}

impl From<AccessError> for Trouble {
    fn from(error: AccessError) -> Trouble {
        if let Some(wait) = error.retry_after() {
            return Trouble::TooOften(wait);
        }
        tracing::error!(%error, "cannot show a page");
        Trouble::Failed
    }
}

impl From<forms::Malformed> for Trouble {
    fn from(_: forms::Malformed) -> Trouble {
        Trouble::Malformed
    }
}

impl Trouble {
    fn answer(self, frame: Frame<'_>) -> Answer {
        let words = frame.words;
        let (mut html, mut retry_after) = (Html::default(), None);
        let status = match self {
            Trouble::StaleForm { next } => {
                html.p(words.stale_form);
                let next = next.as_deref().unwrap_or(path::SIGN_IN);
                html.raw("<p>").a(&frame.at(next), words.again).raw("</p>");
                StatusCode::FORBIDDEN
            }
            Trouble::Malformed => {
                html.p(words.malformed);
                StatusCode::BAD_REQUEST
            }
            Trouble::Said(text) => {
                html.p(&sentence(text));
                StatusCode::BAD_REQUEST
            }
            Trouble::TooOften(wait) => {
                html.p(&words.login_wait.replacen("{}", &seconds_up(wait).to_string(), 1));
                retry_after = Some(wait);
                StatusCode::TOO_MANY_REQUESTS
            }
            Trouble::Failed => {
                html.p(words.failed);
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Sheet { retry_after, ..Sheet::new(words.trouble, html).status(status) }.answer(frame)
    }
}

/// A message of another crate, as people write.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// One look at a page: who looks, with which cookies, in which language.
struct Visit<'a> {
    asked: &'a Asked<'a>,
    services: &'a Services,
    frame: Frame<'a>,
    words: &'static Words,
    /// Whether cookies are for https alone.
    secure: bool,
    /// The cookie of whoever is signed in, and who that is.
    session: Option<(&'a str, Browser)>,
}

impl<'a> Visit<'a> {
    fn of(asked: &'a Asked<'a>, services: &'a Services, frame: Frame<'a>) -> Result<Visit<'a>, Trouble> {
        let secure = is_secure(services);
        let mut visit = Visit { asked, services, frame, words: frame.words, secure, session: None };
        if let Some(cookie) = visit.cookie(Kind::Session) {
            let browser = services.access.browser(cookie, services.machine_now())?;
            visit.session = browser.map(|browser| (cookie, browser));
        }
        Ok(visit)
    }

    fn cookie(&self, kind: Kind) -> Option<&'a str> {
        kind.read(self.asked.header("cookie").unwrap_or_default(), self.secure)
    }

    fn is_post(&self) -> bool {
        self.asked.method == Method::POST
    }

    fn moment(&self) -> Moment {
        Moment { now: self.services.machine_now(), uptime: self.services.uptime() }
    }

    fn query(&self) -> Result<Fields, Trouble> {
        Ok(Fields::parse(self.asked.query.as_bytes())?)
    }

    /// The fields of a form that was sent from a page of this server.
    fn form(&self) -> Result<Fields, Trouble> {
        let content_type = self.asked.header("content-type").unwrap_or_default();
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Trouble::Malformed);
        }
        let fields = Fields::parse(self.asked.body)?;
        if !self.is_from_here() {
            return Err(stale(&fields));
        }
        Ok(fields)
    }

    /// Checks that a form was made for a cookie and a purpose.
    fn check(&self, fields: &Fields, cookie: &str, purpose: &str) -> Result<(), Trouble> {
        if self.services.access.is_form_mark(fields.get("csrf"), cookie, purpose) {
            return Ok(());
        }
        Err(stale(fields))
    }

    /// What browsers say themselves about where a form comes from, where they do. Our pages ask them not to say from
    /// which page they come, and then some name no origin; so nothing counts as nothing, and the mark decides.
    fn is_from_here(&self) -> bool {
        let headers = self.asked.headers;
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

    /// Whether a browser says that a page of somebody else's sent it here: not one of ours, and not the person.
    fn is_from_elsewhere(&self) -> bool {
        let site = self.asked.header("sec-fetch-site");
        site.is_some_and(|site| site != "same-origin" && site != "none")
    }

    fn is_ours(&self, origin: &str) -> bool {
        let Some((_, theirs)) = origin.split_once("://") else { return false };
        let host = self.asked.headers.get(HOST).and_then(|host| host.to_str().ok());
        let public = self.services.public_url.as_ref().map(|url| url.parts().0);
        host.into_iter().chain(public).any(|ours| ours.eq_ignore_ascii_case(theirs))
    }

    /// The address of this look, to come back to.
    fn here(&self) -> String {
        let Asked { path, query, .. } = self.asked;
        let path = format!("/{}", path.trim_start_matches('/'));
        if query.is_empty() { path } else { format!("{path}?{query}") }
    }
}

fn stale(fields: &Fields) -> Trouble {
    Trouble::StaleForm { next: forms::safe_next(fields.get("next")).map(str::to_owned) }
}

/// A page under way.
struct Sheet<'a> {
    status: StatusCode,
    title: &'a str,
    main: Html,
    retry_after: Option<Duration>,
    /// Where else a form of this page may lead.
    leads_to: Option<String>,
    cookies: Vec<HeaderValue>,
}

impl<'a> Sheet<'a> {
    fn new(title: &'a str, main: Html) -> Sheet<'a> {
        Sheet { status: StatusCode::OK, title, main, retry_after: None, leads_to: None, cookies: Vec::new() }
    }

    fn status(self, status: StatusCode) -> Sheet<'a> {
        Sheet { status, ..self }
    }

    fn answer(self, frame: Frame<'_>) -> Answer {
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
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds_up(wait)));
        }
        guard(&mut answer, self.cookies);
        answer
    }
}

/// To another address, always with GET.
fn redirect(to: &str, cookies: Vec<HeaderValue>) -> Result<Answer, Trouble> {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    answer.headers_mut().insert(LOCATION, HeaderValue::try_from(to).map_err(|_| Trouble::Malformed)?);
    guard(&mut answer, cookies);
    Ok(answer)
}

/// What every answer of a page bears: nobody on the way keeps it, frames it or guesses what it is.
fn guard(answer: &mut Answer, cookies: Vec<HeaderValue>) {
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

/// Seconds to wait, rounded up: whoever comes at the time they were told must not come too early.
fn seconds_up(wait: Duration) -> u64 {
    let more = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(more).max(1)
}

/// A line above a form that says what was wrong.
fn alert(html: &mut Html, text: &str) {
    html.raw("<p class=\"alert\" role=\"alert\">").text(text).raw("</p>\n");
}

/// A form's button and what it decides.
fn fact(html: &mut Html, name: &str, value: &str) {
    html.raw("<div><dt>").text(name).raw("</dt><dd>").text(value).raw("</dd></div>\n");
}
