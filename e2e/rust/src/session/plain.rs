//! Objects of the SDK, with the field names and values that all SDKs share.

use std::fmt::Debug;

use longbridge::Decimal;
use longbridge::trade::{
    AccountBalance, CashFlow, Execution, Order, OrderDetail, PushOrderChanged, StockPosition,
};
use serde_json::{Value, json};
use time::OffsetDateTime;

/// A member of an enumeration by its name.
fn word(value: impl Debug) -> String {
    format!("{value:?}")
}

fn number(value: Decimal) -> String {
    value.to_string()
}

fn seconds(value: Option<OffsetDateTime>) -> Option<i64> {
    value.map(OffsetDateTime::unix_timestamp)
}

/// The fields that a row of a list and a detail share.
macro_rules! order_fields {
    ($order:expr) => {
        json!({
            "order_id": $order.order_id, "status": word($order.status), "side": word($order.side), "symbol": $order.symbol,
            "order_type": word($order.order_type), "quantity": number($order.quantity),
            "executed_quantity": number($order.executed_quantity), "price": $order.price.map(number),
            "executed_price": $order.executed_price.map(number), "last_done": $order.last_done.map(number),
            "submitted_at": $order.submitted_at.unix_timestamp(), "updated_at": seconds($order.updated_at),
            "msg": $order.msg, "tag": word($order.tag), "time_in_force": word($order.time_in_force),
            "currency": $order.currency, "stock_name": $order.stock_name, "remark": $order.remark,
        })
    };
}

pub(crate) fn order(order: &Order) -> Value {
    order_fields!(order)
}

pub(crate) fn detail(order: &OrderDetail) -> Value {
    let history = order.history.iter().map(|row| {
        json!({
            "price": number(row.price), "quantity": number(row.quantity), "status": word(row.status), "msg": row.msg,
            "time": row.time.unix_timestamp(),
        })
    });
    let charges = order.charge_detail.as_ref().map(|charges| {
        let items = charges.items.iter().map(|item| {
            let fees = item.fees.iter().map(|fee| {
                json!({"code": fee.code, "name": fee.name, "amount": number(fee.amount), "currency": fee.currency})
            });
            json!({"code": word(item.code), "name": item.name, "fees": fees.collect::<Value>()})
        });
        json!({
            "total_amount": number(charges.total_amount), "currency": charges.currency, "items": items.collect::<Value>(),
        })
    });
    let mut detail = order_fields!(order);
    detail["history"] = history.collect();
    detail["charge_detail"] = json!(charges);
    detail
}

pub(crate) fn push(push: &PushOrderChanged) -> Value {
    json!({
        "order_id": push.order_id, "status": word(push.status), "side": word(push.side), "symbol": push.symbol,
        "order_type": word(push.order_type), "submitted_quantity": number(push.submitted_quantity),
        "submitted_price": number(push.submitted_price), "executed_quantity": number(push.executed_quantity),
        "executed_price": push.executed_price.map(number), "last_share": push.last_share.map(number),
        "last_price": push.last_price.map(number), "submitted_at": push.submitted_at.unix_timestamp(),
        "updated_at": push.updated_at.unix_timestamp(), "msg": push.msg, "tag": word(push.tag), "currency": push.currency,
        "account_no": push.account_no, "stock_name": push.stock_name, "remark": push.remark,
    })
}

pub(crate) fn execution(execution: &Execution) -> Value {
    json!({
        "order_id": execution.order_id, "trade_id": execution.trade_id, "symbol": execution.symbol,
        "trade_done_at": execution.trade_done_at.unix_timestamp(), "quantity": number(execution.quantity),
        "price": number(execution.price),
    })
}

pub(crate) fn balance(balance: &AccountBalance) -> Value {
    let cash = balance.cash_infos.iter().map(|info| {
        json!({
            "withdraw_cash": number(info.withdraw_cash), "available_cash": number(info.available_cash),
            "frozen_cash": number(info.frozen_cash), "settling_cash": number(info.settling_cash), "currency": info.currency,
        })
    });
    let fees = balance.frozen_transaction_fees.iter().map(
        |fee| json!({"currency": fee.currency, "frozen_transaction_fee": number(fee.frozen_transaction_fee)}),
    );
    json!({
        "total_cash": number(balance.total_cash), "max_finance_amount": number(balance.max_finance_amount),
        "remaining_finance_amount": number(balance.remaining_finance_amount), "risk_level": balance.risk_level,
        "margin_call": number(balance.margin_call), "currency": balance.currency, "net_assets": number(balance.net_assets),
        "init_margin": number(balance.init_margin), "maintenance_margin": number(balance.maintenance_margin),
        "buy_power": number(balance.buy_power), "cash_infos": cash.collect::<Value>(),
        "frozen_transaction_fees": fees.collect::<Value>(),
    })
}

pub(crate) fn position(position: &StockPosition) -> Value {
    json!({
        "symbol": position.symbol, "symbol_name": position.symbol_name, "quantity": number(position.quantity),
        "available_quantity": number(position.available_quantity), "currency": position.currency,
        "cost_price": number(position.cost_price), "market": word(position.market),
        "init_quantity": position.init_quantity.map(number),
    })
}

pub(crate) fn flow(flow: &CashFlow) -> Value {
    json!({
        "transaction_flow_name": flow.transaction_flow_name, "direction": word(&flow.direction),
        "business_type": word(flow.business_type), "balance": number(flow.balance), "currency": flow.currency,
        "business_time": flow.business_time.unix_timestamp(), "symbol": flow.symbol, "description": flow.description,
    })
}
