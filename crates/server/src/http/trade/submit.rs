//! `POST /v1/trade/order`: submits an order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trading::{Command, OutsideRth, Submit, Terms};

use super::docs::{ATTACHED_ORDERS, TERMS_REFUSALS};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const SUBMIT: Doc = Doc::new(Tag::Trade, "submitOrder", "Submits an order of the paper account")
    .about(
        "What the account cannot pay for, or does not have, is accepted and then rejected, with the reason in msg. The same \
         client_request_id within ten minutes is the same order.",
    )
    .body(&[Media::json::<Body>()])
    .answers(&[AnswerDoc::ok("The number of the order", &[data::<Submitted>()])])
    .refuses(TERMS_REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "OrderSubmission")]
#[serde(default)]
pub(super) struct Body {
    symbol: Field,
    order_type: Field,
    side: Field,
    submitted_quantity: Field,
    time_in_force: Field,
    submitted_price: Field,
    trigger_price: Field,
    limit_offset: Field,
    trailing_amount: Field,
    trailing_percent: Field,
    expire_date: Field,
    outside_rth: Field,
    limit_depth_level: Field,
    trigger_count: Field,
    monitor_price: Field,
    remark: Field,
    client_request_id: Field,
    attached_params: Option<serde_json::Value>,
    delayed_until: Field,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrderSubmitted")]
pub(super) struct Submitted {
    order_id: String,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Body = body(call)?;
    let name = body.client_request_id.text("client_request_id")?.map(str::to_owned);
    let request = request(&body, &admitted)?;
    let terms = Terms { client_request_id: name.clone(), ..request.terms };
    let command = Command::Submit(Box::new(Submit { terms, ..request }));
    let done = trader.command(&command, name.as_deref())?;
    call.note.repeated(done.is_repeated);
    let order_id = done.order.ok_or_else(Problem::internal)?.to_string();
    Ok(envelope::success(Submitted { order_id }))
}

/// Parses an order. Order types that were withdrawn are accepted from accounts pinned to an earlier
/// API date.
pub(super) fn request(body: &Body, admitted: &Admitted) -> Result<Submit, Problem> {
    let terms = terms(body)?;
    let order_type = terms.order_type.as_str();
    let takes_withdrawn =
        admitted.dated().is_some_and(|dated| dated.takes_withdrawn("order_type", order_type));
    Ok(Submit { terms, takes_withdrawn })
}

fn terms(body: &Body) -> Result<Terms, Problem> {
    if body.attached_params.is_some() {
        return Err(Problem::not_offered(ATTACHED_ORDERS));
    }
    let symbol = body.symbol.word("symbol", Some("symbol not tradable"))?;
    let order_type = body.order_type.word("order_type", Some("order type not support"))?;
    let side = body.side.word("side", None)?;
    let quantity = body.submitted_quantity.quantity("submitted_quantity")?;
    let time_in_force = body.time_in_force.word("time_in_force", Some("time in force not support"))?;
    let price = body.submitted_price.price("submitted_price")?;
    let outside_rth = body
        .outside_rth
        .text("outside_rth")?
        .map(|_| body.outside_rth.word::<OutsideRth>("outside_rth", None));
    let plain = Terms::new(symbol, side, order_type, quantity);
    Ok(Terms {
        time_in_force,
        // Some clients send a price with every order type, so it is ignored where it does not
        // apply.
        price: price.filter(|_| order_type.has_limit()),
        trigger_price: body.trigger_price.price("trigger_price")?,
        limit_offset: body.limit_offset.price("limit_offset")?,
        trailing_amount: body.trailing_amount.price("trailing_amount")?,
        trailing_percent: body.trailing_percent.percent("trailing_percent")?,
        expire_date: body.expire_date.date("expire_date")?,
        outside_rth: outside_rth.transpose()?.filter(|outside| *outside != OutsideRth::NotApplicable),
        depth_level: body.limit_depth_level.whole("limit_depth_level")?.unwrap_or(0),
        trigger_count: body.trigger_count.whole("trigger_count")?.unwrap_or(0),
        monitor_price: body.monitor_price.price("monitor_price")?,
        remark: body.remark.remark()?.unwrap_or_default(),
        delayed_until: body.delayed_until.time("delayed_until")?,
        ..plain
    })
}
