//! `GET /v1/quote/get_security_list`: the securities in a category. The only category is
//! `Overnight`, which has the US securities with overnight candles visible at the market clock. The
//! store has no other information about overnight trading.

use market::Market;
use schemars::JsonSchema;
use serde::Serialize;

use crate::caller::Language;
use crate::directory::{Directory, ListedNames, ListedSecurity};
use crate::kit::doc::refusals::LISTS_TOO_FAST;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, RefusalDoc, Tag, Word, data};
use crate::kit::envelope::{self, Problem};
use crate::kit::fields::echo;
use crate::kit::{Admitted, Answer, Call, Site, codes};
use crate::versions::Dated;

const CATEGORY: &str = "Overnight";
/// Highest accepted page number; higher numbers are refused.
const PAGE_MAX: u32 = 1_000_000;
const SIZE_MAX: u32 = 1_000;
const SIZE_DEFAULT: u32 = 100;

pub(super) const LIST: Doc = Doc::new(Tag::Candles, "securityList", "US securities with overnight trading")
    .about(
        "Lists securities with stored overnight candles, by symbol. Only the name in the language of \
             accept-language (default: zh-CN) is set; the other two are empty. Without page and size, all \
             securities are returned. The list is empty for HK, and for an account without the right to US.",
    )
    .parameters(&[
        Parameter::query("market", Kind::OneOf(&["US", "HK"]), "").required(),
        Parameter::query("category", Kind::OneOf(&[CATEGORY, "overnight"]), "").or(Word::Text(CATEGORY)),
        Parameter::query("page", Kind::Between(1, PAGE_MAX), "Page number; 1 if only size is given"),
        Parameter::query("size", Kind::Between(1, SIZE_MAX), "Page size; 100 if only page is given"),
    ])
    .answers(&[AnswerDoc::ok("The securities", &[data::<SecurityList>()])])
    .refuses(&[REFUSED, LISTS_TOO_FAST, UNREADABLE]);

const REFUSED: RefusalDoc = RefusalDoc::new("400", "SecurityListRefused", &[codes::LIST_PARAMETER]);
const UNREADABLE: RefusalDoc =
    RefusalDoc::new("500", "SecurityListFailed", &[codes::LIST_FAILED, wire::code::SERVER, codes::INTERNAL]);

#[derive(Debug, Serialize, JsonSchema)]
struct SecurityList {
    list: Vec<SecurityNames>,
    /// Number of securities on all pages; absent if the response is not paginated.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SecurityNames {
    symbol: String,
    name_cn: String,
    name_hk: String,
    name_en: String,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let market = market(call)?;
    category(call)?;
    let page = page(call)?;
    if market != Market::Us || !admitted.permit.holds(market.into()) {
        let total = page.map(|_| 0);
        return Ok(envelope::success(SecurityList { list: Vec::new(), total }));
    }
    let directory = site.directory(admitted.caller.as_of).map_err(|_| Problem::list_failed())?;
    let names = if has_all_names(&admitted) { ListedNames::All } else { ListedNames::Of(language(call)) };
    if let Some(page) = page {
        return Ok(envelope::success(paged(&directory, names, page)));
    }
    let body = directory.overnight_answer(names, || {
        let list = overnight(&directory).map(|one| SecurityNames::of(one, names)).collect();
        envelope::success_body(SecurityList { list, total: None }).unwrap_or_default()
    });
    if body.is_empty() {
        tracing::error!("cannot write the list of securities");
        return Err(Problem::list_failed());
    }
    Ok(envelope::json(200, body))
}

/// Returns whether the account is pinned to an API date before 2024-09-11. Responses before that
/// date contain a security's names in all languages; later responses contain only the requested
/// language.
fn has_all_names(admitted: &Admitted) -> bool {
    admitted.dated().is_some_and(Dated::has_names_in_all_languages)
}

/// Offset and length of a page.
#[derive(Clone, Copy, Debug)]
struct Page {
    skipped: usize,
    size: usize,
}

fn paged(directory: &Directory, names: ListedNames, page: Page) -> SecurityList {
    let of_page = overnight(directory).skip(page.skipped).take(page.size);
    let list = of_page.map(|one| SecurityNames::of(one, names)).collect();
    SecurityList { list, total: Some(overnight(directory).count()) }
}

/// Returns the US securities with overnight candles, sorted by symbol.
fn overnight(directory: &Directory) -> impl Iterator<Item = &ListedSecurity> {
    let is_of_it = |one: &&ListedSecurity| one.has_overnight && one.symbol.market() == Market::Us;
    directory.behind(None).iter().filter(is_of_it)
}

impl SecurityNames {
    fn of(one: &ListedSecurity, names: ListedNames) -> SecurityNames {
        let symbol = one.symbol.as_str().to_owned();
        let in_language = |language: Language| match names {
            ListedNames::Of(wanted) if wanted == language => one.name_in(language).to_owned(),
            _ => String::new(),
        };
        if names == ListedNames::All {
            let [name_cn, name_hk, name_en] = [&one.name_cn, &one.name_hk, &one.name_en].map(Clone::clone);
            return SecurityNames { symbol, name_cn, name_hk, name_en };
        }
        SecurityNames {
            symbol,
            name_cn: in_language(Language::ZhCn),
            name_hk: in_language(Language::ZhHk),
            name_en: in_language(Language::En),
        }
    }
}

/// Parses `Accept-Language`. The default is simplified Chinese, unlike in other endpoints, because
/// this list has always returned it.
fn language(call: &Call<'_>) -> Language {
    let header = call.header("accept-language").filter(|header| !header.trim().is_empty());
    header.map_or(Language::ZhCn, Language::preferred)
}

fn market(call: &Call<'_>) -> Result<Market, Problem> {
    let text = call.parameter_of("market").unwrap_or_default();
    if text.is_empty() {
        return Err(Problem::list_parameter("market required: US or HK"));
    }
    let market = Market::parse(&text).filter(|market| [Market::Us, Market::Hk].contains(market));
    market.ok_or_else(|| unknown("market", &text, "US or HK"))
}

fn category(call: &Call<'_>) -> Result<(), Problem> {
    let text = call.parameter_of("category").unwrap_or_default();
    let is_known = text.is_empty() || text.eq_ignore_ascii_case(CATEGORY);
    if is_known { Ok(()) } else { Err(unknown("category", &text, CATEGORY)) }
}

/// Parses the page parameters. Returns `None` if there are none, which requests the whole list.
fn page(call: &Call<'_>) -> Result<Option<Page>, Problem> {
    let (page, size) = (number(call, "page", PAGE_MAX)?, number(call, "size", SIZE_MAX)?);
    if page.is_none() && size.is_none() {
        return Ok(None);
    }
    let whole = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let size = whole(size.unwrap_or(SIZE_DEFAULT));
    let skipped = whole(page.unwrap_or(1).saturating_sub(1)).saturating_mul(size);
    Ok(Some(Page { skipped, size }))
}

fn number(call: &Call<'_>, name: &str, most: u32) -> Result<Option<u32>, Problem> {
    let Some(text) = call.parameter_of(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten().filter(|number| (1..=most).contains(number));
    number.map(Some).ok_or_else(|| {
        Problem::list_parameter(format!("{name} {:?} is not a number from 1 to {most}", echo(&text)))
    })
}

fn unknown(name: &str, text: &str, known: &str) -> Problem {
    Problem::list_parameter(format!("{name} {:?} is invalid: use {known}", echo(text)))
}
