//! The page that lists the OAuth clients with access to the signed-in user's account, with a button
//! to revoke each.

use access::{Actor, Permit};

use super::docs::{self, NOT_OUR_FORM};
use super::html::Html;
use super::path;
use super::sign_in::sign_out_form;
use super::visit::{PageError, Sheet, Visit, redirect, stale};
use crate::kit::Answer;
use crate::kit::doc::{AnswerDoc, Doc, Media, described_only, of_form};

pub(super) const END_PROGRAM: Doc =
    docs::page("endProgram", "End the access of a program, from the form of the page")
        .body(&[Media::form::<EndForm>()])
        .answers(&[AnswerDoc::status("303", "ended: back to the page", &[]), NOT_OUR_FORM]);

described_only! {
    #[schemars(inline, transform = of_form)]
    struct EndForm {
        csrf: String,
        id: Option<String>,
    }
}

const PURPOSE: &str = "end ";

pub(super) fn page(visit: &Visit<'_>, cookie: &str, permit: &Permit) -> Result<Answer, PageError> {
    let (words, access) = (visit.words, &visit.site.core.access);
    let mut html = Html::default();
    html.raw("<p>").filled(words.signed_in_as, &permit.account().name).raw("</p>\n<ul>\n");
    let ways = [
        (path::CHART, words.chart),
        (path::PORTFOLIO, words.portfolio),
        (path::TOPICS, words.topics),
        (path::QUOTA, words.desk),
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
        html.raw("</small></span>\n<form method=\"post\" action=\"")
            .text(&visit.frame.at(path::END))
            .raw("\">");
        html.hidden("csrf", &access.csrf_token(cookie, &format!("{PURPOSE}{}", program.id)));
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

pub(super) fn end(visit: &Visit<'_>) -> Result<Answer, PageError> {
    let fields = visit.form()?;
    let Some((cookie, permit)) = &visit.session else { return Err(stale(&fields)) };
    let id = fields.get("id");
    visit.check(&fields, cookie, &format!("{PURPOSE}{id}"))?;
    let (by, now) = (Actor::Account(permit.account().id), visit.site.core.machine_now());
    // Access that has ended meanwhile is not an error.
    visit.site.core.access.end_sign_in(permit.account().id, id, &by, now)?;
    redirect(&visit.frame.at(path::SIGN_IN), Vec::new())
}
