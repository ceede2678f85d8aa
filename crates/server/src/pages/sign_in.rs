//! Sign-in and sign-out, and the page of the signed-in user. Every page that needs a signed-in user
//! shows the sign-in form, which is submitted here with the URL to return to.

use std::time::Duration;

use access::{Actor, IngestSymbols, Login, LoginRefused, Permit, Secret};
use hyper::StatusCode;
use hyper::header::HeaderValue;

use super::forms::{self, Fields};
use super::html::Html;
use super::visit::{HTML, NOT_OUR_FORM, PAGE, PageError, Sheet, Visit, alert, page, redirect, stale};
use super::{front, path};
use crate::kit::Answer;
use crate::kit::cookies::Kind;
use crate::kit::doc::refusals::RETRY_AFTER;
use crate::kit::doc::{AnswerDoc, Doc, Kind as ParameterKind, Media, Parameter, described_only, of_form};
use crate::kit::envelope::seconds_up;
use crate::metrics::{Authenticated, Entry};

pub(super) const SIGN_IN_PAGE: Doc =
    page("signInPage", "Sign-in page, which also shows the account that is signed in")
        .parameters(&[Parameter::query(
            "next",
            ParameterKind::Text,
            "page of this server to open after signing in",
        )])
        .answers(&[PAGE, AnswerDoc::status("303", "already signed in; redirect to the requested page", &[])]);

pub(super) const SIGN_IN: Doc =
    page("signIn", "Submit the form: sign in").body(&[Media::form::<SignInForm>()]).answers(&[
        AnswerDoc::status("303", "signed in; redirect to the next page", &[]),
        AnswerDoc::status("403", "wrong account or password, or missing or invalid CSRF token", HTML),
        AnswerDoc::status("429", "too many attempts: retry after the time in retry-after", HTML)
            .headers(&[RETRY_AFTER]),
        AnswerDoc::status("503", "too many concurrent sign-ins", HTML),
    ]);

pub(super) const SIGN_OUT: Doc = page("signOut", "Submit the form: sign out")
    .body(&[Media::form::<SignOutForm>()])
    .answers(&[AnswerDoc::status("303", "signed out; redirect to the next page", &[]), NOT_OUR_FORM]);

described_only! {
    #[schemars(inline, transform = of_form)]
    struct SignInForm {
        csrf: String,
        next: Option<String>,
        name: Option<String>,
        password: Option<String>,
    }

    #[schemars(inline, transform = of_form)]
    struct SignOutForm {
        csrf: String,
        next: Option<String>,
    }
}

/// Maximum length in characters of a name that is echoed in the form.
const NAME_SHOWN_MAX: usize = 64;

pub(super) fn answer(visit: &Visit<'_>) -> Result<Answer, PageError> {
    if visit.is_post() {
        return sign_in(visit);
    }
    let query = visit.query()?;
    let next = forms::safe_next(visit.frame.within(query.get("next")));
    match &visit.session {
        None => form(visit, &Form { next: next.unwrap_or(path::CHART), ..Form::default() }),
        Some(_) if next.is_some_and(|next| !next.starts_with(path::SIGN_IN)) => {
            redirect(&visit.frame.at(next.unwrap_or(path::SIGN_IN)), Vec::new())
        }
        Some((cookie, permit)) => programs(visit, cookie, permit),
    }
}

fn sign_in(visit: &Visit<'_>) -> Result<Answer, PageError> {
    let mut fields = visit.form()?;
    let cookie = visit.cookie(Kind::Visitor).ok_or_else(|| stale(&fields))?;
    visit.check(&fields, cookie, PURPOSE)?;
    let password = Secret::new(fields.take("password"));
    let next = forms::safe_next(fields.get("next")).unwrap_or(path::CHART);
    if !fields.get(GUEST).is_empty() {
        return guest(visit, next);
    }
    let login = Login {
        name: fields.get("name"),
        password: &password,
        address: visit.call.peer.ip(),
        device: visit.cookie(Kind::Device),
    };
    let words = visit.words;
    let refused = match visit.site.core.access.sign_in(&login, visit.moment()) {
        Ok(signed_in) => {
            visit.site.core.metrics.credentials(Entry::Page, Authenticated::Accepted);
            let session = Kind::Session.set(&signed_in.session, visit.secure);
            let device = Kind::Device.set(&signed_in.device, visit.secure);
            return redirect(&visit.frame.at(next), session.into_iter().chain(device).collect());
        }
        Err(refused) => refused,
    };
    visit.site.core.metrics.credentials(Entry::Page, Authenticated::Refused);
    let (status, text, retry_after) = match refused {
        LoginRefused::Wrong => (StatusCode::FORBIDDEN, words.login_wrong.to_owned(), None),
        LoginRefused::Wait(wait) => {
            let text = words.login_wait.replacen("{}", &seconds_up(wait).max(1).to_string(), 1);
            (StatusCode::TOO_MANY_REQUESTS, text, Some(wait))
        }
        LoginRefused::Busy => {
            let wait = Duration::from_secs(1);
            (StatusCode::SERVICE_UNAVAILABLE, words.login_busy.to_owned(), Some(wait))
        }
        LoginRefused::Failed(error) => return Err(error.into()),
    };
    let name: String = fields.get("name").chars().take(NAME_SHOWN_MAX).collect();
    let again = Form { next, alert: Some(text), name: &name, status: Some(status), retry_after };
    form(visit, &again)
}

/// Signs a guest in again after sign-out or session expiry.
fn guest(visit: &Visit<'_>, next: &str) -> Result<Answer, PageError> {
    let cookies = front::begin(visit)?;
    if cookies.is_empty() {
        let (status, wait) = (StatusCode::SERVICE_UNAVAILABLE, Duration::from_secs(1));
        let alert = Some(visit.words.login_busy.to_owned());
        return form(visit, &Form { next, alert, name: "", status: Some(status), retry_after: Some(wait) });
    }
    redirect(&visit.frame.at(next), cookies)
}

pub(super) fn sign_out(visit: &Visit<'_>) -> Result<Answer, PageError> {
    let fields = visit.form()?;
    let next = forms::safe_next(fields.get("next")).unwrap_or(path::SIGN_IN);
    if let Some((cookie, permit)) = &visit.session {
        visit.check(&fields, cookie, PURPOSE_OUT)?;
        let core = &visit.site.core;
        core.access.sign_out(cookie, permit.account().id, core.machine_now())?;
        core.check_streams();
    }
    redirect(&visit.frame.at(next), Kind::Session.remove(visit.secure).into_iter().collect())
}

pub(super) const PURPOSE: &str = "sign in";
/// Form field that marks a guest sign-in.
pub(super) const GUEST: &str = "guest";
pub(super) const PURPOSE_OUT: &str = "sign out";
/// Maximum length in characters of a displayed code, including spaces typed by the user.
const CODE_SHOWN_MAX: usize = 16;

/// Contents of a sign-in form.
#[derive(Default)]
pub(super) struct Form<'a> {
    /// URL to return to after the sign-in.
    pub(super) next: &'a str,
    /// Error message of the last attempt.
    pub(super) alert: Option<String>,
    pub(super) name: &'a str,
    pub(super) status: Option<StatusCode>,
    pub(super) retry_after: Option<Duration>,
}

/// Returns the page with the sign-in form.
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
    // After a failed attempt the password field has the focus.
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

/// Returns a sentence that explains why a sign-in is needed, depending on the URL to return to.
/// Returns `None` if that URL needs no explanation.
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

/// Returns the visitor cookie and, if the cookie is new, the header that sets it.
pub(super) fn visitor(visit: &Visit<'_>) -> Result<(Secret, Option<HeaderValue>), PageError> {
    if let Some(cookie) = visit.cookie(Kind::Visitor) {
        return Ok((Secret::new(cookie.to_owned()), None));
    }
    let cookie = visit.site.core.access.visitor()?;
    let set = Kind::Visitor.set(&cookie, visit.secure);
    Ok((cookie, set))
}

/// Adds a button that signs out and continues to a page that requires a sign-in.
pub(super) fn sign_out_form(visit: &Visit<'_>, cookie: &str, next: &str, text: &str, html: &mut Html) {
    html.raw("<form class=\"aside\" method=\"post\" action=\"")
        .text(&visit.frame.at(path::SIGN_OUT))
        .raw("\">");
    html.hidden("csrf", &visit.site.core.access.csrf_token(cookie, PURPOSE_OUT)).hidden("next", next);
    html.raw("<button class=\"quiet\" type=\"submit\">").text(text).raw("</button></form>\n");
}

/// Returns a code as typed, in upper case, or `None` if its form is not plausible.
pub(super) fn shown(code: &str) -> Option<String> {
    let code = code.trim().to_uppercase();
    let fits = code.chars().count() <= CODE_SHOWN_MAX
        && code.chars().all(|letter| letter.is_ascii_alphanumeric() || " -".contains(letter));
    (fits && !code.is_empty()).then_some(code)
}

pub(super) const END_PROGRAM: Doc = page("endProgram", "Submit the form: end a program's access")
    .body(&[Media::form::<EndForm>()])
    .answers(&[AnswerDoc::status("303", "ended; redirect to the page", &[]), NOT_OUR_FORM]);

described_only! {
    #[schemars(inline, transform = of_form)]
    struct EndForm {
        csrf: String,
        id: Option<String>,
    }
}

const END_PURPOSE: &str = "end ";

/// Lists the OAuth clients with access to the signed-in user's account, each with a button to
/// revoke its access.
fn programs(visit: &Visit<'_>, cookie: &str, permit: &Permit) -> Result<Answer, PageError> {
    let (words, access) = (visit.words, &visit.site.core.access);
    let mut html = Html::default();
    html.raw("<p>").filled(words.signed_in_as, &permit.account().name).raw("</p>\n<ul>\n");
    let ways = [
        (path::CHART, words.chart),
        (path::PORTFOLIO, words.portfolio),
        (path::TOPICS, words.topics),
        (path::QUOTA, words.dashboard),
        (path::CONFIRM, words.code_title),
    ];
    for (path, name) in ways {
        html.raw("<li>").a(&visit.frame.at(path), name).raw("</li>\n");
    }
    html.raw("</ul>\n<h2>").text(words.programs).raw("</h2>\n");
    let programs = access.sign_ins(permit.account().id, visit.site.core.machine_now())?;
    if programs.is_empty() {
        html.p(words.no_programs);
    } else {
        html.raw("<ul class=\"rows\">\n");
    }
    for program in &programs {
        let since: String = program.since.to_string().chars().take(10).collect();
        html.raw("<li><span>").text(&program.client.name).raw("<br><small>").filled(words.since, &since);
        if IngestSymbols::of_scope(&program.scope).is_some() {
            html.raw("<br>").text(&program.scope);
        }
        html.raw("</small></span>\n<form method=\"post\" action=\"")
            .text(&visit.frame.at(path::END))
            .raw("\">");
        html.hidden("csrf", &access.csrf_token(cookie, &format!("{END_PURPOSE}{}", program.id)));
        html.hidden("id", &program.id).raw("<button type=\"submit\" aria-label=\"");
        html.text(&format!("{}: {}", words.end_access, program.client.name))
            .raw("\">")
            .text(words.end_access);
        html.raw("</button></form></li>\n");
    }
    if !programs.is_empty() {
        html.raw("</ul>\n");
    }
    sign_out_form(visit, cookie, path::SIGN_IN, words.sign_out, &mut html);
    Ok(Sheet::new(words.signed_in, html).answer(visit.frame))
}

pub(super) fn end_program(visit: &Visit<'_>) -> Result<Answer, PageError> {
    let fields = visit.form()?;
    let Some((cookie, permit)) = &visit.session else { return Err(stale(&fields)) };
    let id = fields.get("id");
    visit.check(&fields, cookie, &format!("{END_PURPOSE}{id}"))?;
    let (by, now) = (Actor::Account(permit.account().id), visit.site.core.machine_now());
    // Access that has ended in the meantime is not an error.
    visit.site.core.access.end_sign_in(permit.account().id, id, &by, now)?;
    redirect(&visit.frame.at(path::SIGN_IN), Vec::new())
}
