//! Signing in and out. The sign-in form is on every page that needs a signed-in person
//! (`sign_in_form.rs`); it is submitted here with the address to continue at.

use std::time::Duration;

use access::{Login, LoginRefused, Secret};
use hyper::StatusCode;

use super::docs::{HTML, NOT_OUR_FORM, PAGE, page};
use super::sign_in_form::{Form, GUEST, PURPOSE, PURPOSE_OUT, form};
use super::visit::{PageError, Visit, redirect, stale};
use super::{forms, front, path, programs};
use crate::kit::Answer;
use crate::kit::cookies::Kind;
use crate::kit::doc::refusals::RETRY_AFTER;
use crate::kit::doc::{AnswerDoc, Doc, Kind as ParameterKind, Media, Parameter, described_only, of_form};
use crate::kit::envelope::seconds_up;
use crate::metrics::{Authenticated, Entry};

pub(super) const SIGN_IN_PAGE: Doc = page("signInPage", "Sign in, or see who is signed in")
    .parameters(&[Parameter::query("next", ParameterKind::Text, "a page of this server to go on to")])
    .answers(&[PAGE, AnswerDoc::status("303", "to the page that somebody who is signed in wanted", &[])]);

pub(super) const SIGN_IN: Doc =
    page("signIn", "Sign in, from the form of a page").body(&[Media::form::<SignInForm>()]).answers(&[
        AnswerDoc::status("303", "signed in: on to the next page", &[]),
        AnswerDoc::status(
            "403",
            "account or password is wrong, or not a form that this server made for this browser",
            HTML,
        ),
        AnswerDoc::status("429", "too many tries: wait as retry-after says", HTML).headers(&[RETRY_AFTER]),
        AnswerDoc::status("503", "too many people sign in at the moment", HTML),
    ]);

pub(super) const SIGN_OUT: Doc = page("signOut", "Sign out, from the form of a page")
    .body(&[Media::form::<SignOutForm>()])
    .answers(&[AnswerDoc::status("303", "signed out: on to the next page", &[]), NOT_OUR_FORM]);

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

/// Longest name that is written back into its field.
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
        Some((cookie, permit)) => programs::page(visit, cookie, permit),
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

/// Signs a guest in again, after signing out or when the session has expired.
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
        visit.site.core.access.sign_out(cookie, permit.account().id, visit.site.core.machine_now())?;
    }
    redirect(&visit.frame.at(next), Kind::Session.remove(visit.secure).into_iter().collect())
}
