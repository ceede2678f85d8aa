//! Code shared by the topic endpoints: page, kind and topic parameters, the check whether an
//! account may post, and refusals.

use serde_json::Value;
use social::{Kind, PageOf, SocialError, TextError, TopicId};
use trading::Money;

use crate::kit::doc::refusals::{BAD_REQUEST, COMMUNITY_TOO_FAST, NOT_FOUND};
use crate::kit::doc::{Parameter, RefusalDoc};
use crate::kit::fields::echo;
use crate::kit::{Admitted, Call, Problem, Site};
use crate::refusal::Refusal;

pub(super) const TOPIC_ID: Parameter = Parameter::path("topic_id", "Topic id");
pub(super) const LISTS: &[RefusalDoc] = &[BAD_REQUEST, COMMUNITY_TOO_FAST];
pub(super) const OF_A_TOPIC: &[RefusalDoc] = &[BAD_REQUEST, NOT_FOUND, COMMUNITY_TOO_FAST];
/// Highest accepted page number; higher numbers are refused. Pages after the last page with topics
/// are empty.
const PAGES_MAX: u32 = 1_000_000;

/// Maximum and default page size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) most: u32,
    pub(super) otherwise: u32,
}

/// Parses the page number and page size. Unknown parameters are ignored, as SDKs expect.
pub(super) fn page(call: &Call<'_>, size: Size) -> Result<PageOf, Problem> {
    let page = number(call, "page", PAGES_MAX, 1)?;
    let limit = number(call, "size", size.most, size.otherwise)?;
    Ok(PageOf { limit, offset: u64::from(page.saturating_sub(1)).saturating_mul(u64::from(limit)) })
}

fn number(call: &Call<'_>, name: &str, most: u32, otherwise: u32) -> Result<u32, Problem> {
    let Some(text) = call.parameter_of(name).filter(|text| !text.is_empty()) else { return Ok(otherwise) };
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| wrong(&format!("{name} {:?} is not a number from 1 to {most}", echo(&text))))
}

pub(super) fn kind(call: &Call<'_>) -> Result<Option<Kind>, Problem> {
    let text = call.parameter_of("topic_type").filter(|text| !text.is_empty());
    text.map(|text| Kind::parse(&text)).transpose().map_err(of_text)
}

/// Parses the topic id in the path. Returns 404 if the id is not a number.
pub(super) fn topic(call: &Call<'_>) -> Result<TopicId, Problem> {
    number_of(call.path_value("topic_id")).map(TopicId).ok_or_else(|| problem(SocialError::NoTopic))
}

/// Parses the id of a topic or a reply. Returns `None` if the id is not a number.
pub(super) fn number_of(text: &str) -> Option<i64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Refuses a post with images, which would otherwise be dropped silently.
pub(super) fn no_images(images: Option<&[Value]>) -> Result<(), Problem> {
    if images.is_some_and(|images| !images.is_empty()) { Err(of_text(TextError::Images)) } else { Ok(()) }
}

pub(super) fn wrong(text: &str) -> Problem {
    Refusal::BadQuery(text.to_owned()).into()
}

pub(super) fn of_text(error: TextError) -> Problem {
    wrong(&error.to_string())
}

pub(super) fn problem(error: SocialError) -> Problem {
    let text = error.to_string();
    match error {
        SocialError::NoTopic | SocialError::NoReply => Problem::nothing_there(&text),
        SocialError::Hidden | SocialError::Full => Problem::may_not_post(&text),
        SocialError::TopicsTooOften { retry_after_s } | SocialError::RepliesTooOften { retry_after_s } => {
            Problem::too_often(&text, retry_after_s)
        }
        SocialError::Store(error) => Problem::from_store(&error, "cannot query topics"),
    }
}

const READ_ONLY: &str = "this account is read-only: it may read topics, but not write any";
const NOTHING_HELD: &str = "only an open paper account with assets may write topics and replies: open \
 /portfolio, or request /v1/asset/account once";

/// Refuses an account that may not post. The paper account is not opened.
pub(super) fn check_poster(site: &Site, admitted: &Admitted) -> Result<(), Problem> {
    let account = admitted.account();
    if account.terms.read_only {
        return Err(Problem::may_not_post(READ_ONLY));
    }
    let paper = site.core.paper.described(account.id).map_err(Problem::from_paper)?;
    let has_cash = paper.currencies().any(|(_, amount)| amount > Money::ZERO);
    if paper.entries() > 0 && (has_cash || paper.positions().next().is_some()) {
        return Ok(());
    }
    Err(Problem::may_not_post(NOTHING_HELD))
}
