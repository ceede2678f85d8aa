//! `POST /v1/trade/order/preview`: returns the expected result and cost of an order without
//! submitting it. No SDK calls this endpoint.

use paper::Preview;

use super::docs::TERMS_REFUSALS;
use super::submit::{Body, request};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::body;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const PREVIEW: Doc = Doc::new(
    Tag::Trade,
    "previewOrder",
    "What would become of an order, and what it would cost",
)
.about(
    "Nothing is done. What would be refused is an answer like every other, with the check and its numbers.",
)
.body(&[Media::json::<Body>()])
.answers(&[AnswerDoc::ok("The verdict, the reason, and the cost", &[data::<Preview>()])])
.refuses(TERMS_REFUSALS);

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Body = body(call)?;
    // A read-only account cannot submit orders.
    if trader.is_read_only() {
        return Err(Problem::read_only());
    }
    let request = request(&body, &admitted)?;
    let preview = trader.ask(|account| {
        account.catch_up()?;
        account.preview(&request)
    })?;
    Ok(envelope::success(preview))
}
