//! The parts of a consent page: the permissions of the program, the client, and the buttons.

use access::{ClientInfo, Permit};

use super::forms;
use super::html::Html;
use super::path;
use super::sign_in_form::sign_out_form;
use super::visit::{Visit, fact};
use super::words::Words;

/// The permissions of a client, in words. Clients can only request `openapi`, so there is one list;
/// it must name everything that `Scopes::PROGRAM` allows.
pub(super) fn may(words: &Words, html: &mut Html) {
    html.raw("<h2>").text(words.may_title).raw("</h2>\n<ul>\n");
    for line in words.may {
        html.raw("<li>").text(line).raw("</li>\n");
    }
    html.raw("</ul>\n").p(words.may_not).raw("\n");
}

/// The account and the client. The client chose its name; its id and registration date are ours.
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

/// A link to sign in with another account.
pub(super) fn another(visit: &Visit<'_>, cookie: &str, permit: &Permit, html: &mut Html) {
    let here = visit.here();
    let next = forms::safe_next(&here).unwrap_or(path::SIGN_IN);
    html.raw("<div class=\"other\"><span>")
        .filled(visit.words.not_you, &permit.account().name)
        .raw("</span>\n");
    sign_out_form(visit, cookie, next, visit.words.use_another, html);
    html.raw("</div>");
}
