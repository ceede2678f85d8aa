//! Moving an account through time: every instant at which something happens, each with all its work in one fixed order.
//!
//! Candles, then releases and held orders, then auctions that are over and expiries, then the day roll, then reports. Whether
//! a stretch is gone through in one step or in many makes no difference: the instants are the same.

use std::collections::BTreeMap;

use market::{Market, Symbol, Timestamp};

use crate::candle_step::{Aftermath, act, release_inside};
use crate::event::Event;
use crate::feed::ActingCandle;
use crate::forced::sell_by_force;
use crate::option_expiry::expire_options;
use crate::order::OrderId;
use crate::place_order::activate;
use crate::roll::roll;
use crate::tape::Tape;
use crate::timers::{self, ends_at};
use crate::words::{OrderStatus, OrderType};
use crate::work::Work;

/// Brings an account to an instant. The first time is where its time begins.
pub(crate) fn advance(work: &mut Work<'_>, to: Timestamp) {
    let Some(mut now) = work.account.horizon else {
        work.record(Some(to), Event::Began);
        return;
    };
    let mut tapes: BTreeMap<Symbol, Tape> = BTreeMap::new();
    let mut timer = timers::next(work.account, work.feed, now);
    loop {
        let candle = next_candle(work, &mut tapes, now, to);
        let Some(at) = [candle, timer].into_iter().flatten().min().filter(|at| *at <= to) else { break };
        let before = work.account.entries;
        let is_timed = timer == Some(at);
        step(work, &mut tapes, at, is_timed);
        now = at;
        // The clock's next instant changes only when something did.
        if is_timed || work.account.entries != before {
            timer = timers::next(work.account, work.feed, now);
        }
    }
    work.account.set_horizon(Some(to));
}

/// The symbols whose candles matter: those of open orders, and all that could be sold by force.
fn watched(work: &Work<'_>) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = work.account.open.keys().cloned().collect();
    if work.account.settings.liquidate {
        symbols.extend(work.account.positions().map(|(symbol, _)| symbol.clone()));
        symbols.sort_unstable();
        symbols.dedup();
    }
    symbols
}

fn next_candle(
    work: &Work<'_>,
    tapes: &mut BTreeMap<Symbol, Tape>,
    now: Timestamp,
    to: Timestamp,
) -> Option<Timestamp> {
    let is_same = tapes.len() == work.account.open.len() && tapes.keys().eq(work.account.open.keys());
    if work.account.settings.liquidate || !is_same {
        let symbols = watched(work);
        tapes.retain(|symbol, _| symbols.binary_search(symbol).is_ok());
        for symbol in symbols {
            tapes.entry(symbol).or_insert_with(|| Tape::new(now));
        }
    }
    tapes.iter_mut().filter_map(|(symbol, tape)| tape.peek(work.feed, symbol, now, to)).min()
}

/// All work of one instant.
fn step(work: &mut Work<'_>, tapes: &mut BTreeMap<Symbol, Tape>, at: Timestamp, is_timed: bool) {
    let mut after = Aftermath::default();
    let has_candles = act_all(work, tapes, at, &mut after);
    release_inside(work, at, &mut after);
    if is_timed {
        activate_held(work, at);
    }
    if has_candles && work.account.settings.liquidate {
        sell_by_force(work, at);
    }
    for id in std::mem::take(&mut after.spent) {
        cancel_open(work, at, id, "not filled at once");
    }
    if is_timed {
        end_orders(work, at);
        expire_options(work, at);
        for market in [Market::Hk, Market::Us] {
            roll(work, at, market);
        }
        report(work, at);
    }
}

/// Lets the candles of an instant act: the oldest of every symbol together, so that orders of all symbols are in one queue, whatever
/// the stamps of their candles. A symbol has a second one only where candles came late.
fn act_all(
    work: &mut Work<'_>,
    tapes: &BTreeMap<Symbol, Tape>,
    at: Timestamp,
    after: &mut Aftermath,
) -> bool {
    let mut rounds: BTreeMap<usize, BTreeMap<Symbol, ActingCandle>> = BTreeMap::new();
    for (symbol, tape) in tapes {
        for (round, acting) in tape.at(at).enumerate() {
            rounds.entry(round).or_default().insert(symbol.clone(), *acting);
        }
    }
    for candles in rounds.values() {
        act(work, at, candles, after);
    }
    !rounds.is_empty()
}

/// Open orders that meet a condition, in the order of their sequence numbers.
fn open_where(work: &Work<'_>, is_meant: impl Fn(&crate::order::Order) -> bool) -> Vec<OrderId> {
    let mut found: Vec<(u64, OrderId)> = work
        .account
        .open_orders()
        .filter(|order| is_meant(order))
        .map(|order| (order.sequence, order.id))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id).collect()
}

fn activate_held(work: &mut Work<'_>, at: Timestamp) {
    let is_due = |order: &crate::order::Order| {
        order.status() == OrderStatus::DelayedNotReported
            && order.terms.delayed_until.is_some_and(|until| until <= at)
    };
    for id in open_where(work, is_due) {
        let scene = work.before_roll(at);
        let Some(order) = work.account.order(id) else { continue };
        let event = activate(work.account, &scene, order);
        work.record(Some(at), event);
    }
}

fn cancel_open(work: &mut Work<'_>, at: Timestamp, id: OrderId, reason: &str) {
    if work.account.order(id).is_some_and(|order| order.is_open()) {
        work.record(Some(at), Event::Canceled { id, reason: Some(reason.to_owned()) });
    }
}

/// Auctions that are over, then orders whose time is.
fn end_orders(work: &mut Work<'_>, at: Timestamp) {
    let is_over = |order: &crate::order::Order| {
        let is_auction = order.terms.order_type == OrderType::Auction && order.is_working();
        is_auction && order.standing.placement.auction.is_some_and(|auction| auction.over_at <= at)
    };
    for id in open_where(work, is_over) {
        cancel_open(work, at, id, "auction is over");
    }
    let feed = work.feed;
    for id in open_where(work, |order| ends_at(order, feed).is_some_and(|end| end <= at)) {
        work.record(Some(at), Event::Expired { id });
    }
}

fn report(work: &mut Work<'_>, at: Timestamp) {
    let is_due = |order: &crate::order::Order| {
        order.status() == OrderStatus::NotReported && order.standing.placement.reports_at <= at
    };
    for id in open_where(work, is_due) {
        work.record(Some(at), Event::Reported { id });
    }
}
