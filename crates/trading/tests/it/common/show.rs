//! Formats values for transcripts.

use market::{Market, Price, Timestamp};
use trading::{
    Account, CostMethod, GridPush, MarketView, Order, Outcome, Push, Side, Watch, balance, charges,
    exact_price, ledger, plain_price, report,
};

use super::market::{symbol, zone};

/// Formats an instant as local time, with the date if it is not `today`.
pub fn clock(market: Market, at: Timestamp, today: &str) -> String {
    let zoned = jiff::Timestamp::from_second(at.0).expect("inside jiff's range").to_zoned(zone(market));
    let form = if zoned.strftime("%Y-%m-%d").to_string() == today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    zoned.strftime(form).to_string()
}

/// Formats a push, such as `10:02:00 #1 FilledStatus 200 @ 305.200` or `10:02:00 grid 1 Performing
/// 306`.
pub fn push_line(push: &Push, market: Market, today: &str) -> String {
    let push = match push {
        Push::Order(push) => push,
        Push::Grid(push) => return grid_line(push, market, today),
    };
    let mut line =
        format!("{} #{} {}", clock(market, push.updated_at, today), push.order_id.number(), push.status);
    if let Some((quantity, price)) = push.last {
        line += &format!(" {quantity} @ {}", exact_price(price, 3));
    }
    match push.trigger_status {
        trading::TriggerStatus::NotUsed => {}
        other => line += &format!(" {other}"),
    }
    if !push.msg.is_empty() {
        line += &format!(" `{}`", push.msg);
    }
    line
}

fn grid_line(push: &GridPush, market: Market, today: &str) -> String {
    let clock = clock(market, push.updated_at, today);
    let mut line = format!("{clock} grid {} {} {}", push.id.number(), push.status, plain_price(push.base));
    line += &push.suspend_reason.map(|reason| format!(" `{reason}`")).unwrap_or_default();
    line += &push.sleeping_reason.map(|reason| format!(" asleep: {reason}")).unwrap_or_default();
    line
}

pub fn cash_line(account: &Account, view: &MarketView<'_>, currency: &str) -> String {
    let balance = balance(account, view, currency.parse().expect("a currency"), None);
    let mut line = format!("{currency} C {} F {}", balance.cash.text(), balance.reserved.text());
    if !balance.reserved_fees.is_zero() {
        line += &format!(" (fees {})", balance.reserved_fees.text());
    }
    if !balance.short_value.is_zero() {
        line += &format!(" S {} available {}", balance.short_value.text(), balance.available().text());
    }
    if !balance.settling().is_zero() {
        line +=
            &format!(" settling {} withdraw {}", balance.settling().text(), balance.withdrawable().text());
    }
    line
}

pub fn position_line(account: &Account, text: &str) -> String {
    let symbol = symbol(text);
    let Some(position) = account.position(&symbol) else { return format!("{text} none") };
    let cost = |method| position.cost_price(method).to_string();
    let (diluted, average) = (cost(CostMethod::Diluted), cost(CostMethod::Average));
    let cost = if diluted == average { diluted } else { format!("{diluted} (average {average})") };
    let available = account.available_quantity(&symbol, None);
    let init =
        if position.init_quantity.is_zero() { "\"\"".to_owned() } else { position.init_quantity.to_string() };
    format!("{text} {} available {available} cost {cost} init {init}", position.quantity)
}

pub fn account_line(account: &Account, view: &MarketView<'_>, currency: Option<&str>) -> String {
    let request = currency.map(|text| text.parse().expect("a currency"));
    let report = match report(account, view, request) {
        Ok(report) => report,
        Err(refusal) => return format!("refused `{refusal}`"),
    };
    format!(
        "total {} net {} init {} maintenance {} buy_power {} remaining {} level {}",
        report.total_cash.text(),
        report.net_assets.text(),
        report.init_margin.text(),
        report.maintenance_margin.text(),
        report.buy_power.text(),
        report.remaining_finance_amount.text(),
        report.risk_level
    )
}

pub fn detail_line(order: &Order) -> String {
    let price = order.terms.price.map_or("-".to_owned(), |price| plain_price(price).to_string());
    let executed = order.executed_price().map_or("0".to_owned(), |price| price.to_string());
    format!(
        "#{} {} {} {} {} price {price} {} of {} at {executed} fees {}",
        order.id.number(),
        order.terms.order_type,
        order.terms.time_in_force,
        order.outside_rth(),
        order.status(),
        order.executed,
        order.terms.quantity,
        order.fee_total().text()
    )
}

/// Formats an attached order, such as `#2 PROFIT_TAKER sell MIT Day 310 - 0 of 100
/// VarietiesNotReported DEACTIVE`.
pub fn attached_line(order: &Order) -> String {
    let leg = order.attached.map_or("-", |attached| attached.leg.as_str());
    let price = |price: Option<Price>| price.map_or("-".to_owned(), |price| plain_price(price).to_string());
    format!(
        "#{} {leg} {} {} {} trigger {} limit {} {} of {} {} {}",
        order.id.number(),
        order.terms.side,
        order.terms.order_type,
        order.terms.time_in_force,
        price(order.terms.trigger_price),
        price(order.terms.price),
        order.executed,
        order.terms.quantity,
        order.status(),
        order.trigger_status
    )
}

pub fn fees_line(order: &Order, tables: &trading::Tables) -> String {
    let groups = charges(order, tables);
    let rows =
        groups.iter().flat_map(|(_, fees)| fees).map(|fee| format!("{} {}", fee.code, fee.amount.text()));
    format!("{} = {}", rows.collect::<Vec<_>>().join(" · "), order.fee_total().text())
}

/// Formats the current stop price of an order that trails by an amount.
pub fn stop_line(order: &Order) -> String {
    let (Some(Watch::Trail(best)), Some(amount)) = (order.standing.watch, order.terms.trailing_amount) else {
        return format!("#{} follows nothing", order.id.number());
    };
    let away = if order.terms.side == Side::Buy { amount.0 } else { -amount.0 };
    format!("#{} stop {}", order.id.number(), Price(best.0 + away).text(2))
}

/// Formats the cash flows of outcomes, one per line.
pub fn flow_lines(outcomes: &[Outcome]) -> Vec<String> {
    let entries = outcomes.iter().flat_map(|outcome| &outcome.entries);
    let flows = entries.flat_map(ledger::cash_flows);
    let show = |flow: ledger::CashFlow| {
        format!("{} {} {} {}", flow.name, flow.amount.text(), flow.currency, flow.description)
    };
    flows.map(|flow| show(flow).trim_end().to_owned()).collect()
}
