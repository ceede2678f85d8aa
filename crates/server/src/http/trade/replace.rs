//! `PUT /v1/trade/order`: changes the terms of an open order.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use trading::{Changes, Command, OrderId};

use super::docs::{ATTACHED_ORDERS, TERMS_REFUSALS};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::query::not_found;
use crate::kit::trader::{Nothing, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const REPLACE: Doc = Doc::new(Tag::Trade, "replaceOrder", "Gives an open order other terms")
    .body(&[Media::json::<Body>()])
    .answers(&[AnswerDoc::ok("It has them", &[data::<Nothing>()])])
    .refuses(TERMS_REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "OrderReplacement")]
#[serde(default)]
pub(super) struct Body {
    order_id: Field,
    quantity: Field,
    price: Field,
    trigger_price: Field,
    limit_offset: Field,
    trailing_amount: Field,
    /// The spelling of one SDK.
    trailing_ammount: Field,
    trailing_percent: Field,
    limit_depth_level: Field,
    trigger_count: Field,
    monitor_price: Field,
    remark: Field,
    /// The time for which the order was submitted. It cannot be changed.
    delayed_until: Field,
    attached_params: Option<Value>,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Body = body(call)?;
    if body.attached_params.is_some() {
        return Err(Problem::not_offered(ATTACHED_ORDERS));
    }
    let id = body.order_id.required("order_id")?.parse().map_err(|_| not_found())?;
    check_time(&trader, id, &body.delayed_until)?;
    let changes = Changes {
        quantity: body.quantity.quantity("quantity")?,
        price: body.price.price("price")?,
        trigger_price: body.trigger_price.price("trigger_price")?,
        limit_offset: body.limit_offset.price("limit_offset")?,
        trailing_amount: body.trailing_amount.or(body.trailing_ammount).price("trailing_amount")?,
        trailing_percent: body.trailing_percent.percent("trailing_percent")?,
        depth_level: body.limit_depth_level.whole("limit_depth_level")?,
        trigger_count: body.trigger_count.whole("trigger_count")?,
        monitor_price: body.monitor_price.price("monitor_price")?,
        remark: body.remark.remark()?,
    };
    trader.command(&Command::Replace { id, changes: Box::new(changes) }, None)?;
    Ok(envelope::success(Nothing {}))
}

/// Refuses a change of `delayed_until`. SDKs may send the original value.
fn check_time(trader: &Trader<'_>, id: OrderId, field: &Field) -> Result<(), Problem> {
    let Some(named) = field.time("delayed_until")? else { return Ok(()) };
    // An account that is not open has no orders, and a refused request must not open it.
    if !trader.has_begun()? {
        return Err(not_found());
    }
    let order =
        trader.read(|reading| Ok(reading.account.order(id).map(|order| order.terms.delayed_until)))?;
    if order.ok_or_else(not_found)? == Some(named) {
        return Ok(());
    }
    Err(Problem::trade_parameter("delayed_until cannot be replaced: cancel the order and submit another"))
}
