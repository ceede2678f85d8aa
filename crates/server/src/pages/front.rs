//! The chart page and the dashboard: two documents that are the same for all callers. Their scripts
//! request the data with the browser session. In the demo, a person on the same machine is signed
//! in when opening one.

use hyper::Method;
use hyper::header::{CACHE_CONTROL, HeaderValue, SET_COOKIE};

use super::assets;
use super::visit::{PageError, Visit};
use crate::kit::Answer;
use crate::kit::cookies::Kind;
use crate::metrics::{Authenticated, Entry};

pub(super) fn answer(visit: &Visit<'_>, document: &str) -> Result<Answer, PageError> {
    let is_opened = visit.call.method == Method::GET && visit.session.is_none();
    let cookies = if is_opened { begin(visit)? } else { Vec::new() };
    let document = assets::document(visit.call.headers, document, visit.words.lang, visit.frame.base);
    let mut answer = document.ok_or(PageError::Failed)?;
    for cookie in cookies {
        // A document may be cached; one with a cookie may not.
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// The cookies of a new guest session; none if guests are disabled or too many.
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

/// Whether a person on this machine opens a page, by its address or from a page of ours. A link, an
/// image or a frame of another site does not count, and neither does a health check: only browsers
/// send the `Sec-Fetch` headers.
pub(super) fn is_for_guests(visit: &Visit<'_>) -> bool {
    let (call, site) = (visit.call, visit.site);
    let is_opened = call.header("sec-fetch-dest") == Some("document")
        && call.header("sec-fetch-mode") == Some("navigate")
        && matches!(call.header("sec-fetch-site"), Some("none" | "same-origin"));
    site.guest.is_some() && call.is_local && is_opened
}
