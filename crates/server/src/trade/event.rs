//! `order_changed_lb`: what a listener is told of an order. Every key is there always: an SDK drops an event that lacks one.

use access::AccountId;
use prost::Message;
use serde::Serialize;
use trading::{Plain, Push, exact_price};
use wire::trade;

/// The only topic there is.
pub(super) const TOPIC: &str = "private";

#[derive(Serialize)]
struct Event<'a> {
    event: &'static str,
    data: OrderChanged<'a>,
}

#[derive(Serialize)]
struct OrderChanged<'a> {
    side: &'static str,
    stock_name: &'a str,
    submitted_quantity: String,
    symbol: &'a str,
    order_type: &'static str,
    submitted_price: String,
    executed_quantity: String,
    executed_price: String,
    order_id: String,
    currency: &'a str,
    status: &'static str,
    submitted_at: String,
    updated_at: String,
    trigger_price: String,
    msg: &'a str,
    tag: &'static str,
    trigger_status: &'static str,
    trigger_at: String,
    trailing_amount: String,
    trailing_percent: String,
    limit_offset: String,
    account_no: String,
    last_share: String,
    last_price: String,
    remark: &'a str,
}

/// The body of a notification.
pub(super) fn notification(account: AccountId, push: &Push, stock_name: &str) -> Vec<u8> {
    let price = |price: Option<market::Price>| price.map(|price| exact_price(price, push.decimals));
    let text =
        |plain: Option<Plain>, none: &str| plain.map_or_else(|| none.to_owned(), |plain| plain.to_string());
    let data = OrderChanged {
        side: push.side.as_str(),
        stock_name,
        submitted_quantity: push.submitted_quantity.to_string(),
        symbol: push.symbol.as_str(),
        order_type: push.order_type.as_str(),
        // An empty one would lose the event.
        submitted_price: text(price(push.submitted_price), "0"),
        executed_quantity: push.executed_quantity.to_string(),
        executed_price: text(push.executed_price, "0"),
        order_id: push.order_id.to_string(),
        currency: push.currency.as_str(),
        status: push.status.as_str(),
        submitted_at: push.submitted_at.0.to_string(),
        updated_at: push.updated_at.0.to_string(),
        trigger_price: text(price(push.trigger_price), ""),
        msg: &push.msg,
        tag: push.tag.as_str(),
        trigger_status: push.trigger_status.as_str(),
        trigger_at: push.trigger_at.unwrap_or_default().0.to_string(),
        trailing_amount: text(price(push.trailing_amount), ""),
        trailing_percent: push.trailing_percent.map(|percent| percent.to_string()).unwrap_or_default(),
        limit_offset: text(price(push.limit_offset), ""),
        account_no: account_no(account),
        last_share: push.last.map(|(quantity, _)| quantity.to_string()).unwrap_or_default(),
        last_price: text(price(push.last.map(|(_, price)| price)), ""),
        remark: &push.remark,
    };
    let event = Event { event: "order_changed_lb", data };
    let notification = trade::Notification {
        topic: TOPIC.to_owned(),
        content_type: trade::ContentType::Json.into(),
        dispatch_type: trade::DispatchType::Direct.into(),
        data: serde_json::to_vec(&event).unwrap_or_default(),
    };
    notification.encode_to_vec()
}

/// Accounts to trade on paper are told by the letter.
pub(super) fn account_no(account: AccountId) -> String {
    format!("P{}", account.0)
}
