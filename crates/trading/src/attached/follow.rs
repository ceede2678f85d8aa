//! Effects of an event on attached orders.

use market::{Symbol, Timestamp};

use super::legs::{armed, direction};
use crate::checks::{hours, quantity_step};
use crate::event::Event;
use crate::order::{Order, OrderId, Standing, Watch};
use crate::quantity::Quantity;
use crate::sessions::place;
use crate::words::{AttachedLeg, OrderStatus, Side};
use crate::work::Work;

/// Reasons of cancelled attached orders.
pub(crate) const MAIN_CANCELED: &str = "main order canceled";
const MAIN_EXPIRED: &str = "main order expired";
const MAIN_REJECTED: &str = "main order rejected";
const CLOSED: &str = "position closed";
const PROFIT_TAKEN: &str = "take profit filled";
const STOPPED: &str = "stop loss filled";

/// The part of an event that may affect attached orders.
#[derive(Clone, Debug)]
pub(crate) enum Cause {
    Filled {
        id: OrderId,
        quantity: Quantity,
    },
    /// An order ended without a fill.
    Ended(OrderId),
    /// An order has new terms, or was activated.
    Renewed(OrderId),
    /// An operator changed a position.
    Position(Symbol),
}

impl Cause {
    pub(crate) fn of(event: &Event) -> Option<Cause> {
        match event {
            Event::Filled(filled) => Some(Cause::Filled { id: filled.id, quantity: filled.quantity }),
            Event::Canceled { id, .. } | Event::Expired { id } | Event::Rejected { id, order: None, .. } => {
                Some(Cause::Ended(*id))
            }
            Event::Replaced { id, .. } | Event::Activated { id, .. } => Some(Cause::Renewed(*id)),
            Event::PositionEntered { symbol, .. } => Some(Cause::Position(symbol.clone())),
            _ => None,
        }
    }
}

/// Records the events that follow from an event on the attached orders of its symbol.
pub(crate) fn follow(work: &mut Work<'_>, at: Timestamp, cause: Cause) {
    if work.account.open_attached.is_empty() {
        return;
    }
    let (id, filled) = match cause {
        Cause::Filled { id, quantity } => (id, Some(quantity)),
        Cause::Ended(id) => return end(work, at, id),
        Cause::Renewed(id) => (id, None),
        Cause::Position(symbol) => return fit_position(work, at, &symbol),
    };
    let Some(order) = work.account.order(id) else { return };
    let symbol = order.symbol().clone();
    match filled {
        Some(quantity) => {
            arm(work, at, id);
            shrink_beside(work, at, id, quantity);
        }
        None if order.attached.is_none() => return,
        None => {}
    }
    fit_position(work, at, &symbol);
}

/// Returns the open orders attached to an order, the stop loss first.
fn open_legs(work: &Work<'_>, main: &Order) -> Vec<OrderId> {
    let open = work.account.attached_orders(main).filter(|order| order.is_open());
    let mut legs: Vec<(bool, OrderId)> = open.map(|order| (!is_stop(order), order.id)).collect();
    legs.sort_unstable();
    legs.into_iter().map(|(_, id)| id).collect()
}

fn is_stop(order: &Order) -> bool {
    order.attached.is_some_and(|attached| attached.leg == AttachedLeg::StopLoss)
}

/// Ends the dormant attached orders of an order that ended without a fill, and removes the rest of
/// an order that ended with fills.
fn end(work: &mut Work<'_>, at: Timestamp, id: OrderId) {
    let Some(main) = work.account.order(id) else { return };
    let reason = match main.status() {
        OrderStatus::Expired => MAIN_EXPIRED,
        OrderStatus::Rejected => MAIN_REJECTED,
        _ if main.msg.is_empty() => MAIN_CANCELED,
        _ => main.msg.as_str(),
    };
    let reason = reason.to_owned();
    let unfilled = main.remaining();
    for id in open_legs(work, main) {
        cut(work, at, id, unfilled, &reason);
    }
}

/// Reduces an attached order, or cancels it if nothing would be left.
fn cut(work: &mut Work<'_>, at: Timestamp, id: OrderId, by: Quantity, reason: &str) {
    let Some(order) = work.account.order(id).filter(|order| order.is_open() && by.is_positive()) else {
        return;
    };
    let event = if order.remaining() <= by {
        Event::Canceled { id, reason: Some(reason.to_owned()) }
    } else {
        Event::Resized { id, quantity: order.terms.quantity - by }
    };
    work.record(Some(at), event);
}

/// Activates the dormant attached orders of an order that has its first fill. An order whose date
/// has passed expires.
fn arm(work: &mut Work<'_>, at: Timestamp, id: OrderId) {
    let Some(main) = work.account.order(id).filter(|main| !main.attached_orders.is_empty()) else { return };
    for id in open_legs(work, main) {
        let Some(order) = work.account.order(id).filter(|order| order.is_dormant()) else { continue };
        let placement = place(work.feed.venue(order.market()), hours(&order.terms), at);
        let placement =
            placement.filter(|placement| order.terms.expire_date.is_none_or(|date| placement.day <= date));
        let event = match (placement, order.attached) {
            (Some(placement), Some(attached)) => Event::Activated {
                id,
                sequence: work.account.next_sequence(),
                terms: Box::new(order.terms.clone()),
                standing: Standing {
                    placement,
                    watch: Some(Watch::Touch(direction(attached.leg, order.terms.side))),
                    ..order.standing.clone()
                },
            },
            _ => Event::Expired { id },
        };
        work.record(Some(at), event);
    }
}

/// Reduces the other attached order after a fill of an attached order.
fn shrink_beside(work: &mut Work<'_>, at: Timestamp, id: OrderId, quantity: Quantity) {
    let Some(order) = work.account.order(id) else { return };
    let reason = if is_stop(order) { STOPPED } else { PROFIT_TAKEN };
    if let Some(beside) = work.account.beside(order).map(|beside| beside.id) {
        cut(work, at, beside, quantity, reason);
    }
}

/// Reduces the attached orders of a symbol to the position that they can close, the oldest main
/// orders first.
fn fit_position(work: &mut Work<'_>, at: Timestamp, symbol: &Symbol) {
    for side in [Side::Sell, Side::Buy] {
        fit_side(work, at, symbol, side);
    }
}

/// A main order, with the quantity that its attached orders on one side would close.
struct Claim {
    main: OrderId,
    quantity: Quantity,
}

fn claims(work: &Work<'_>, symbol: &Symbol, side: Side) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for order in work.account.open_attached_of(symbol) {
        let Some(main) = work.account.main_of(order) else { continue };
        if order.terms.side != side || order.is_dormant() {
            continue;
        }
        let quantity = armed(main, order);
        match claims.iter_mut().find(|claim| claim.main == main.id) {
            Some(claim) => claim.quantity = claim.quantity.max(quantity),
            None => claims.push(Claim { main: main.id, quantity }),
        }
    }
    claims.sort_unstable_by_key(|claim| claim.main);
    claims
}

fn fit_side(work: &mut Work<'_>, at: Timestamp, symbol: &Symbol, side: Side) {
    let held = work.account.held(symbol);
    let closable = if side.is_buy() { (-held).or_zero() } else { held.or_zero() };
    let claims = claims(work, symbol, side);
    let total: Quantity = claims.iter().map(|claim| claim.quantity).sum();
    let mut excess = (total - closable).or_zero();
    for claim in claims {
        if !excess.is_positive() {
            return;
        }
        let Some(main) = work.account.order(claim.main) else { continue };
        let security = work.before_roll(at).security(symbol);
        let legs = open_legs(work, main);
        let step = match (security, legs.first().and_then(|id| work.account.order(*id))) {
            (Some(security), Some(order)) => quantity_step(&work.account.settings, &order.terms, &security),
            _ => Quantity::whole(1),
        };
        let left = (claim.quantity - excess).or_zero().down_to(step);
        excess = (excess - (claim.quantity - left)).or_zero();
        for id in legs {
            let Some(order) = work.account.order(id) else { continue };
            let Some(main) = work.account.main_of(order) else { continue };
            let by = (armed(main, order) - left).or_zero();
            cut(work, at, id, by, CLOSED);
        }
    }
}
