//! Events of trade subscriptions: `order_changed_lb` for orders, `gridtrading_order` for grids.
//! Every key is always present, because one SDK drops events that lack a key.

use access::AccountId;
use prost::Message;
use serde::Serialize;
use trading::{GridPush, OrderPush, Plain, exact_price, plain_price};
use wire::trade;

/// The only subscription topic.
pub(super) const TOPIC: &str = "private";

#[derive(Serialize)]
struct Event<T> {
    event: &'static str,
    data: T,
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
    /// Same value as `submitted_quantity`, under the name that older clients read.
    quantity: String,
    /// Same value as `submitted_price`, under the name that older clients read.
    price: String,
}

/// Payload of a grid event. Numbers are JSON numbers and all other values strings, because one SDK
/// drops events with other types.
#[derive(Serialize)]
struct GridChanged<'a> {
    order_id: String,
    status: &'static str,
    symbol: &'a str,
    suspend_reason: &'static str,
    submitted_base_price: String,
    current_base_price: String,
    upper_limit_price: String,
    lower_limit_price: String,
    trigger_price_type: i32,
    trigger_quantity: String,
    settlement_currency: &'a str,
    time_in_force: i32,
    rth: i32,
    grid_order_type_up: &'static str,
    grid_order_type_down: &'static str,
}

/// Encodes the notification of an order change.
pub(super) fn order_notification(account: AccountId, push: &OrderPush, stock_name: &str) -> Vec<u8> {
    let price = |price: Option<market::Price>| price.map(|price| exact_price(price, push.decimals));
    let text =
        |plain: Option<Plain>, none: &str| plain.map_or_else(|| none.to_owned(), |plain| plain.to_string());
    // SDKs drop an event with an empty price.
    let submitted_price = text(price(push.submitted_price), "0");
    let data = OrderChanged {
        quantity: push.submitted_quantity.to_string(),
        price: submitted_price.clone(),
        side: push.side.as_str(),
        stock_name,
        submitted_quantity: push.submitted_quantity.to_string(),
        symbol: push.symbol.as_str(),
        order_type: push.order_type.as_str(),
        submitted_price,
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
    notification(&Event { event: "order_changed_lb", data })
}

/// Encodes the notification of a grid change.
pub(super) fn grid_notification(push: &GridPush) -> Vec<u8> {
    let rule = &push.rule;
    let price = |price: market::Price| plain_price(price).to_string();
    let data = GridChanged {
        order_id: push.id.to_string(),
        status: push.status.as_str(),
        symbol: push.symbol.as_str(),
        suspend_reason: push.suspend_reason.map_or("", |reason| reason.as_str()),
        submitted_base_price: price(rule.base),
        current_base_price: price(push.base),
        upper_limit_price: price(rule.upper),
        lower_limit_price: price(rule.lower),
        trigger_price_type: rule.step.code(),
        trigger_quantity: rule.quantity.to_string(),
        settlement_currency: push.settlement_currency.as_str(),
        time_in_force: rule.time_in_force.code(),
        rth: rule.hours.code(),
        grid_order_type_up: rule.sell_type.as_str(),
        grid_order_type_down: rule.buy_type.as_str(),
    };
    notification(&Event { event: "gridtrading_order", data })
}

fn notification(event: &impl Serialize) -> Vec<u8> {
    let notification = trade::Notification {
        topic: TOPIC.to_owned(),
        content_type: trade::ContentType::Json.into(),
        dispatch_type: trade::DispatchType::Direct.into(),
        data: serde_json::to_vec(event).unwrap_or_default(),
    };
    notification.encode_to_vec()
}

/// Returns the account number shown to clients. The prefix marks paper accounts.
pub(super) fn account_no(account: AccountId) -> String {
    format!("P{}", account.0)
}
