//! The pages, described: what a program that sees one has come upon.

use schemars::JsonSchema;

use crate::kit::doc::refusals::RETRY_AFTER;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, of_form};

const HTML: &[Media] = &[Media::text("text/html")];
const PAGE: AnswerDoc = AnswerDoc::ok("a page", HTML);
const NOT_OUR_FORM: AnswerDoc =
    AnswerDoc::status("403", "not a form that this server made for this browser", HTML);
const CLIENT_ID: Parameter = Parameter::query("client_id", Kind::Text, "the client that asks");

/// The fields of forms, which `forms.rs` reads by name.
#[derive(JsonSchema)]
#[schemars(inline, transform = of_form)]
#[expect(dead_code, reason = "its shape alone is used")]
struct DeviceForm {
    csrf: String,
    user_code: Option<String>,
    client_id: Option<String>,
    decision: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline, transform = of_form)]
#[expect(dead_code, reason = "its shape alone is used")]
struct DecisionForm {
    csrf: String,
    decision: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline, transform = of_form)]
#[expect(dead_code, reason = "its shape alone is used")]
struct SignInForm {
    csrf: String,
    next: Option<String>,
    name: Option<String>,
    password: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline, transform = of_form)]
#[expect(dead_code, reason = "its shape alone is used")]
struct SignOutForm {
    csrf: String,
    next: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline, transform = of_form)]
#[expect(dead_code, reason = "its shape alone is used")]
struct EndForm {
    csrf: String,
    id: Option<String>,
}

const fn page(id: &'static str, summary: &'static str) -> Doc {
    Doc::new(Tag::Pages, id, summary)
}

pub(super) const CONFIRM_DEVICE: Doc =
    page("confirmDevice", "Type the code of a device, or with a code and signed in: approve or deny")
        .parameters(&[Parameter::query("user_code", Kind::Text, "as the device shows it"), CLIENT_ID])
        .answers(&[
            PAGE,
            AnswerDoc::status("404", "the code cannot be used", HTML),
            AnswerDoc::status("429", "too many wrong codes: wait as retry-after says", HTML)
                .headers(&[RETRY_AFTER]),
        ]);

pub(super) const DECIDE_DEVICE: Doc = page("decideDevice", "Approve or deny, from the form of the page")
    .body(&[Media::form::<DeviceForm>()])
    .answers(&[
        AnswerDoc::ok("decided", HTML),
        NOT_OUR_FORM,
        AnswerDoc::status("404", "there is nothing to decide any more", HTML),
    ]);

pub(super) const AUTHORIZE: Doc = page("authorize", "Consent of the authorization-code flow (RFC 6749, 4.1)")
    .parameters(&[
        Parameter::query("response_type", Kind::Text, "code"),
        CLIENT_ID,
        Parameter::query("redirect_uri", Kind::Text, "one of its registered addresses"),
        Parameter::query("state", Kind::Text, "given back as it is"),
        Parameter::query("scope", Kind::Text, "openapi, 3, or nothing"),
        Parameter::query(
            "code_challenge",
            Kind::Text,
            "RFC 7636; a client without a secret needs one where the configuration says so",
        ),
        Parameter::query("code_challenge_method", Kind::Text, "S256 or plain"),
    ])
    .answers(&[
        PAGE,
        AnswerDoc::status("303", "back to the client, which has asked for something that cannot be", &[]),
        AnswerDoc::status("400", "an unknown client, or an address that it has not registered", HTML),
    ]);

pub(super) const DECIDE_AUTHORIZATION: Doc =
    page("decideAuthorization", "Approve or deny, from the form of the page")
        .body(&[Media::form::<DecisionForm>()])
        .answers(&[
            AnswerDoc::status("303", "back to the client, with a code or an error", &[]),
            NOT_OUR_FORM,
        ]);

pub(super) const SIGN_IN_PAGE: Doc = page("signInPage", "Sign in, or see who is signed in")
    .parameters(&[Parameter::query("next", Kind::Text, "a page of this server to go on to")])
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

pub(super) const END_PROGRAM: Doc =
    page("endProgram", "End the access of a program, from the form of the page")
        .body(&[Media::form::<EndForm>()])
        .answers(&[AnswerDoc::status("303", "ended: back to the page", &[]), NOT_OUR_FORM]);

pub(super) const STYLE: Doc = page("style", "The stylesheet of the pages")
    .answers(&[AnswerDoc::ok("the stylesheet", &[Media::text("text/css")])]);

const FRONT: &[AnswerDoc] = &[
    AnswerDoc::ok("a page, packed with gzip for those who take it", HTML),
    AnswerDoc::status("304", "the page that the browser has", &[]),
];

pub(super) const CHART: Doc = page("chartPage", "The chart").answers(FRONT);
pub(super) const PORTFOLIO: Doc =
    page("portfolioPage", "The desk: the paper account, its orders, and a ticket for new ones")
        .answers(FRONT);
pub(super) const QUOTA: Doc = page("quotaPage", "The desk: the month's securities").answers(FRONT);
pub(super) const CONNECTIONS: Doc = page("connectionsPage", "The desk: long connections").answers(FRONT);
pub(super) const COVERAGE: Doc =
    page("coveragePage", "The desk: what is stored against the calendar").answers(FRONT);
pub(super) const IMPORTS: Doc = page("importsPage", "The desk: the ledger and the quarantine").answers(FRONT);
