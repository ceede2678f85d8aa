//! Pages of the device flow. A user enters the code shown by a device, signs in, compares the
//! request, and approves or denies it.
//!
//! Codes are looked up only for signed-in users, so that other visitors cannot guess codes.

use std::time::Duration;

use access::{CodeRefused, DeviceRequest, Permit};
use hyper::StatusCode;

use super::forms::{self, Fields};
use super::html::Html;
use super::sign_in::{self, shown};
use super::visit::{CLIENT_ID, HTML, NOT_OUR_FORM, PAGE, PageError, Sheet, Visit, alert, fact, page, stale};
use super::{authorize, path};
use crate::kit::Answer;
use crate::kit::doc::refusals::RETRY_AFTER;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, described_only, of_form};
use crate::kit::envelope::seconds_up;

pub(super) const CONFIRM_DEVICE: Doc =
    page("confirmDevice", "Enter a device code; with a code and when signed in: approve or deny")
        .parameters(&[Parameter::query("user_code", Kind::Text, "the code shown by the device"), CLIENT_ID])
        .answers(&[
            PAGE,
            AnswerDoc::status("404", "the code is invalid or expired", HTML),
            AnswerDoc::status("429", "too many wrong codes: retry after the time in retry-after", HTML)
                .headers(&[RETRY_AFTER]),
        ]);

pub(super) const DECIDE_DEVICE: Doc =
    page("decideDevice", "Submit the form: approve or deny").body(&[Media::form::<DeviceForm>()]).answers(&[
        AnswerDoc::ok("decided", HTML),
        NOT_OUR_FORM,
        AnswerDoc::status("404", "the request has already been decided or has expired", HTML),
    ]);

described_only! {
    /// Form fields of the device page.
    #[schemars(inline, transform = of_form)]
    struct DeviceForm {
        csrf: String,
        user_code: Option<String>,
        client_id: Option<String>,
        decision: Option<String>,
    }
}

const PURPOSE: &str = "device";

pub(super) fn answer(visit: &Visit<'_>) -> Result<Answer, PageError> {
    if visit.is_post() {
        return decide(visit);
    }
    let query = visit.query()?;
    let typed = EnteredCode::of(&query);
    if typed.code.trim().is_empty() {
        return Ok(ask(visit, typed, CodeNotice::Nothing));
    }
    let Some((cookie, permit)) = &visit.session else {
        let here = visit.here();
        // A URL that sign-in cannot return to has no valid code either.
        let Some(next) = forms::safe_next(&here) else { return Err(PageError::Malformed) };
        return sign_in::form(visit, &sign_in::Form { next, ..Default::default() });
    };
    if let Some(page) = authorize::elsewhere(visit, cookie, permit)? {
        return Ok(page);
    }
    // Any site can link to this page with wrong codes, which would use up the user's attempts.
    if visit.is_from_elsewhere() {
        return Ok(ask(visit, typed, CodeNotice::Linked));
    }
    match look(visit, permit, typed)? {
        Ok(request) => question(visit, cookie, permit, &request),
        Err(refused) => Ok(refused),
    }
}

/// An entered code and, if it came from a link or a form, its client id.
#[derive(Clone, Copy)]
struct EnteredCode<'a> {
    code: &'a str,
    client_id: &'a str,
}

impl<'a> EnteredCode<'a> {
    fn of(fields: &'a Fields) -> EnteredCode<'a> {
        EnteredCode { code: fields.get("user_code"), client_id: fields.get("client_id") }
    }
}

/// Notice above the code form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodeNotice {
    Nothing,
    /// The code came with a link from another site.
    Linked,
    Wrong,
    Wait(Duration),
}

/// Returns the device request for a code, or a page that explains why there is no request.
fn look(
    visit: &Visit<'_>,
    permit: &Permit,
    typed: EnteredCode<'_>,
) -> Result<Result<DeviceRequest, Answer>, PageError> {
    let EnteredCode { code, client_id } = typed;
    let access = &visit.site.core.access;
    let find = || {
        let found = access.pending_device(code, visit.site.core.machine_now())?;
        // A link contains the client of its code. A mismatch means that the link was tampered with.
        Ok(found.filter(|request| client_id.is_empty() || request.client.id == client_id))
    };
    let uptime = visit.site.core.uptime();
    Ok(match access.guess_code(visit.call.peer.ip(), permit.account().id, uptime, find) {
        Ok(Some(request)) => Ok(request),
        Ok(None) => Err(ask(visit, typed, CodeNotice::Wrong)),
        Err(CodeRefused::Wait(wait)) => Err(ask(visit, typed, CodeNotice::Wait(wait))),
        Err(CodeRefused::Failed(error)) => return Err(error.into()),
    })
}

/// Returns the page for entering a code, with a notice about the last attempt.
fn ask(visit: &Visit<'_>, typed: EnteredCode<'_>, said: CodeNotice) -> Answer {
    let words = visit.words;
    let mut html = Html::default();
    let (status, retry_after) = match said {
        CodeNotice::Nothing => (StatusCode::OK, None),
        CodeNotice::Linked => {
            alert(&mut html, words.code_linked);
            (StatusCode::OK, None)
        }
        CodeNotice::Wrong => {
            alert(&mut html, words.code_wrong);
            (StatusCode::NOT_FOUND, None)
        }
        CodeNotice::Wait(wait) => {
            alert(&mut html, &words.code_wait.replacen("{}", &seconds_up(wait).max(1).to_string(), 1));
            (StatusCode::TOO_MANY_REQUESTS, Some(wait))
        }
    };
    html.p(words.code_hint).raw("\n<form method=\"get\" action=\"").text(&visit.frame.at(path::CONFIRM));
    html.raw("\">\n");
    if said == CodeNotice::Linked && !typed.client_id.is_empty() {
        html.hidden("client_id", typed.client_id);
    }
    html.raw("<label for=\"code\">")
        .text(words.code)
        .raw("</label>\n<input id=\"code\" class=\"code\" name=\"user_code\"");
    html.raw(
        " type=\"text\" autocomplete=\"one-time-code\" autocapitalize=\"characters\" spellcheck=\"false\"",
    );
    html.raw(" maxlength=\"20\" placeholder=\"XXXX-XXXX\" required autofocus value=\"");
    html.text(&shown(typed.code).unwrap_or_default());
    html.raw("\">\n<div class=\"choices\"><button class=\"main\" type=\"submit\">").text(words.go_on);
    html.raw("</button></div>\n</form>");
    Sheet { retry_after, ..Sheet::new(words.code_title, html).status(status) }.answer(visit.frame)
}

fn question(
    visit: &Visit<'_>,
    cookie: &str,
    permit: &Permit,
    request: &DeviceRequest,
) -> Result<Answer, PageError> {
    let words = visit.words;
    let mut html = Html::default();
    html.raw("<p class=\"lead\">").filled(words.decide_lead, &request.client.name).raw("</p>\n");
    html.raw("<p class=\"bigcode\">").text(&request.user_code).raw("</p>\n").p(words.decide_device).raw("\n");
    authorize::may(words, &request.scope, permit, &mut html);
    html.raw("<dl>\n");
    authorize::who(words, permit, &request.client, &mut html);
    let minutes = visit.site.core.machine_now().0.saturating_sub(request.created_at.0).max(0) / 60;
    let requested = match minutes {
        0 => words.just_now.to_owned(),
        minutes => words.minutes_ago.replacen("{}", &minutes.to_string(), 1),
    };
    fact(&mut html, words.asked, &requested);
    html.raw("</dl>\n<form method=\"post\" action=\"").text(&visit.frame.at(path::CONFIRM)).raw("\">\n");
    html.hidden("csrf", &visit.site.core.access.csrf_token(cookie, PURPOSE));
    html.hidden("user_code", &request.user_code).hidden("client_id", &request.client.id);
    authorize::choices(words, &mut html);
    html.raw("</form>\n");
    authorize::another(visit, cookie, permit, &mut html);
    Ok(Sheet::new(words.decide_title, html).answer(visit.frame))
}

fn decide(visit: &Visit<'_>) -> Result<Answer, PageError> {
    let fields = visit.form()?;
    let typed = EnteredCode::of(&fields);
    let Some((cookie, permit)) = &visit.session else { return Err(stale(&fields)) };
    visit.check(&fields, cookie, PURPOSE)?;
    let approve = match fields.get("decision") {
        "approve" => true,
        "deny" => false,
        _ => return Err(PageError::Malformed),
    };
    if let Some(page) = authorize::elsewhere(visit, cookie, permit)? {
        return Ok(page);
    }
    let request = match look(visit, permit, typed)? {
        Ok(request) => request,
        Err(refused) => return Ok(refused),
    };
    let now = visit.site.core.machine_now();
    if !visit.site.core.access.decide_device(typed.code, permit.account().id, approve, now)? {
        return Ok(ask(visit, typed, CodeNotice::Wrong));
    }
    let words = visit.words;
    let (title, text) =
        if approve { (words.approved, words.approved_text) } else { (words.denied, words.denied_text) };
    let mut html = Html::default();
    html.raw("<p>")
        .filled(text, &request.client.name)
        .raw("</p>\n<p><a href=\"")
        .text(&visit.frame.at(path::CONFIRM))
        .raw("\">");
    html.text(words.code_other).raw("</a></p>");
    Ok(Sheet::new(title, html).answer(visit.frame))
}
