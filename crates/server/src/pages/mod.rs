//! The web pages. The pages for device codes, sign-in and consent are plain HTML without scripts;
//! the chart and the dashboard are documents with our own scripts (`front.rs`). Stylesheets and
//! scripts are embedded in the executable. Opening a page changes nothing, because changes need a
//! form that this server created for this browser.

mod assets;
mod authorize;
mod device;
mod forms;
mod front;
mod html;
mod once;
mod password;
mod sign_in;
mod visit;
mod words;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Response, StatusCode};

use crate::kit::paths as path;
use crate::kit::{Answer, Audience, Call, OpenHandler, Problem, Row, Site};
use crate::metrics::Task;
use html::Html;
use visit::{Frame, PageError, Sheet, Visit, redirect};

pub(crate) use assets::{file, is_file};

const STYLE: &str = include_str!("pages.css");
/// Caching of the stylesheet, which changes only with a new executable.
const STYLE_KEPT: HeaderValue = HeaderValue::from_static("public, max-age=300");

pub(crate) const ROUTES: &[Row] = &[
    get(path::CONFIRM, |call, site| show(call, site, device::answer)).doc(&device::CONFIRM_DEVICE),
    post(path::CONFIRM, |call, site| show(call, site, device::answer)).doc(&device::DECIDE_DEVICE),
    get(path::AUTHORIZE, |call, site| show(call, site, authorize::answer)).doc(&authorize::AUTHORIZE),
    post(path::AUTHORIZE, |call, site| show(call, site, authorize::answer))
        .doc(&authorize::DECIDE_AUTHORIZATION),
    get(path::SIGN_IN, |call, site| show(call, site, sign_in::answer)).doc(&sign_in::SIGN_IN_PAGE),
    post(path::SIGN_IN, |call, site| show(call, site, sign_in::answer)).doc(&sign_in::SIGN_IN),
    post(path::SIGN_OUT, |call, site| show(call, site, sign_in::sign_out)).doc(&sign_in::SIGN_OUT),
    post(path::END, |call, site| show(call, site, sign_in::end_program)).doc(&sign_in::END_PROGRAM),
    get(path::SIGN_IN_ONCE, |call, site| show(call, site, once::answer)).doc(&once::ONE_TIME_LINK),
    post(path::SIGN_IN_ONCE, |call, site| show(call, site, once::answer)).doc(&once::USE_ONE_TIME_LINK),
    get(path::PASSWORD, |call, site| show(call, site, password::answer)).doc(&password::PASSWORD_PAGE),
    post(path::PASSWORD, |call, site| show(call, site, password::answer)).doc(&password::SET_PASSWORD),
    Row::open_get(path::STYLE, Audience::Anyone, Task::Page, |_, _| Ok(style())).doc(&front::STYLE),
    get(path::CHART, |call, site| show(call, site, |visit| front::answer(visit, assets::CHART)))
        .doc(&front::CHART),
    // The dashboard, for accounts and operators.
    get(path::SECURITIES, dashboard).doc(&front::SECURITIES),
    get(path::PORTFOLIO, dashboard).doc(&front::PORTFOLIO),
    get(path::TOPICS, dashboard).doc(&front::TOPICS),
    get(path::TOPIC, dashboard).doc(&front::TOPIC),
    get(path::QUOTA, dashboard).doc(&front::QUOTA),
    get(path::CONNECTIONS, dashboard).doc(&front::CONNECTIONS),
    get(path::COVERAGE, dashboard).doc(&front::COVERAGE),
    get(path::IMPORTS, dashboard).doc(&front::IMPORTS),
    get(path::ADMIN, dashboard).doc(&front::ADMIN),
    get(path::ADMIN_AUDIT, dashboard).doc(&front::ADMIN_AUDIT),
    get(path::ADMIN_STATUS, dashboard).doc(&front::ADMIN_STATUS),
];

const fn get(path: &'static str, handler: OpenHandler) -> Row {
    Row::open_get(path, Audience::Person, Task::Page, handler)
}

const fn post(path: &'static str, handler: OpenHandler) -> Row {
    Row::open_post(path, Audience::Person, Task::Page, handler)
}

fn dashboard(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    show(call, site, |visit| front::answer(visit, assets::DASHBOARD))
}

/// Returns a page, or an error page if the page cannot be built.
fn show(
    call: &Call<'_>,
    site: &Site,
    page: impl FnOnce(&Visit<'_>) -> Result<Answer, PageError>,
) -> Result<Answer, Problem> {
    let frame = Frame::of(call.header("accept-language").unwrap_or_default(), site);
    let shown = Visit::of(call, site, frame).and_then(|visit| page(&visit));
    Ok(shown.unwrap_or_else(|trouble| trouble.answer(frame)))
}

/// Returns whether a path is a page's path. Requests for such a path come from browsers and are
/// answered with HTML.
pub(crate) fn is_page(path: &str) -> bool {
    let found = path.trim_start_matches('/');
    let is_at = |row: &Row| row.path.strip_prefix('/').is_some_and(|page| path::is_at(page, found));
    ROUTES.iter().any(|row| row.is_for_people() && is_at(row))
}

/// Redirects a page's path with a trailing slash to the page. Returns `None` for other requests.
pub(crate) fn without_slash(call: &Call<'_>, site: &Site) -> Option<Answer> {
    let is_look = [Method::GET, Method::HEAD].contains(call.method);
    let page = call.path.strip_suffix('/').filter(|page| is_look && is_page(page))?;
    let query = if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
    let mut answer =
        redirect(&format!("{}/{}{query}", site.base(), page.trim_start_matches('/')), Vec::new()).ok()?;
    *answer.status_mut() = StatusCode::PERMANENT_REDIRECT;
    Some(answer)
}

/// Returns an HTML page in place of an error response for programs.
pub(crate) fn instead(other: &Answer, accept_language: &str, site: &Site) -> Answer {
    let frame = Frame::of(accept_language, site);
    let text = match other.status() {
        StatusCode::METHOD_NOT_ALLOWED => frame.words.only_a_button,
        StatusCode::NOT_FOUND => frame.words.not_here,
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

fn style() -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(STYLE.as_bytes())));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    headers.insert(CACHE_CONTROL, STYLE_KEPT);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn redirects_are_allowed_exactly_to_the_pages() {
        let opened = ROUTES.iter().filter(|row| row.is_for_people() && row.method == "GET");
        let opened: BTreeSet<&str> = opened.map(|row| row.path).collect();
        assert_eq!(opened, path::PAGES.into_iter().collect());
        for (path, is) in [
            ("/", true),
            ("//signout", true),
            ("/signin/end", true),
            ("/signin/once", true),
            ("/topics", true),
            ("/topics/12", true),
            ("/topics/", false),
            ("/topics/12/comments", false),
            (path::STYLE, false),
            ("/health", false),
        ] {
            assert_eq!(is_page(path), is, "{path}");
        }
    }
}
