//! What depends on the account that decides: whether this listener serves its region, and what a program will not get of its rights.

use access::{Browser, Role};
use hyper::StatusCode;

use super::consent;
use super::html::Html;
use super::visit::{PageError, Sheet, Visit};
use crate::kit::Answer;
use crate::refusal::WrongRegion;

/// The page for an account of another region: it cannot decide here, because the program that asked at this listener would never learn
/// of it.
pub(super) fn elsewhere(
    visit: &Visit<'_>,
    cookie: &str,
    browser: &Browser,
) -> Result<Option<Answer>, PageError> {
    let (region, entrance, address) = match visit.site.core.at_home_of(browser.account, visit.call.region) {
        Ok(()) => return Ok(None),
        Err(WrongRegion::Elsewhere { region, entrance, serves_all_at }) => (region, entrance, serves_all_at),
        Err(WrongRegion::Unknown(error)) => return Err(error.into()),
    };
    let words = visit.words;
    let text = words.elsewhere.replacen("{}", region.as_str(), 1).replacen("{}", entrance.as_str(), 1);
    let mut html = Html::default();
    html.p(&text).raw("\n<p>").filled(words.elsewhere_go, &address).raw("</p>\n");
    consent::another(visit, cookie, browser, &mut html);
    Ok(Some(Sheet::new(words.trouble, html).status(StatusCode::FORBIDDEN).answer(visit.frame)))
}

/// One more line for operators: a program does not get their powers.
pub(super) fn no_operator(visit: &Visit<'_>, browser: &Browser, html: &mut Html) -> Result<(), PageError> {
    let account = visit.site.core.access.account(browser.account)?;
    if account.is_some_and(|account| account.role == Role::Operator) {
        html.raw("<p class=\"alert\">").text(visit.words.no_operator).raw("</p>\n");
    }
    Ok(())
}
