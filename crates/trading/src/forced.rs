//! Forced liquidation: submits market orders one at a time until the account's net assets exceed
//! its maintenance margin.

use market::{Symbol, Timestamp};

use crate::event::{AcceptedOrder, Event};
use crate::figures::{figures, value};
use crate::matching::market_reserve;
use crate::money::{HkdAmount, Rate};
use crate::order::{Facts, Standing};
use crate::quantity::Quantity;
use crate::sessions::{Hours, place};
use crate::terms::Terms;
use crate::view::MarketView;
use crate::words::{OrderStatus, OrderType, OutsideRth, Side, TimeInForce};
use crate::work::Work;

/// Starts, continues or ends forced liquidation. Called at each instant at which candles take
/// effect.
pub(crate) fn sell_by_force(work: &mut Work<'_>, at: Timestamp) {
    let view = work.before_roll(at);
    // Without an exchange rate the account cannot be valued, so nothing is liquidated.
    let Ok(figures) = figures(work.account, &view) else { return };
    let net = figures.net_assets();
    let hkd = |amount: HkdAmount| amount.to(Rate::ONE);
    let was_on = work.account.is_liquidating;
    if !was_on && net >= figures.forced_margin {
        return;
    }
    if was_on && net > figures.maintenance_margin {
        let event =
            Event::Liquidating { on: false, net_assets: hkd(net), required: hkd(figures.maintenance_margin) };
        work.record(Some(at), event);
        return;
    }
    if !was_on {
        let event =
            Event::Liquidating { on: true, net_assets: hkd(net), required: hkd(figures.forced_margin) };
        work.record(Some(at), event);
    }
    if work.account.open_orders().any(|order| order.is_forced) {
        return;
    }
    if let Some(accepted) = largest_close(work, &view) {
        work.record(Some(at), Event::Accepted(Box::new(accepted)));
    }
}

/// Returns a market order that closes the most valuable position that can be closed now. Returns
/// `None` if no position can be closed.
fn largest_close(work: &Work<'_>, view: &MarketView<'_>) -> Option<AcceptedOrder> {
    let account = &*work.account;
    let mut positions: Vec<(HkdAmount, &Symbol)> = account
        .positions()
        .filter(|(symbol, _)| view.mark(symbol).is_some())
        .filter_map(|(symbol, position)| {
            Some((value(account, view, symbol, position).ok()?.value.abs(), symbol))
        })
        .collect();
    positions.sort_by(|(a, first), (b, second)| b.cmp(a).then(first.cmp(second)));
    positions.into_iter().find_map(|(_, symbol)| close(work, view, symbol))
}

fn close(work: &Work<'_>, view: &MarketView<'_>, symbol: &Symbol) -> Option<AcceptedOrder> {
    let account = &*work.account;
    let security = view.security(symbol)?;
    let available = account.available_quantity(symbol, None);
    let quantity = available.abs().down_to(security.lot.max(Quantity::SMALLEST));
    if quantity.is_zero() {
        return None;
    }
    let side = if available.is_negative() { Side::Buy } else { Side::Sell };
    let is_us = symbol.market() == market::Market::Us;
    let outside_rth = if is_us { OutsideRth::RegularOnly } else { OutsideRth::NotApplicable };
    let terms = Terms {
        outside_rth: Some(outside_rth),
        ..Terms::new(symbol.clone(), side, OrderType::Market, quantity)
    };
    let hours = Hours {
        order_type: OrderType::Market,
        outside_rth,
        time_in_force: TimeInForce::Day,
        expire_date: None,
    };
    let placement = place(view.venue(symbol.market()), hours, view.at)?;
    let ticks = view.ticks(symbol, security.kind, placement.day);
    let reserve_price =
        view.mark(symbol).map(|mark| market_reserve(mark, account.settings.market_reserve, ticks));
    let is_open = view.at >= placement.reports_at;
    let status = if is_open { OrderStatus::New } else { OrderStatus::NotReported };
    let standing = Standing { status, placement, reserve_price, watch: None };
    let (id, sequence) = (account.next_order(), account.next_sequence());
    let facts = Facts::of(&security);
    Some(AcceptedOrder {
        id,
        sequence,
        terms,
        facts,
        standing,
        by_engine: true,
        is_forced: true,
        grid: None,
        attached: None,
    })
}
