//! Moving an account through time: every instant at which something happens, each with all its work in one fixed order.
//!
//! Candles, then releases, grids and held orders, then auctions that are over and expiries, then the day roll, then reports. Whether
//! a stretch is gone through in one step or in many makes no difference: the instants are the same.

use market::{Market, Symbol, Timestamp};

use crate::account::Account;
use crate::candle_step::{Aftermath, act, release_inside};
use crate::event::Event;
use crate::feed::EffectiveCandle;
use crate::forced::sell_by_force;
use crate::grid;
use crate::option_expiry::expire_options;
use crate::order::OrderId;
use crate::place_order::activate;
use crate::reach::Reach;
use crate::roll::roll;
use crate::tape::Tape;
use crate::timers::{self, ends_at};
use crate::words::{OrderStatus, OrderType};
use crate::work::Work;

/// Brings an account to an instant. The first time is where its time begins. After so many entries it stops, once everything of the
/// instant has happened: the account's horizon says where.
pub(crate) fn advance(work: &mut Work<'_>, to: Timestamp, entries_max: usize) {
    let Some(mut now) = work.account.horizon else {
        work.record(Some(to), Event::Began);
        return;
    };
    if now == to {
        return;
    }
    let mut ahead = Ahead::default();
    let mut timer = timers::next(work.account, work.feed, now);
    loop {
        let candle = ahead.next(work, now, to);
        let Some(at) = [candle, timer].into_iter().flatten().min().filter(|at| *at <= to) else { break };
        let before = work.account.entries;
        let is_timed = timer == Some(at);
        step(work, &ahead, at, is_timed);
        now = at;
        if work.outcome.entries.len() >= entries_max {
            work.account.set_horizon(Some(now));
            return;
        }
        // The clock's next instant changes only when something did.
        if is_timed || work.account.entries != before {
            timer = timers::next(work.account, work.feed, now);
        }
    }
    work.account.set_horizon(Some(to));
}

/// The candles that an account has before it.
#[derive(Debug, Default)]
struct Ahead {
    /// Ascending by symbol.
    tapes: Vec<(Symbol, Tape)>,
    /// The entry as of which they are the right ones.
    as_of: Option<u64>,
}

impl Ahead {
    /// When the next candle acts that may matter.
    fn next(&mut self, work: &Work<'_>, now: Timestamp, to: Timestamp) -> Option<Timestamp> {
        if self.as_of != Some(work.account.entries) {
            self.aim(work.account, now);
            self.as_of = Some(work.account.entries);
        }
        self.tapes.iter_mut().filter_map(|(symbol, tape)| tape.peek(work.feed, symbol, now, to)).min()
    }

    /// Candles of open orders and grids matter, and every candle of what could be sold by force.
    fn aim(&mut self, account: &Account, now: Timestamp) {
        let may_force = account.settings.liquidate;
        let is_same = self.tapes.iter().map(|(symbol, _)| symbol).eq(account.open.keys());
        if may_force || account.grids.has_open() || !is_same {
            let held = account.positions().map(|(symbol, _)| symbol).filter(|_| may_force);
            let gridded = account.watching_grids().map(|grid| &grid.symbol);
            let mut symbols: Vec<&Symbol> = account.open.keys().chain(held).chain(gridded).collect();
            symbols.sort_unstable();
            symbols.dedup();
            self.keep(&symbols, now);
        }
        for (symbol, tape) in &mut self.tapes {
            tape.aim(if may_force { Reach::Every } else { Reach::of_symbol(account, symbol) }, now);
        }
    }

    /// Tapes of these symbols, which ascend, and of no others.
    fn keep(&mut self, symbols: &[&Symbol], now: Timestamp) {
        let mut known = std::mem::take(&mut self.tapes).into_iter().peekable();
        for symbol in symbols {
            while known.next_if(|(of, _)| of < *symbol).is_some() {}
            let kept = known.next_if(|(of, _)| of == *symbol);
            self.tapes.push(kept.unwrap_or_else(|| ((*symbol).clone(), Tape::new(Reach::NONE, now))));
        }
    }

    /// The candles of an instant that [`Ahead::next`] has just named, by round: the oldest of every symbol together, so that orders of all
    /// symbols are in one queue, whatever the stamps of their candles. A symbol has a second one only where candles came late.
    fn at(&self, at: Timestamp) -> Vec<(usize, &Symbol, EffectiveCandle)> {
        let mut found = Vec::new();
        for (symbol, tape) in &self.tapes {
            found.extend(tape.at(at).map(|(round, effective)| (*round, symbol, *effective)));
        }
        found.sort_by_key(|(round, ..)| *round);
        found
    }
}

/// All work of one instant.
fn step(work: &mut Work<'_>, ahead: &Ahead, at: Timestamp, is_timed: bool) {
    let mut after = Aftermath::default();
    let candles = ahead.at(at);
    for round in candles.chunk_by(|(a, ..), (b, ..)| a == b) {
        act(work, at, round, &mut after);
    }
    release_inside(work, at, &mut after);
    grid::play(work, at, &candles);
    if is_timed {
        activate_held(work, at);
    }
    if !candles.is_empty() && work.account.settings.liquidate {
        sell_by_force(work, at);
    }
    for id in std::mem::take(&mut after.spent) {
        cancel_open(work, at, id, "not filled at once");
    }
    if is_timed {
        end_orders(work, at);
        grid::expire(work, at);
        expire_options(work, at);
        for market in [Market::Hk, Market::Us] {
            roll(work, at, market);
        }
        report(work, at);
    }
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
        let view = work.before_roll(at);
        let Some(order) = work.account.order(id) else { continue };
        let event = activate(work.account, &view, order);
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
