//! Advances an account through every instant at which an event may occur, and does each instant's
//! work in a fixed order: candles, releases, grids, held orders, liquidation, ended auctions and
//! expiries, the day roll, then reports.
//!
//! Advancing in one call or in several gives the same result, because the instants visited do not
//! depend on where a call stops.

use market::{Market, Symbol, Timestamp};

use crate::account::Account;
use crate::candle_step::{Aftermath, act, release_inside};
use crate::event::Event;
use crate::feed::{EffectiveCandle, Feed};
use crate::forced::sell_by_force;
use crate::grid;
use crate::order::OrderId;
use crate::place_order::activate;
use crate::roll::{expire_options, roll};
use crate::tape::{Reach, Tape};
use crate::timers::{self, ends_at};
use crate::words::{OrderStatus, OrderType};
use crate::work::Work;

/// Cost of one position or symbol with open orders at a timer instant, counted in candles, because
/// a day roll reads the symbol's corporate actions.
const HOLDING_COST: u64 = 20;

/// Limit on the work of one `advance` call, checked after each instant. The limit affects how far a
/// call advances, but not the resulting entries.
#[derive(Clone, Copy, Debug)]
pub struct AdvanceLimit {
    /// Maximum number of entries created.
    pub entries: usize,
    /// Maximum number of candles scanned. Each scan of a symbol's day adds a fixed cost, because
    /// the feed looks the day up even if it has no candles. Each timer instant adds a fixed cost
    /// per holding.
    pub candles: u64,
}

impl AdvanceLimit {
    pub const NONE: AdvanceLimit = AdvanceLimit { entries: usize::MAX, candles: u64::MAX };
}

/// Advances an account to an instant, or as far as the limit allows, and sets the account's
/// horizon. If the account has no horizon yet, only records [`Event::Began`].
pub(crate) fn advance(work: &mut Work<'_>, to: Timestamp, limit: AdvanceLimit) {
    let Some(mut now) = work.account.horizon else {
        work.record(Some(to), Event::Began);
        return;
    };
    let mut ahead = Ahead::default();
    let mut cost: u64 = 0;
    let mut timer = timers::next(work.account, work.feed, now);
    while now < to {
        let through = ahead.through(work.account, now, to);
        let (candle, scanned) = ahead.next(work.feed, now, through);
        cost = cost.saturating_add(scanned);
        let before = work.account.entries;
        let next = [candle, timer].into_iter().flatten().min().filter(|at| *at <= through);
        let is_timed = next.is_some() && timer == next;
        if let Some(at) = next {
            step(work, &ahead, at, is_timed);
        }
        now = next.unwrap_or(through);
        if is_timed {
            cost = cost.saturating_add(holdings_cost(work.account));
        }
        if work.outcome.entries.len() >= limit.entries || cost >= limit.candles {
            break;
        }
        // The next timer can change only after a timer fired or an event was recorded.
        if is_timed || work.account.entries != before {
            timer = timers::next(work.account, work.feed, now);
        }
    }
    work.account.set_horizon(Some(now));
}

fn holdings_cost(account: &Account) -> u64 {
    let holdings = account.positions.len().saturating_add(account.open.len()) as u64;
    HOLDING_COST.saturating_mul(holdings.saturating_add(1))
}

/// The upcoming candles that may affect an account.
#[derive(Debug, Default)]
struct Ahead {
    /// One tape per symbol, sorted by symbol.
    tapes: Vec<(Symbol, Tape)>,
    /// Number of the last journal entry when the tapes were selected. A newer entry makes the
    /// selection outdated.
    as_of: Option<u64>,
    /// End of the scan window.
    through: Option<Timestamp>,
}

/// Length of the scan window in seconds. All symbols are scanned one window at a time, so that
/// `advance` can stop between two windows.
const STEP: i64 = 86_400;

impl Ahead {
    /// Returns the instant up to which to search for the next candle: the end of the scan window,
    /// or `to` if no symbol is relevant.
    fn through(&mut self, account: &Account, now: Timestamp, to: Timestamp) -> Timestamp {
        if self.as_of != Some(account.entries) {
            self.aim(account, now);
            self.as_of = Some(account.entries);
        }
        if self.tapes.is_empty() {
            return to;
        }
        let end = self.through.filter(|end| *end > now);
        let end = end.unwrap_or(Timestamp(now.0.saturating_add(STEP))).min(to);
        self.through = Some(end);
        end
    }

    /// Returns when the next relevant candle up to `through` takes effect, or `None`, and the cost
    /// of the search.
    fn next(&mut self, feed: &dyn Feed, now: Timestamp, through: Timestamp) -> (Option<Timestamp>, u64) {
        let mut cost: u64 = 0;
        let mut first: Option<Timestamp> = None;
        for (symbol, tape) in &mut self.tapes {
            let found = tape.peek(feed, symbol, (now, through), &mut cost);
            first = [first, found].into_iter().flatten().min();
        }
        (first, cost)
    }

    /// Selects the relevant candles: those that may affect open orders or grids. If the account may
    /// be liquidated, selects every candle of these symbols and of all positions.
    fn aim(&mut self, account: &Account, now: Timestamp) {
        let may_force = account.settings.liquidate;
        let is_same = self.tapes.iter().map(|(symbol, _)| symbol).eq(account.open.keys());
        if may_force || account.grids.has_open() || !is_same {
            let held = account.positions().map(|(symbol, _)| symbol).filter(|_| may_force);
            let gridded = account.watching_grids().map(|grid| &grid.symbol);
            let mut symbols: Vec<&Symbol> = account.open.keys().chain(held).chain(gridded).collect();
            symbols.sort_unstable();
            symbols.dedup();
            self.cache(&symbols, now);
        }
        for (symbol, tape) in &mut self.tapes {
            tape.aim(if may_force { Reach::Every } else { Reach::of_symbol(account, symbol) }, now);
        }
    }

    /// Replaces the tapes with one per symbol, reusing existing tapes. `symbols` must be sorted.
    fn cache(&mut self, symbols: &[&Symbol], now: Timestamp) {
        let mut known = std::mem::take(&mut self.tapes).into_iter().peekable();
        for symbol in symbols {
            while known.next_if(|(of, _)| of < *symbol).is_some() {}
            let stored = known.next_if(|(of, _)| of == *symbol);
            self.tapes.push(stored.unwrap_or_else(|| ((*symbol).clone(), Tape::new(Reach::NONE, now))));
        }
    }

    /// Returns the candles that take effect at `at`, which [`Ahead::next`] has just returned,
    /// sorted by round. A round has at most one candle per symbol, so that the orders of all
    /// symbols share one queue even if their candles have different stamps. A symbol has a second
    /// round only if candles arrived late.
    fn at(&self, at: Timestamp) -> Vec<(usize, &Symbol, EffectiveCandle)> {
        let mut found = Vec::new();
        for (symbol, tape) in &self.tapes {
            found.extend(tape.at(at).map(|(round, effective)| (*round, symbol, *effective)));
        }
        found.sort_by_key(|(round, ..)| *round);
        found
    }
}

/// Does all the work of one instant.
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

/// Returns the open orders that satisfy a predicate, sorted by sequence number.
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

/// Cancels the orders whose auction is over, then expires the orders whose time in force has ended.
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
        if work.account.order(id).is_some_and(|order| order.is_open()) {
            work.record(Some(at), Event::Expired { id });
        }
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
