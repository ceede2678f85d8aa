//! `GET /v1/trade/order/why`: explains what happened to an order and which rules caused it. No SDK
//! calls this endpoint.

use paper::OrderExplanation;

use super::docs::{ORDER_ID, REFUSALS};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::{Query, missing, not_found};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const WHY: Doc = Doc::new(
    Tag::Trade,
    "orderStory",
    "What happened to an order, by which candle and which rule, and each charge",
)
.parameters(&[ORDER_ID.required()])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<OrderExplanation>()])])
.refuses(REFUSALS);

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let id = Query::parse(call.query)?.order()?.ok_or_else(|| missing("order_id"))?;
    trader.ask(|account| account.order_explanation(id))?.map(envelope::success).ok_or_else(not_found)
}
