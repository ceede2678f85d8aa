//! `GET /v1/statement/list`: an account's statements, newest first.

use market::Date;
use paper::StatementList;
use schemars::JsonSchema;
use serde::Serialize;
use trading::statement::StatementKind;

use super::file_key::{FileKey, Format, date_of, digits};
use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::query::{Query, echo};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const LIST: Doc = Doc::new(
    Tag::Trade,
    "statements",
    "List daily or monthly statements, newest first",
)
.about(
    "A daily statement is created at 09:00 Hong Kong time on the following day, a monthly one with the \
         first daily statement of the next month. Statements never change; rewinding the account removes \
         those created after the target time.",
)
.parameters(&[
    Parameter::query("statement_type", Kind::NumberOf(&[1, 2]), "1 daily, 2 monthly").or(Word::Number(1)),
    Parameter::query(
        "start_date",
        Kind::AtLeast(0),
        "Earliest date, such as 20260318; a value below 19000101 means all",
    )
    .or(Word::Number(1)),
    Parameter::query("limit", Kind::Between(1, LIMIT_MAX), "Maximum number of statements")
        .or(Word::Number(LIMIT_DEFAULT)),
    Parameter::query("page", Kind::AtLeast(1), "Page number, with page_size instead of limit"),
    Parameter::query("page_size", Kind::Between(1, LIMIT_MAX), "").or(Word::Number(LIMIT_DEFAULT)),
])
.answers(&[AnswerDoc::ok("The statements", &[data::<Statements>()])])
.refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 1_000;
const PAGES_MAX: u32 = 1_000_000;
/// Lowest number that is parsed as a start date. A lower number, such as the 1 that SDKs send,
/// means no start date.
const DATES_FROM: u32 = 19_000_101;

#[derive(Debug, Serialize, JsonSchema)]
struct Statements {
    list: Vec<ListedStatement>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedStatement {
    /// Date in the form 20260318; for a monthly statement, the last day of the month.
    dt: u32,
    /// Key for `/v1/statement/download`. Replacing `.json` with `.pdf` in the key selects the
    /// statement as PDF.
    file_key: String,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let list = parse_request(&Query::parse(call.query)?)?;
    let account = admitted.account().id;
    let listed = trader.ask(|account| account.statements(&list))?.into_iter().map(|of| ListedStatement {
        dt: digits(of.date),
        file_key: FileKey { account, of, format: Format::Json }.key(),
    });
    Ok(envelope::success(Statements { list: listed.collect() }))
}

/// Parses the request, which has `limit`, or `page` and `page_size`, because SDKs differ. `page`
/// and `page_size` take precedence.
fn parse_request(query: &Query) -> Result<StatementList, Problem> {
    let kind = match query.number("statement_type", (1, 2), 1)? {
        2 => StatementKind::Monthly,
        _ => StatementKind::Daily,
    };
    let from = earliest(query)?;
    let limit = query.number("limit", (1, LIMIT_MAX), LIMIT_DEFAULT)?;
    let size = query.number("page_size", (1, LIMIT_MAX), LIMIT_DEFAULT)?;
    let is_paged = query.get("page").is_some() || query.get("page_size").is_some();
    let page = query.number("page", (1, PAGES_MAX), 1)?;
    Ok(match is_paged {
        true => StatementList { kind, from, skip: size.saturating_mul(page.saturating_sub(1)), limit: size },
        false => StatementList { kind, from, skip: 0, limit },
    })
}

fn earliest(query: &Query) -> Result<Date, Problem> {
    let Some(text) = query.get("start_date") else { return Ok(Date::ZERO) };
    let wrong =
        || Problem::trade_parameter(format!("start_date {:?} is not a date such as 20260318", echo(text)));
    match text.parse::<i64>() {
        Ok(number) if number < i64::from(DATES_FROM) => Ok(Date::ZERO),
        Ok(number) => u32::try_from(number).ok().and_then(date_of).ok_or_else(wrong),
        Err(_) => Err(wrong()),
    }
}
