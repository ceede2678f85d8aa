//! The sign-in and sign-out forms, on every page that needs a signed-in person.

use std::time::Duration;

use access::Secret;
use hyper::StatusCode;
use hyper::header::HeaderValue;

use super::forms::Fields;
use super::front;
use super::html::Html;
use super::path;
use super::visit::{PageError, Sheet, Visit, alert};
use crate::kit::Answer;
use crate::kit::cookies::Kind;

pub(super) const PURPOSE: &str = "sign in";
/// The field that marks the form of a guest.
pub(super) const GUEST: &str = "guest";
pub(super) const PURPOSE_OUT: &str = "sign out";
/// The length of a code with the blanks that people type.
const CODE_SHOWN_MAX: usize = 16;

/// The contents of a sign-in form.
#[derive(Default)]
pub(super) struct Form<'a> {
    /// The address to continue at.
    pub(super) next: &'a str,
    /// The error of the last attempt.
    pub(super) alert: Option<String>,
    pub(super) name: &'a str,
    pub(super) status: Option<StatusCode>,
    pub(super) retry_after: Option<Duration>,
}

/// The page with the sign-in form.
pub(super) fn form(visit: &Visit<'_>, form: &Form<'_>) -> Result<Answer, PageError> {
    let words = visit.words;
    let (cookie, set) = visitor(visit)?;
    let mut html = Html::default();
    if let Some(lead) = lead(visit, form.next) {
        html.p(&lead).raw("\n");
    }
    if let Some(text) = &form.alert {
        alert(&mut html, text);
    }
    let begin = |html: &mut Html| {
        html.raw("<form method=\"post\" action=\"").text(&visit.frame.at(path::SIGN_IN)).raw("\">\n");
        html.hidden("csrf", &visit.site.core.access.csrf_token(cookie.expose(), PURPOSE));
        html.hidden("next", form.next).raw("\n");
    };
    if front::is_for_guests(visit) {
        html.p(words.guest_lead).raw("\n");
        begin(&mut html);
        html.hidden(GUEST, "1").raw("<button class=\"main\" type=\"submit\">").text(words.guest_go_on);
        html.raw("</button>\n</form>\n<h2>").text(words.sign_in).raw("</h2>\n");
    }
    begin(&mut html);
    html.raw("<label for=\"name\">").text(words.account);
    html.raw("</label>\n<input id=\"name\" name=\"name\" type=\"text\" autocomplete=\"username\" autocapitalize=\"none\"");
    html.raw(" spellcheck=\"false\" maxlength=\"64\" required");
    // After a wrong attempt the focus is on the password.
    html.raw(if form.name.is_empty() { " autofocus value=\"" } else { " value=\"" }).text(form.name);
    html.raw("\">\n<label for=\"password\">").text(words.password).raw("</label>\n");
    html.raw("<input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\"");
    html.raw(" maxlength=\"1024\" required").raw(if form.name.is_empty() { ">" } else { " autofocus>" });
    html.raw("\n<div class=\"choices\"><button class=\"main\" type=\"submit\">").text(words.sign_in);
    html.raw("</button></div>\n</form>\n<p class=\"hint\">").text(words.sign_in_help).raw("</p>");
    if visit.site.has_sign_in_links && visit.call.is_local {
        html.raw("\n<p class=\"hint\">").text(words.link_hint).raw("</p>");
    }
    let sheet = Sheet {
        retry_after: form.retry_after,
        cookies: set.into_iter().collect(),
        ..Sheet::new(words.sign_in, html).status(form.status.unwrap_or_default())
    };
    Ok(sheet.answer(visit.frame))
}

/// Why to sign in, by the address to continue at.
fn lead(visit: &Visit<'_>, next: &str) -> Option<String> {
    let (page, query) = next.split_once('?')?;
    let (sentence, words) = match page {
        path::CONFIRM => {
            let query = Fields::parse(query.as_bytes()).ok()?;
            (visit.words.sign_in_for_code, shown(query.get("user_code"))?)
        }
        path::AUTHORIZE => {
            let request = visit.site.core.access.check_authorization(query).ok()?;
            (visit.words.sign_in_for_client, request.client.name)
        }
        _ => return None,
    };
    Some(sentence.replacen("{}", &words, 1))
}

/// The visitor's cookie and, if it is new, the header that sets it.
pub(super) fn visitor(visit: &Visit<'_>) -> Result<(Secret, Option<HeaderValue>), PageError> {
    if let Some(cookie) = visit.cookie(Kind::Visitor) {
        return Ok((Secret::new(cookie.to_owned()), None));
    }
    let cookie = visit.site.core.access.visitor()?;
    let set = Kind::Visitor.set(&cookie, visit.secure);
    Ok((cookie, set))
}

/// A button that signs out and continues at a page that requires a sign-in.
pub(super) fn sign_out_form(visit: &Visit<'_>, cookie: &str, next: &str, text: &str, html: &mut Html) {
    html.raw("<form class=\"aside\" method=\"post\" action=\"")
        .text(&visit.frame.at(path::SIGN_OUT))
        .raw("\">");
    html.hidden("csrf", &visit.site.core.access.csrf_token(cookie, PURPOSE_OUT)).hidden("next", next);
    html.raw("<button class=\"quiet\" type=\"submit\">").text(text).raw("</button></form>\n");
}

/// A code as typed, if it could be one.
pub(super) fn shown(code: &str) -> Option<String> {
    let code = code.trim().to_uppercase();
    let fits = code.chars().count() <= CODE_SHOWN_MAX
        && code.chars().all(|letter| letter.is_ascii_alphanumeric() || " -".contains(letter));
    (fits && !code.is_empty()).then_some(code)
}
