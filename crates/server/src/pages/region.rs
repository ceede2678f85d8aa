//! Account checks on the consent page: whether this listener serves the account's region, and which
//! of its rights a client does not get.

use access::{Permit, Role};
use hyper::StatusCode;

use super::authorize;
use super::html::Html;
use super::visit::{PageError, Sheet, Visit};
use super::words::Words;
use crate::kit::Answer;
use crate::refusal::WrongRegion;

/// Returns the page for an account of another region. It cannot consent here, because the client
/// that uses this listener would never receive the decision.
pub(super) fn elsewhere(
    visit: &Visit<'_>,
    cookie: &str,
    permit: &Permit,
) -> Result<Option<Answer>, PageError> {
    let (region, entrance, address) = match visit.site.core.at_home_of(permit.account().id, visit.call.region)
    {
        Ok(()) => return Ok(None),
        Err(WrongRegion::Elsewhere { region, entrance, serves_all_at }) => (region, entrance, serves_all_at),
        Err(WrongRegion::Unknown(error)) => return Err(error.into()),
    };
    let words = visit.words;
    let text = words.elsewhere.replacen("{}", region.as_str(), 1).replacen("{}", entrance.as_str(), 1);
    let mut html = Html::default();
    html.p(&text).raw("\n<p>").filled(words.elsewhere_go, &address).raw("</p>\n");
    authorize::another(visit, cookie, permit, &mut html);
    Ok(Some(Sheet::new(words.trouble, html).status(StatusCode::FORBIDDEN).answer(visit.frame)))
}

/// Adds a notice for operators that a client does not get their privileges.
pub(super) fn no_operator(words: &Words, permit: &Permit, html: &mut Html) {
    if permit.account().role == Role::Operator {
        html.raw("<p class=\"alert\">").text(words.no_operator).raw("</p>\n");
    }
}
