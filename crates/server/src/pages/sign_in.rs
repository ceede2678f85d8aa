//! Signing in and out. The form to sign in stands on whatever page needs somebody; it is sent here with the address to
//! go on to.

use access::{Login, LoginRefused};
use hyper::StatusCode;
use hyper::header::HeaderValue;

use super::*;
use crate::metrics::{Entry, Proven};

const PURPOSE: &str = "sign in";
/// The field of a form that a guest sends.
const GUEST: &str = "guest";
const PURPOSE_OUT: &str = "sign out";
/// What of a name is written back into its field.
const NAME_SHOWN_MAX: usize = 64;

/// What a form to sign in says and knows.
#[derive(Default)]
pub(super) struct Form<'a> {
    /// Where to go on to.
    pub(super) next: &'a str,
    /// What was wrong before.
    pub(super) alert: Option<String>,
    pub(super) name: &'a str,
    pub(super) status: Option<StatusCode>,
    pub(super) retry_after: Option<Duration>,
}

pub(super) fn answer(visit: &Visit<'_>) -> Result<Answer, Trouble> {
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
        Some((cookie, browser)) => programs::page(visit, cookie, browser),
    }
}

/// The page with a form to sign in.
pub(super) fn form(visit: &Visit<'_>, form: &Form<'_>) -> Result<Answer, Trouble> {
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
        html.hidden("csrf", &visit.services.access.form_mark(cookie.expose(), PURPOSE));
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
    // After a slip it is the password that is typed again.
    html.raw(if form.name.is_empty() { " autofocus value=\"" } else { " value=\"" }).text(form.name);
    html.raw("\">\n<label for=\"password\">").text(words.password).raw("</label>\n");
    html.raw("<input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\"");
    html.raw(" maxlength=\"1024\" required").raw(if form.name.is_empty() { ">" } else { " autofocus>" });
    html.raw("\n<div class=\"choices\"><button class=\"main\" type=\"submit\">").text(words.sign_in);
    html.raw("</button></div>\n</form>\n<p class=\"hint\">").text(words.sign_in_help).raw("</p>");
    let sheet = Sheet {
        retry_after: form.retry_after,
        cookies: set.into_iter().collect(),
        ..Sheet::new(words.sign_in, html).status(form.status.unwrap_or_default())
    };
    Ok(sheet.answer(visit.frame))
}

/// Why somebody should sign in, going by where they want to go on to.
fn lead(visit: &Visit<'_>, next: &str) -> Option<String> {
    let (page, query) = next.split_once('?')?;
    let (sentence, words) = match page {
        path::CONFIRM => {
            let query = Fields::parse(query.as_bytes()).ok()?;
            (visit.words.sign_in_for_code, device::shown(query.get("user_code"))?)
        }
        path::AUTHORIZE => {
            let request = visit.services.access.check_authorization(query).ok()?;
            (visit.words.sign_in_for_client, request.client.name)
        }
        _ => return None,
    };
    Some(sentence.replacen("{}", &words, 1))
}

/// The visitor's cookie, and if it is new how to set it.
fn visitor(visit: &Visit<'_>) -> Result<(Secret, Option<HeaderValue>), Trouble> {
    if let Some(cookie) = visit.cookie(Kind::Visitor) {
        return Ok((Secret::new(cookie.to_owned()), None));
    }
    let cookie = visit.services.access.visitor()?;
    let set = Kind::Visitor.set(&cookie, visit.secure);
    Ok((cookie, set))
}

fn sign_in(visit: &Visit<'_>) -> Result<Answer, Trouble> {
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
        address: visit.asked.peer.ip(),
        device: visit.cookie(Kind::Device),
    };
    let words = visit.words;
    let refused = match visit.services.access.sign_in(&login, visit.moment()) {
        Ok(signed_in) => {
            visit.services.metrics.proof(Entry::Page, Proven::Accepted);
            let session = Kind::Session.set(&signed_in.session, visit.secure);
            let device = Kind::Device.set(&signed_in.device, visit.secure);
            return redirect(&visit.frame.at(next), session.into_iter().chain(device).collect());
        }
        Err(refused) => refused,
    };
    visit.services.metrics.proof(Entry::Page, Proven::Refused);
    let (status, text, retry_after) = match refused {
        LoginRefused::Wrong => (StatusCode::FORBIDDEN, words.login_wrong.to_owned(), None),
        LoginRefused::Wait(wait) => {
            let text = words.login_wait.replacen("{}", &seconds_up(wait).to_string(), 1);
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

/// Whoever may come without a password comes without one again, after signing out or when the session has run out.
fn guest(visit: &Visit<'_>, next: &str) -> Result<Answer, Trouble> {
    let cookies = front::begin(visit)?;
    if cookies.is_empty() {
        let (status, wait) = (StatusCode::SERVICE_UNAVAILABLE, Duration::from_secs(1));
        let alert = Some(visit.words.login_busy.to_owned());
        return form(visit, &Form { next, alert, name: "", status: Some(status), retry_after: Some(wait) });
    }
    redirect(&visit.frame.at(next), cookies)
}

/// A button that ends the session and goes on to a page that asks for somebody again.
pub(super) fn sign_out_form(visit: &Visit<'_>, cookie: &str, next: &str, text: &str, html: &mut Html) {
    html.raw("<form class=\"aside\" method=\"post\" action=\"")
        .text(&visit.frame.at(path::SIGN_OUT))
        .raw("\">");
    html.hidden("csrf", &visit.services.access.form_mark(cookie, PURPOSE_OUT)).hidden("next", next);
    html.raw("<button class=\"quiet\" type=\"submit\">").text(text).raw("</button></form>\n");
}

pub(super) fn sign_out(visit: &Visit<'_>) -> Result<Answer, Trouble> {
    let fields = visit.form()?;
    let next = forms::safe_next(fields.get("next")).unwrap_or(path::SIGN_IN);
    if let Some((cookie, browser)) = &visit.session {
        visit.check(&fields, cookie, PURPOSE_OUT)?;
        visit.services.access.sign_out(cookie, browser, visit.services.machine_now())?;
    }
    redirect(&visit.frame.at(next), Kind::Session.remove(visit.secure).into_iter().collect())
}
