//! Consent page of the authorization-code flow. A client sends a user to this page, and the user
//! returns to the client with a code or a refusal. The request stays in the query string and is
//! validated again when the form is submitted. The pages for device codes use parts of this page.

use access::{AuthorizationError, AuthorizationRequest, BadRequest, ClientInfo, IngestSymbols, Permit, Role};
use hyper::StatusCode;

use super::html::Html;
use super::sign_in::{self, sign_out_form};
use super::visit::{
    CLIENT_ID, HTML, NOT_OUR_FORM, PAGE, PageError, Sheet, Visit, fact, page, redirect, sentence,
};
use super::words::Words;
use super::{forms, path};
use crate::kit::Answer;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, described_only, of_form};
use crate::refusal::WrongRegion;

pub(super) const AUTHORIZE: Doc =
    page("authorize", "Consent page of the authorization code flow (RFC 6749, 4.1)")
        .parameters(&[
            Parameter::query("response_type", Kind::Text, "code"),
            CLIENT_ID,
            Parameter::query("redirect_uri", Kind::Text, "one of the client's registered redirect URIs"),
            Parameter::query("state", Kind::Text, "returned unchanged to the client"),
            Parameter::query("scope", Kind::Text, "openapi, 3 or empty"),
            Parameter::query(
                "code_challenge",
                Kind::Text,
                "RFC 7636; required for clients without a secret if the configuration says so",
            ),
            Parameter::query("code_challenge_method", Kind::Text, "S256 or plain"),
        ])
        .answers(&[
            PAGE,
            AnswerDoc::status("303", "redirect to the client with an error", &[]),
            AnswerDoc::status("400", "unknown client or unregistered redirect URI", HTML),
        ]);

pub(super) const DECIDE_AUTHORIZATION: Doc = page("decideAuthorization", "Submit the form: approve or deny")
    .body(&[Media::form::<DecisionForm>()])
    .answers(&[
        AnswerDoc::status("303", "redirect to the client with a code or an error", &[]),
        NOT_OUR_FORM,
    ]);

described_only! {
    #[schemars(inline, transform = of_form)]
    struct DecisionForm {
        csrf: String,
        decision: Option<String>,
    }
}

const PURPOSE: &str = "authorize ";

pub(super) fn answer(visit: &Visit<'_>) -> Result<Answer, PageError> {
    let request = match visit.site.core.access.check_authorization(visit.call.query) {
        Ok(request) => request,
        Err(AuthorizationError::Page(text)) => return Err(PageError::Said(text)),
        Err(AuthorizationError::Client(bad)) => return Ok(not_answered(visit, &bad)),
        Err(AuthorizationError::Failed(error)) => return Err(error.into()),
    };
    if visit.is_post() {
        return decide(visit, &request);
    }
    match &visit.session {
        Some((cookie, permit)) => match elsewhere(visit, cookie, permit)? {
            Some(page) => Ok(page),
            None => question(visit, cookie, permit, &request),
        },
        None => {
            let here = visit.here();
            let Some(next) = forms::safe_next(&here) else { return Err(PageError::Malformed) };
            sign_in::form(visit, &sign_in::Form { next, ..Default::default() })
        }
    }
}

/// Returns the page for an invalid request. The user decides whether to continue to the client's
/// URL with the error. This server must not redirect there automatically, because anyone can
/// register any URL.
fn not_answered(visit: &Visit<'_>, bad: &BadRequest) -> Answer {
    let words = visit.words;
    let place = place(&bad.redirect_uri);
    let mut html = Html::default();
    html.raw("<p>").filled(words.bad_request, &bad.client.name).raw("</p>\n");
    html.p(&sentence(&bad.text)).raw("\n<dl>\n");
    fact(&mut html, words.client_id, &bad.client.id);
    fact(&mut html, words.error, bad.code);
    html.raw("</dl>\n<p><a rel=\"noreferrer\" href=\"").text(&bad.back).raw("\">");
    html.filled(words.go_back, &place).raw("</a></p>");
    Sheet::new(words.trouble, html).status(StatusCode::BAD_REQUEST).answer(visit.frame)
}

/// Returns the purpose of the form's CSRF token, which makes the token valid only for this request.
fn purpose(visit: &Visit<'_>) -> String {
    format!("{PURPOSE}{}", visit.call.query)
}

fn question(
    visit: &Visit<'_>,
    cookie: &str,
    permit: &Permit,
    request: &AuthorizationRequest,
) -> Result<Answer, PageError> {
    let words = visit.words;
    let mut html = Html::default();
    html.raw("<p class=\"lead\">").filled(words.decide_lead, &request.client.name).raw("</p>\n");
    html.p(words.decide_client).raw("\n");
    may(words, &request.scope, permit, &mut html);
    html.raw("<dl>\n");
    who(words, permit, &request.client, &mut html);
    fact(&mut html, words.back_to, &place(&request.redirect_uri));
    html.raw("</dl>\n<form method=\"post\" action=\"").text(&visit.frame.at(&visit.here())).raw("\">\n");
    html.hidden("csrf", &visit.site.core.access.csrf_token(cookie, &purpose(visit)));
    choices(words, &mut html);
    html.raw("</form>\n");
    another(visit, cookie, permit, &mut html);
    // Browsers apply the content security policy to the redirect after the form is submitted, too.
    let leads_to = forms::policy_source(&request.redirect_uri);
    Ok(Sheet { leads_to, ..Sheet::new(words.decide_title, html) }.answer(visit.frame))
}

fn decide(visit: &Visit<'_>, request: &AuthorizationRequest) -> Result<Answer, PageError> {
    let fields = visit.form()?;
    let again = || PageError::StaleForm { next: forms::safe_next(&visit.here()).map(str::to_owned) };
    let Some((cookie, permit)) = &visit.session else { return Err(again()) };
    visit.check(&fields, cookie, &purpose(visit)).map_err(|_| again())?;
    if let Some(page) = elsewhere(visit, cookie, permit)? {
        return Ok(page);
    }
    let (access, now) = (&visit.site.core.access, visit.site.core.machine_now());
    let to = match fields.get("decision") {
        "approve" => access.approve_authorization(request, permit.account().id, now)?,
        "deny" => access.deny_authorization(request, Some(permit.account().id), now)?,
        _ => return Err(PageError::Malformed),
    };
    redirect(&to, Vec::new())
}

/// Returns scheme, host and port of a URL, as the destination shown to the user.
fn place(redirect: &str) -> String {
    let end = redirect.find("://").map_or(0, |at| at + 3);
    let (head, rest) = redirect.split_at(end);
    format!("{head}{}", rest.split(['/', '?']).next().unwrap_or_default())
}

/// Lists a client's permissions. Clients can request only `openapi`, for which the list must
/// include everything that `Scopes::PROGRAM` allows, or `ingest`, which may be limited to symbols.
pub(super) fn may(words: &Words, scope: &str, permit: &Permit, html: &mut Html) {
    html.raw("<h2>").text(words.may_title).raw("</h2>\n<ul>\n");
    if let Some(symbols) = IngestSymbols::of_scope(scope) {
        html.raw("<li>");
        match symbols {
            IngestSymbols::All => html.text(words.may_ingest),
            IngestSymbols::Only(_) => html.filled(words.may_ingest_only, &symbols.to_string()),
        };
        html.raw("</li>\n</ul>\n").p(words.may_only).raw("\n");
        if permit.account().role != Role::Operator {
            html.raw("<p class=\"alert\">").text(words.ingest_needs_operator).raw("</p>\n");
        }
        return;
    }
    for line in words.may {
        html.raw("<li>").text(line).raw("</li>\n");
    }
    html.raw("</ul>\n").p(words.may_not).raw("\n");
    no_operator(words, permit, html);
}

/// Shows the account and the client. The client chose its name; its id and registration date come
/// from this server.
pub(super) fn who(words: &Words, permit: &Permit, client: &ClientInfo, html: &mut Html) {
    fact(html, words.account, &permit.account().name);
    fact(html, words.client_id, &client.id);
    let since: String = client.created_at.to_string().chars().take(10).collect();
    fact(html, words.known_since, &since);
}

pub(super) fn choices(words: &Words, html: &mut Html) {
    html.raw("\n<div class=\"choices\">\n<button class=\"main\" type=\"submit\" name=\"decision\" value=\"approve\">");
    html.text(words.approve).raw("</button>\n<button type=\"submit\" name=\"decision\" value=\"deny\">");
    html.text(words.deny).raw("</button>\n</div>\n");
}

/// Adds a button that signs out, to continue with another account.
pub(super) fn another(visit: &Visit<'_>, cookie: &str, permit: &Permit, html: &mut Html) {
    let here = visit.here();
    let next = forms::safe_next(&here).unwrap_or(path::SIGN_IN);
    html.raw("<div class=\"other\"><span>")
        .filled(visit.words.not_you, &permit.account().name)
        .raw("</span>\n");
    sign_out_form(visit, cookie, next, visit.words.use_another, html);
    html.raw("</div>");
}

/// Returns the page for an account of another region. The account cannot consent here, because the
/// client that uses this listener would never receive the decision.
pub(super) fn elsewhere(
    visit: &Visit<'_>,
    cookie: &str,
    permit: &Permit,
) -> Result<Option<Answer>, PageError> {
    let (region, listener_region, address) =
        match visit.site.core.at_home_of(permit.account().id, visit.call.region) {
            Ok(()) => return Ok(None),
            Err(WrongRegion::Elsewhere { region, listener_region, serves_all_at }) => {
                (region, listener_region, serves_all_at)
            }
            Err(WrongRegion::Unknown(error)) => return Err(error.into()),
        };
    let words = visit.words;
    let text = words.elsewhere.replacen("{}", region.as_str(), 1).replacen("{}", listener_region.as_str(), 1);
    let mut html = Html::default();
    html.p(&text).raw("\n<p>").filled(words.elsewhere_go, &address).raw("</p>\n");
    another(visit, cookie, permit, &mut html);
    Ok(Some(Sheet::new(words.trouble, html).status(StatusCode::FORBIDDEN).answer(visit.frame)))
}

/// Adds a notice for operators that a client does not get their privileges.
fn no_operator(words: &Words, permit: &Permit, html: &mut Html) {
    if permit.account().role == Role::Operator {
        html.raw("<p class=\"alert\">").text(words.no_operator).raw("</p>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_destination_is_scheme_host_and_port() {
        assert_eq!(place("http://localhost:60355/callback?x=1"), "http://localhost:60355");
        assert_eq!(place("https://example.org"), "https://example.org");
        assert_eq!(place("com.example.app:/done"), "com.example.app:");
    }
}
