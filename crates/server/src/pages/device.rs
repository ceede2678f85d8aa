//! A device waits, and a person decides: they type its code, sign in, compare, and approve or deny.
//!
//! Codes are looked at only for somebody who is signed in, so that nobody else can try them out.

use std::time::Duration;

use access::{CodeRefused, DeviceRequest, Permit};
use hyper::StatusCode;

use super::consent;
use super::forms::Fields;
use super::html::Html;
use super::sign_in_form::{self, shown};
use super::visit::{Sheet, Trouble, Visit, alert, fact, seconds_up, stale};
use super::{forms, home, path};
use crate::kit::Answer;

const PURPOSE: &str = "device";

pub(super) fn answer(visit: &Visit<'_>) -> Result<Answer, Trouble> {
    if visit.is_post() {
        return decide(visit);
    }
    let query = visit.query()?;
    let typed = Typed::of(&query);
    if typed.code.trim().is_empty() {
        return Ok(ask(visit, typed, Said::Nothing));
    }
    let Some((cookie, permit)) = &visit.session else {
        let here = visit.here();
        // An address that cannot be come back to is no code either.
        let Some(next) = forms::safe_next(&here) else { return Err(Trouble::Malformed) };
        return sign_in_form::form(visit, &sign_in_form::Form { next, ..Default::default() });
    };
    if let Some(page) = home::elsewhere(visit, cookie, permit)? {
        return Ok(page);
    }
    // Any site can send people here with codes that are wrong, and use up their tries.
    if visit.is_from_elsewhere() {
        return Ok(ask(visit, typed, Said::Linked));
    }
    match look(visit, permit, typed)? {
        Ok(request) => question(visit, cookie, permit, &request),
        Err(refused) => Ok(refused),
    }
}

/// A code and, of a link or a form, whose it is.
#[derive(Clone, Copy)]
struct Typed<'a> {
    code: &'a str,
    client_id: &'a str,
}

impl<'a> Typed<'a> {
    fn of(fields: &'a Fields) -> Typed<'a> {
        Typed { code: fields.get("user_code"), client_id: fields.get("client_id") }
    }
}

/// What is to be said above the form for a code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    /// Another site has filled it in.
    Linked,
    Wrong,
    Wait(Duration),
}

/// The request of a code, or the page that says why there is none.
fn look(
    visit: &Visit<'_>,
    permit: &Permit,
    typed: Typed<'_>,
) -> Result<Result<DeviceRequest, Answer>, Trouble> {
    let Typed { code, client_id } = typed;
    let access = &visit.site.core.access;
    let find = || {
        let found = access.pending_device(code, visit.site.core.machine_now())?;
        // A link names its client; one that names another has been tampered with.
        Ok(found.filter(|request| client_id.is_empty() || request.client.id == client_id))
    };
    let uptime = visit.site.core.uptime();
    Ok(match access.guess_code(visit.call.peer.ip(), permit.account().id, uptime, find) {
        Ok(Some(request)) => Ok(request),
        Ok(None) => Err(ask(visit, typed, Said::Wrong)),
        Err(CodeRefused::Wait(wait)) => Err(ask(visit, typed, Said::Wait(wait))),
        Err(CodeRefused::Failed(error)) => return Err(error.into()),
    })
}

/// The page to type a code, with what is to be said about the one that is there.
fn ask(visit: &Visit<'_>, typed: Typed<'_>, said: Said) -> Answer {
    let words = visit.words;
    let mut html = Html::default();
    let (status, retry_after) = match said {
        Said::Nothing => (StatusCode::OK, None),
        Said::Linked => {
            alert(&mut html, words.code_linked);
            (StatusCode::OK, None)
        }
        Said::Wrong => {
            alert(&mut html, words.code_wrong);
            (StatusCode::NOT_FOUND, None)
        }
        Said::Wait(wait) => {
            alert(&mut html, &words.code_wait.replacen("{}", &seconds_up(wait).to_string(), 1));
            (StatusCode::TOO_MANY_REQUESTS, Some(wait))
        }
    };
    html.p(words.code_hint).raw("\n<form method=\"get\" action=\"").text(&visit.frame.at(path::CONFIRM));
    html.raw("\">\n");
    if said == Said::Linked && !typed.client_id.is_empty() {
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
) -> Result<Answer, Trouble> {
    let words = visit.words;
    let mut html = Html::default();
    html.raw("<p class=\"lead\">").filled(words.decide_lead, &request.client.name).raw("</p>\n");
    html.raw("<p class=\"bigcode\">").text(&request.user_code).raw("</p>\n").p(words.decide_device).raw("\n");
    consent::may(words, &mut html);
    home::no_operator(words, permit, &mut html);
    html.raw("<dl>\n");
    consent::who(words, permit, &request.client, &mut html);
    let minutes = visit.site.core.machine_now().0.saturating_sub(request.created_at.0).max(0) / 60;
    let asked = match minutes {
        0 => words.just_now.to_owned(),
        minutes => words.minutes_ago.replacen("{}", &minutes.to_string(), 1),
    };
    fact(&mut html, words.asked, &asked);
    html.raw("</dl>\n<form method=\"post\" action=\"").text(&visit.frame.at(path::CONFIRM)).raw("\">\n");
    html.hidden("csrf", &visit.site.core.access.csrf_token(cookie, PURPOSE));
    html.hidden("user_code", &request.user_code).hidden("client_id", &request.client.id);
    consent::choices(words, &mut html);
    html.raw("</form>\n");
    consent::another(visit, cookie, permit, &mut html);
    Ok(Sheet::new(words.decide_title, html).answer(visit.frame))
}

fn decide(visit: &Visit<'_>) -> Result<Answer, Trouble> {
    let fields = visit.form()?;
    let typed = Typed::of(&fields);
    let Some((cookie, permit)) = &visit.session else { return Err(stale(&fields)) };
    visit.check(&fields, cookie, PURPOSE)?;
    let approve = match fields.get("decision") {
        "approve" => true,
        "deny" => false,
        _ => return Err(Trouble::Malformed),
    };
    if let Some(page) = home::elsewhere(visit, cookie, permit)? {
        return Ok(page);
    }
    let request = match look(visit, permit, typed)? {
        Ok(request) => request,
        Err(refused) => return Ok(refused),
    };
    let now = visit.site.core.machine_now();
    if !visit.site.core.access.decide_device(typed.code, permit.account().id, approve, now)? {
        return Ok(ask(visit, typed, Said::Wrong));
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
