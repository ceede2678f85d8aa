//! Order commands under `/v1/trade/order`: submit, preview, change and cancel an order. No SDK
//! calls the preview.

use paper::Preview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trading::{Changes, Command, OrderId, OutsideRth, Submit, Terms};

use super::attached::{AttachedParams, AttachedReplacement};
use super::docs::{ATTACHED, ORDER_ID, REFUSALS};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::query::{Query, missing, not_found};
use crate::kit::trader::{Nothing, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const SUBMIT: Doc = Doc::new(Tag::Trade, "submitOrder", "Submit an order to the paper account")
    .about(
        "An order without sufficient funds or holdings is accepted and then rejected, with the reason in \
         msg. A repeated client_request_id within ten minutes returns the first order.",
    )
    .body(&[Media::json::<Body>()])
    .answers(&[AnswerDoc::ok("Order id", &[data::<Submitted>()])])
    .refuses(REFUSALS);

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
    /// Take profit and stop loss, which become active with the first fill of the order.
    attached_params: Option<AttachedParams>,
    delayed_until: Field,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrderSubmitted")]
pub(super) struct Submitted {
    order_id: String,
}

pub(super) fn submit(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
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

/// Parses an order. Withdrawn order types are accepted only from accounts pinned to an API date
/// before the withdrawal.
pub(super) fn request(body: &Body, admitted: &Admitted) -> Result<Submit, Problem> {
    let terms = terms(body)?;
    let order_type = terms.order_type.as_str();
    let takes_withdrawn =
        admitted.dated().is_some_and(|dated| dated.takes_withdrawn("order_type", order_type));
    Ok(Submit { terms, takes_withdrawn })
}

fn terms(body: &Body) -> Result<Terms, Problem> {
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
        // Some clients send a price with every order type, so the price is ignored where it does
        // not apply.
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
        attached: body.attached_params.as_ref().map(AttachedParams::parse).transpose()?.map(Box::new),
        ..plain
    })
}

pub(super) const PREVIEW: Doc = Doc::new(
    Tag::Trade,
    "previewOrder",
    "Preview the outcome and the cost of an order",
)
.about(
    "Nothing is changed. An order that would be refused also gets status 200, with the failed check and its \
     numbers.",
)
.body(&[Media::json::<Body>()])
.answers(&[AnswerDoc::ok("The verdict, the reason, and the cost", &[data::<Preview>()])])
.refuses(REFUSALS);

pub(super) fn preview(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Body = body(call)?;
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

pub(super) const REPLACE: Doc = Doc::new(Tag::Trade, "replaceOrder", "Replace the terms of an open order")
    .body(&[Media::json::<Replacement>()])
    .answers(&[AnswerDoc::ok("The order was replaced", &[data::<Nothing>()])])
    .refuses(REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "OrderReplacement")]
#[serde(default)]
pub(super) struct Replacement {
    order_id: Field,
    quantity: Field,
    price: Field,
    trigger_price: Field,
    limit_offset: Field,
    trailing_amount: Field,
    /// Misspelling of `trailing_amount` sent by one SDK.
    trailing_ammount: Field,
    trailing_percent: Field,
    limit_depth_level: Field,
    trigger_count: Field,
    monitor_price: Field,
    remark: Field,
    /// Must equal the value of the submitted order, because this field cannot be changed.
    delayed_until: Field,
    /// Changes to the attached orders. If no other term changes, the order keeps its place in the
    /// queue, and may have ended.
    attached_params: Option<AttachedReplacement>,
}

pub(super) fn replace(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Replacement = body(call)?;
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
        attached: body.attached_params.as_ref().map(AttachedReplacement::parse).transpose()?.map(Box::new),
    };
    trader.command(&Command::Replace { id, changes: Box::new(changes) }, None)?;
    Ok(envelope::success(Nothing {}))
}

/// Refuses a change of `delayed_until`. SDKs may send the original value.
fn check_time(trader: &Trader<'_>, id: OrderId, field: &Field) -> Result<(), Problem> {
    let Some(named) = field.time("delayed_until")? else { return Ok(()) };
    // An account that is not open has no orders, and a refused request must not open the account.
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

/// Refuses an id that is not that of an attached order.
fn check_attached(trader: &Trader<'_>, id: OrderId) -> Result<(), Problem> {
    // An account that is not open has no orders, and a refused request must not open the account.
    let is_attached = trader.has_begun()?
        && trader
            .read(|reading| Ok(reading.account.order(id).is_some_and(|order| order.attached.is_some())))?;
    if is_attached { Ok(()) } else { Err(not_found()) }
}

pub(super) const CANCEL: Doc = Doc::new(Tag::Trade, "cancelOrder", "Cancel an open order")
    .parameters(&[ORDER_ID.required(), ATTACHED])
    .answers(&[AnswerDoc::ok("The order was cancelled", &[data::<Nothing>()])])
    .refuses(REFUSALS);

pub(super) fn cancel(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let id = query.order()?.ok_or_else(|| missing("order_id"))?;
    if query.is_true("is_attached") {
        check_attached(&trader, id)?;
    }
    trader.command(&Command::Cancel { id }, None)?;
    Ok(envelope::success(Nothing {}))
}
