//! The page for setting an account's password with a link from an operator. Opening the page does
//! not consume the link.

use std::time::Duration;

use access::{LinkedAccount, PasswordLinkRefused, Secret};
use hyper::StatusCode;

use super::html::Html;
use super::path;
use super::sign_in::visitor;
use super::visit::{HTML, NOT_OUR_FORM, PAGE, PageError, Sheet, Visit, alert, page, stale};
use crate::kit::Answer;
use crate::kit::cookies::Kind;
use crate::kit::doc::refusals::RETRY_AFTER;
use crate::kit::doc::{AnswerDoc, Doc, Kind as ParameterKind, Media, Parameter, described_only, of_form};

const UNKNOWN: AnswerDoc = AnswerDoc::status("404", "invalid link", HTML);
const GONE: AnswerDoc = AnswerDoc::status("410", "the link was used, was replaced or has expired", HTML);

pub(super) const PASSWORD_PAGE: Doc =
    page("passwordPage", "Page for setting a password with an operator's link")
        .parameters(&[Parameter::query("link", ParameterKind::Text, "secret of the password link")])
        .answers(&[PAGE, UNKNOWN, GONE]);

pub(super) const SET_PASSWORD: Doc = page("setPassword", "Submit the form: set the password")
    .body(&[Media::form::<PasswordForm>()])
    .answers(&[
        AnswerDoc::ok("the password is set", HTML),
        AnswerDoc::status("400", "the password is not acceptable, or the two entries differ", HTML),
        NOT_OUR_FORM,
        UNKNOWN,
        GONE,
        AnswerDoc::status("503", "too many concurrent password checks", HTML).headers(&[RETRY_AFTER]),
    ]);

described_only! {
    #[schemars(inline, transform = of_form)]
    struct PasswordForm {
        csrf: String,
        link: Option<String>,
        name: Option<String>,
        password: Option<String>,
        again: Option<String>,
    }
}

/// Purpose of the form's CSRF token.
const PURPOSE: &str = "set password";

pub(super) fn answer(visit: &Visit<'_>) -> Result<Answer, PageError> {
    if visit.is_post() {
        return set(visit);
    }
    let query = visit.query()?;
    let link = query.get("link");
    match visit.site.core.access.linked_account(link, visit.moment().now) {
        Ok(account) => form(visit, link, &account, None),
        Err(refused) => refusal(visit, refused),
    }
}

fn set(visit: &Visit<'_>) -> Result<Answer, PageError> {
    let mut fields = visit.form()?;
    let cookie = visit.cookie(Kind::Visitor).ok_or_else(|| stale(&fields))?;
    visit.check(&fields, cookie, PURPOSE)?;
    let (password, again) = (Secret::new(fields.take("password")), Secret::new(fields.take("again")));
    let (link, access) = (fields.get("link"), &visit.site.core.access);
    let account = match access.linked_account(link, visit.moment().now) {
        Ok(account) => account,
        Err(refused) => return refusal(visit, refused),
    };
    if password.expose() != again.expose() {
        return form(visit, link, &account, Some(visit.words.password_differ));
    }
    match access.set_password_by_link(link, &password, visit.call.peer.ip(), visit.moment()) {
        Ok(account) => {
            // All browser sessions of the account have ended.
            visit.site.core.check_streams();
            Ok(done(visit, &account))
        }
        Err(PasswordLinkRefused::Unfit(_)) => form(visit, link, &account, Some(visit.words.password_unfit)),
        Err(refused) => refusal(visit, refused),
    }
}

fn form(
    visit: &Visit<'_>,
    link: &str,
    account: &LinkedAccount,
    wrong: Option<&str>,
) -> Result<Answer, PageError> {
    let words = visit.words;
    let (cookie, set) = visitor(visit)?;
    let mut html = Html::default();
    html.p(words.password_lead).raw("\n");
    if let Some(text) = wrong {
        alert(&mut html, text);
    }
    html.raw("<form method=\"post\" action=\"").text(&visit.frame.at(path::PASSWORD)).raw("\">\n");
    html.hidden("csrf", &visit.site.core.access.csrf_token(cookie.expose(), PURPOSE));
    html.hidden("link", link).raw("\n");
    // The name field is included because password managers store the name together with the
    // password.
    html.raw("<label for=\"name\">").text(words.account).raw("</label>\n");
    html.raw("<input id=\"name\" name=\"name\" type=\"text\" autocomplete=\"username\" readonly value=\"");
    html.text(&account.name).raw("\">\n<label for=\"password\">").text(words.password_new).raw("</label>\n");
    html.raw("<input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"new-password\"");
    html.raw(" maxlength=\"1024\" aria-describedby=\"hint\" required autofocus>\n");
    html.raw("<p class=\"hint\" id=\"hint\">").text(words.password_hint).raw("</p>\n");
    html.raw("<label for=\"again\">").text(words.password_again).raw("</label>\n");
    html.raw("<input id=\"again\" name=\"again\" type=\"password\" autocomplete=\"new-password\"");
    html.raw(" maxlength=\"1024\" required>\n<div class=\"choices\"><button class=\"main\" type=\"submit\">");
    html.text(words.password_set_button).raw("</button></div>\n</form>");
    let status = if wrong.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let sheet = Sheet::new(words.password_title, html).status(status);
    Ok(Sheet { cookies: set.into_iter().collect(), ..sheet }.answer(visit.frame))
}

fn done(visit: &Visit<'_>, account: &LinkedAccount) -> Answer {
    let words = visit.words;
    let mut html = Html::default();
    html.raw("<p>").filled(words.password_done_text, &account.name).raw("</p>\n<p>");
    html.a(&visit.frame.at(path::SIGN_IN), words.sign_in).raw("</p>");
    Sheet::new(words.password_done, html).answer(visit.frame)
}

fn refusal(visit: &Visit<'_>, refused: PasswordLinkRefused) -> Result<Answer, PageError> {
    let words = visit.words;
    let (status, text, retry_after) = match refused {
        PasswordLinkRefused::Unknown => (StatusCode::NOT_FOUND, words.password_link_unknown, None),
        PasswordLinkRefused::Used => (StatusCode::GONE, words.password_link_used, None),
        PasswordLinkRefused::Expired => (StatusCode::GONE, words.password_link_expired, None),
        PasswordLinkRefused::Unfit(_) => (StatusCode::BAD_REQUEST, words.password_unfit, None),
        PasswordLinkRefused::Busy => {
            (StatusCode::SERVICE_UNAVAILABLE, words.login_busy, Some(Duration::from_secs(1)))
        }
        PasswordLinkRefused::Failed(error) => return Err(error.into()),
    };
    let mut html = Html::default();
    html.p(text);
    Ok(Sheet { retry_after, ..Sheet::new(words.trouble, html).status(status) }.answer(visit.frame))
}
