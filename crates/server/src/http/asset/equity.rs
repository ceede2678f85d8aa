//! `GET /v1/asset/equity`: what the account was worth at the end of each day. Not one of the SDKs' requests.

use paper::Equity;

use super::docs::REFUSALS;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const EQUITY: Doc = Doc::new(
    Tag::Trade,
    "equity",
    "What the account was worth at the end of each day, in HKD",
)
.about(
    "A date is over at 09:00 in Hong Kong on the day after, when it has ended in the US too. Holdings count at the closes of the \
     date, the last point at the prices of now.",
)
.parameters(&[Parameter::query("days", Kind::Between(1, DAYS_MAX), "How many dates back from now")
    .or(Word::Number(DAYS_DEFAULT))])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<Equity>()])])
.refuses(REFUSALS);

pub(super) const DAYS_DEFAULT: u32 = 366;
/// About eight years.
pub(super) const DAYS_MAX: u32 = 3_000;

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let days = Query::parse(call.query)?.number("days", (1, DAYS_MAX), DAYS_DEFAULT)?;
    Ok(envelope::success(trader.equity(days)?))
}
