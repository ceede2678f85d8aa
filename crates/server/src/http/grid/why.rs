//! `GET /v1/gridtrading/why`: explains what happened to a grid and which candles caused it. No SDK
//! calls this endpoint.

use paper::GridExplanation;

use super::docs::{ORDER_ID, REFUSALS};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::{Query, grid_not_found, missing};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const WHY: Doc = Doc::new(
    Tag::Trade,
    "gridOrderStory",
    "What happened to a grid, by which candle, and why it made no order",
)
.parameters(&[ORDER_ID.required()])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<GridExplanation>()])])
.refuses(REFUSALS);

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let id = Query::parse(call.query)?.grid("order_id")?.ok_or_else(|| missing("order_id"))?;
    trader.ask(|account| account.grid_explanation(id))?.map(envelope::success).ok_or_else(grid_not_found)
}
