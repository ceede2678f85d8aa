//! Creates the orders of grid triggers, and cancels a grid's open orders.

use market::{Market, Price};

use super::state::Grid;
use crate::account::Account;
use crate::checks::{Failure, check_account, check_quantity, hours, quantity_most, quantity_step};
use crate::event::{AcceptedOrder, Event};
use crate::fold::new_order;
use crate::matching::{depth_price, market_reserve};
use crate::order::{Facts, GridOrigin, OrderId, Standing};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::sessions::place;
use crate::terms::Terms;
use crate::view::MarketView;
use crate::words::{GridHours, GridOrderType, OrderStatus, OrderType, OutsideRth, Side, SleepingReason};

/// Reason texts of a grid's cancelled orders.
pub(crate) const BY_CANCEL: &str = "grid canceled";
pub(crate) const BY_REPLACE: &str = "grid replaced";
pub(super) const BY_EXPIRY: &str = "grid expired";
pub(super) const BY_BOUND: &str = "grid closed at a bound";

/// Reason why a trigger creates no order.
pub(super) struct Skip {
    pub(super) reason: SleepingReason,
    pub(super) refusal: Option<Refusal>,
}

impl Skip {
    fn of(reason: SleepingReason, rule: &str, needed: Quantity, available: Quantity) -> Skip {
        let text =
            if reason == SleepingReason::Holdings { "insufficient holdings" } else { "position limit" };
        let refusal = Refusal::plain(text).with(rule, needed, available);
        Skip { reason, refusal: Some(refusal) }
    }

    /// Maps a failed check to a sleeping reason.
    fn for_refusal(refusal: Refusal) -> Skip {
        let reason = match refusal.check {
            Some(5 | 6) => SleepingReason::Position,
            Some(11) => SleepingReason::Holdings,
            _ => SleepingReason::Funds,
        };
        Skip { reason, refusal: Some(refusal) }
    }
}

impl Grid {
    /// Returns the lanes in which the grid's orders trade.
    pub(crate) fn outside_rth(&self) -> OutsideRth {
        match (self.market(), self.rule.hours) {
            (Market::Us, GridHours::Extended) => OutsideRth::AnyTime,
            (Market::Us, GridHours::Default | GridHours::Regular) => OutsideRth::RegularOnly,
            _ => OutsideRth::NotApplicable,
        }
    }

    fn depth(&self, side: Side) -> i32 {
        if side.is_buy() { self.rule.buy_depth } else { self.rule.sell_depth }
    }

    /// Returns the type of the grid's orders on a side: market orders if the rule selects them
    /// without a depth level, limit orders otherwise.
    pub fn sub_order_type(&self, side: Side) -> OrderType {
        let word = if side.is_buy() { self.rule.buy_type } else { self.rule.sell_type };
        if word == GridOrderType::Market && self.depth(side) == 0 {
            OrderType::Market
        } else {
            OrderType::Limit
        }
    }

    /// Returns the terms of a grid's order. A market order trades in regular hours only, even if
    /// the grid's hours are extended.
    pub(crate) fn terms(&self, side: Side, quantity: Quantity, price: Option<Price>) -> Terms {
        let order_type = if price.is_some() { OrderType::Limit } else { OrderType::Market };
        let outside_rth = match self.outside_rth() {
            OutsideRth::AnyTime if price.is_none() => OutsideRth::RegularOnly,
            lanes => lanes,
        };
        let plain = Terms::new(self.symbol.clone(), side, order_type, quantity);
        Terms { price, outside_rth: Some(outside_rth), ..plain }
    }
}

/// Returns the order that a trigger creates, or the reason why the trigger is skipped.
pub(super) fn of_trigger(
    account: &Account,
    view: &MarketView<'_>,
    grid: &Grid,
    (side, quantity, origin): (Side, Quantity, GridOrigin),
) -> Result<AcceptedOrder, Skip> {
    check_limits(account, grid, side, quantity)?;
    account
        .check_open_orders(1)
        .map_err(|refusal| Skip { reason: SleepingReason::Position, refusal: Some(refusal) })?;
    let mark = view.mark(&grid.symbol).unwrap_or(origin.price);
    let ticks = view.ticks(&grid.symbol, grid.facts.kind, view.date(grid.market()));
    let price = match grid.depth(side) {
        0 if grid.sub_order_type(side) == OrderType::Market => None,
        0 => Some(origin.price),
        // At a very low price, the depth price may be below zero, so the minimum is one tick.
        level => Some(depth_price(mark, level, side, ticks).max(ticks.tick(mark))),
    };
    let terms = grid.terms(side, quantity, price);
    let accepted = born(account, view, terms, origin).map_err(Skip::for_refusal)?;
    let order = new_order(&accepted, view.at);
    let reserve = accepted.standing.reserve_price.unwrap_or(mark);
    match check_account(account, view, &order, reserve).map_err(Failure::into_refusal) {
        Ok(()) => Ok(accepted),
        Err(refusal) => Err(Skip::for_refusal(refusal)),
    }
}

/// Checks a trigger's quantity against the position limits of the rule, ignoring open orders. If
/// the rule does not allow short sales, also checks the quantity available for sale.
fn check_limits(account: &Account, grid: &Grid, side: Side, quantity: Quantity) -> Result<(), Skip> {
    let held = account.held(&grid.symbol);
    let rule = &grid.rule;
    match side {
        Side::Buy if held + quantity > rule.upper_quantity => {
            let room = (rule.upper_quantity - held).or_zero();
            Err(Skip::of(SleepingReason::Position, "room below upper_limit_quantity", quantity, room))
        }
        Side::Sell if held - quantity < rule.lower_quantity => {
            let room = (held - rule.lower_quantity).or_zero();
            Err(Skip::of(SleepingReason::Position, "shares above lower_limit_quantity", quantity, room))
        }
        Side::Sell if !rule.support_shortsell => {
            let available = account.available_quantity(&grid.symbol, None).or_zero();
            if quantity <= available {
                return Ok(());
            }
            Err(Skip::of(SleepingReason::Holdings, "holdings", quantity, available))
        }
        Side::Buy | Side::Sell => Ok(()),
    }
}

/// Returns the market order that sells a grid's position, limited to the quantity that the account
/// can still sell. Returns `None` if nothing can be sold.
pub(super) fn of_close(
    account: &Account,
    view: &MarketView<'_>,
    grid: &Grid,
    origin: GridOrigin,
) -> Option<AcceptedOrder> {
    let security = view.security(&grid.symbol)?;
    let there = account.available_quantity(&grid.symbol, None).or_zero();
    let terms = grid.terms(Side::Sell, grid.built().min(there), None);
    let most = quantity_most(&terms, &security);
    let step = quantity_step(&account.settings, &terms, &security);
    let quantity = terms.quantity.min(most).down_to(step);
    if !quantity.is_positive() {
        return None;
    }
    born(account, view, Terms { quantity, ..terms }, origin).ok()
}

/// Creates a day order for a grid, or returns a refusal if the quantity is invalid or the order has
/// no trading day.
fn born(
    account: &Account,
    view: &MarketView<'_>,
    terms: Terms,
    origin: GridOrigin,
) -> Result<AcceptedOrder, Refusal> {
    let symbol = &terms.symbol;
    let no_day = || Refusal::plain("the calendar has no day on which the order could trade");
    let placement = place(view.venue(symbol.market()), hours(&terms), view.at).ok_or_else(no_day)?;
    let no_quotes = || Refusal::plain("no quotes");
    let security = view.security_on(symbol, placement.day).ok_or_else(no_quotes)?;
    // The lot size may have changed since the grid was submitted, and a gap may multiply the
    // quantity.
    check_quantity(&account.settings, &terms, &security)?;
    let ticks = view.ticks(symbol, security.kind, placement.day);
    let at_market =
        || view.mark(symbol).map(|mark| market_reserve(mark, account.settings.market_reserve, ticks));
    let reserve_price = terms.price.or_else(at_market);
    let is_open = view.at >= placement.reports_at;
    let status = if is_open { OrderStatus::New } else { OrderStatus::NotReported };
    let standing = Standing { status, placement, reserve_price, watch: None };
    Ok(AcceptedOrder {
        id: account.next_order(),
        sequence: account.next_sequence(),
        terms,
        facts: Facts::of(&security),
        standing,
        by_engine: true,
        is_forced: false,
        grid: Some(origin),
        attached: None,
    })
}

/// Returns the open orders of a grid, in order of sequence number.
pub(super) fn open_orders(account: &Account, grid: &Grid) -> Vec<OrderId> {
    let of_grid = account
        .open_orders_of(&grid.symbol)
        .filter(|order| order.grid.is_some_and(|origin| origin.grid == grid.id));
    let mut found: Vec<(u64, OrderId)> = of_grid.map(|order| (order.sequence, order.id)).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id).collect()
}

/// Returns the events that cancel a grid's open orders.
pub(super) fn cancellations(account: &Account, grid: &Grid, reason: &str) -> Vec<Event> {
    let canceled = |id: OrderId| Event::Canceled { id, reason: Some(reason.to_owned()) };
    open_orders(account, grid).into_iter().map(canceled).collect()
}
