//! `DELETE /v1/trade/order`: cancels an open order.

use trading::Command;

use super::docs::{ATTACHED, ORDER_ID, REFUSALS};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::{Query, missing, not_found};
use crate::kit::trader::{Nothing, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const CANCEL: Doc = Doc::new(Tag::Trade, "cancelOrder", "Withdraws an open order")
    .parameters(&[ORDER_ID.required(), ATTACHED])
    .answers(&[AnswerDoc::ok("It is withdrawn", &[data::<Nothing>()])])
    .refuses(REFUSALS);

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let id = query.order()?.ok_or_else(|| missing("order_id"))?;
    // Attached orders are not offered, so no attached order has this id.
    if query.is_true("is_attached") {
        return Err(not_found());
    }
    trader.command(&Command::Cancel { id }, None)?;
    Ok(envelope::success(Nothing {}))
}
