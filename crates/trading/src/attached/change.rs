//! Changes to the attached orders of an order: new terms, added legs, cancellation.

use market::Price;

use super::legs::{
    Leg, check, check_order, check_quantity_of, check_side, direction, open_quantity, reference, terms,
};
use crate::account::Account;
use crate::event::Event;
use crate::order::{Order, OrderId, Standing, Watch};
use crate::place_order::replace_order;
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::terms::{Attached, AttachedChanges, Changes, Terms};
use crate::view::MarketView;
use crate::words::{AttachedLeg, OrderType, OutsideRth, TimeInForce};

/// Returns the events that change the attached orders of `main`, whose terms will be `main_terms`.
/// `before` is the number of orders and of queue positions that events of the same command use.
pub(crate) fn change(
    account: &Account,
    view: &MarketView<'_>,
    (main, main_terms): (&Order, &Terms),
    changes: &AttachedChanges,
    before: u64,
) -> Result<Vec<Event>, Refusal> {
    if let Some(id) = changes.main_id.filter(|id| *id != main.id) {
        return Err(Refusal::check(3, format!("main_id is {id}, order_id {}", main.id)));
    }
    let open = || account.attached_orders(main).filter(|order| order.is_open());
    if changes.cancel_all {
        let canceled: Vec<Event> =
            open().map(|order| Event::Canceled { id: order.id, reason: None }).collect();
        return if canceled.is_empty() { Err(none_open(main)) } else { Ok(canceled) };
    }
    let mut planner = Planner { account, view, main, main_terms, events: Vec::new(), sequence: before };
    let mut new = Vec::new();
    for leg in AttachedLeg::ALL.iter().copied().filter(|leg| changes.attached.kind.has(*leg)) {
        let (field, named) = match leg {
            AttachedLeg::ProfitTaker => ("profit_taker_id", changes.profit_taker_id),
            AttachedLeg::StopLoss => ("stop_loss_id", changes.stop_loss_id),
        };
        let order = open().find(|order| order.attached.is_some_and(|attached| attached.leg == leg));
        if named.is_some_and(|named| order.is_none_or(|order| order.id != named)) {
            let text = format!("{field} is not an open attached order of order {}", main.id);
            return Err(Refusal::check(3, text));
        }
        let terms = match order {
            Some(order) => planner.replace(order, changes)?,
            None => {
                let leg = planner.checked(leg, changes)?;
                let terms = leg.terms.clone();
                new.push(leg);
                terms
            }
        };
        planner.check_beside(leg, &terms, &changes.attached)?;
    }
    account.check_open_orders(new.len())?;
    planner.add(&new);
    Ok(planner.events)
}

fn none_open(main: &Order) -> Refusal {
    Refusal::plain(format!("order {} has no open attached orders", main.id))
}

struct Planner<'a> {
    account: &'a Account,
    view: &'a MarketView<'a>,
    main: &'a Order,
    main_terms: &'a Terms,
    events: Vec<Event>,
    /// Number of queue positions used.
    sequence: u64,
}

impl Planner<'_> {
    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.account.next_sequence() + self.sequence - 1
    }

    /// Returns whether the attached orders watch the price.
    fn is_armed(&self) -> bool {
        self.main.executed.is_positive()
    }

    /// Returns the price that the triggers must enclose.
    fn reference(&self) -> Option<(&'static str, Price)> {
        let market = self.view.mark(&self.main.terms.symbol).map(|mark| ("the market price", mark));
        if self.is_armed() { market } else { reference(self.view, self.main_terms) }
    }

    /// Returns the new quantity of an attached order. The quantity follows an open main order, so a
    /// request may only repeat it.
    fn quantity_of(&self, order: &Order, changes: &AttachedChanges) -> Result<Quantity, Refusal> {
        let unchanged = order.terms.quantity + self.main_terms.quantity - self.main.terms.quantity;
        match changes.quantity {
            None => Ok(unchanged),
            Some(quantity) if self.is_repeated(quantity, unchanged) => Ok(unchanged),
            Some(quantity) => check_quantity_of(self.account, order, quantity).map(|()| quantity),
        }
    }

    fn is_repeated(&self, quantity: Quantity, unchanged: Quantity) -> bool {
        self.main.is_open() && (quantity == unchanged || quantity == self.main_terms.quantity)
    }

    /// Replaces an open attached order. Returns its new terms.
    fn replace(&mut self, order: &Order, changes: &AttachedChanges) -> Result<Terms, Refusal> {
        let Some(attached) = order.attached else { return Err(none_open(self.main)) };
        let quantity = self.quantity_of(order, changes)?;
        let (trigger, limit) = changes.attached.prices(attached.leg);
        if order.is_working() {
            // A released order has no trigger any more.
            let own = Changes { quantity, price: limit, ..Changes::default() };
            let events = replace_order(self.account, self.view, order.id, &own)?;
            self.sequence += 1;
            self.events.extend(events);
            return Ok(order.terms.clone());
        }
        if quantity <= order.executed {
            let text = format!("quantity must be above the executed {}: cancel instead", order.executed);
            return Err(Refusal::check(5, text));
        }
        let old = &order.terms;
        let limit = limit.or(old.price);
        let order_type = match (changes.attached.order_type, old.order_type) {
            (None, OrderType::LimitIfTouched) => OrderType::LimitIfTouched,
            (None, _) if limit.is_some() => OrderType::LimitIfTouched,
            (None, old) => old,
            (Some(requested), _) => requested,
        };
        let (time_in_force, expire_time) = (changes.attached.time_in_force, changes.attached.expire_time);
        let mut requested = Attached {
            order_type: Some(order_type),
            time_in_force,
            expire_time,
            outside_rth: changes.attached.outside_rth.or(old.outside_rth),
            ..Attached::new(changes.attached.kind)
        };
        let trigger = trigger.or(old.trigger_price);
        match attached.leg {
            AttachedLeg::ProfitTaker => {
                (requested.profit_taker_price, requested.profit_taker_submit_price) = (trigger, limit);
            }
            AttachedLeg::StopLoss => {
                (requested.stop_loss_price, requested.stop_loss_submit_price) = (trigger, limit);
            }
        }
        // An absent time in force is the order's own, not that of the main order.
        let of_main = Terms {
            time_in_force: old.time_in_force,
            expire_date: old.expire_date,
            ..self.main_terms.clone()
        };
        let terms = Terms { quantity, ..terms(self.view, &of_main, &requested, attached.leg)? };
        let leg = check(&self.account.settings, self.view, attached.leg, terms)?;
        check_side(attached.leg, &leg.terms, self.reference())?;
        let is_placed_anew = hours_of(&leg.terms) != hours_of(old);
        let placement = if is_placed_anew { leg.placement } else { order.standing.placement };
        let watch = self.is_armed().then(|| Watch::Touch(direction(attached.leg, leg.terms.side)));
        let sequence = self.next_sequence();
        self.events.push(Event::Replaced {
            id: order.id,
            sequence,
            terms: Box::new(leg.terms.clone()),
            standing: Standing { placement, watch, ..order.standing.clone() },
        });
        Ok(leg.terms)
    }

    /// Checks a leg that the main order does not have.
    fn checked(&self, leg: AttachedLeg, changes: &AttachedChanges) -> Result<Leg, Refusal> {
        if self.main_terms.order_type == OrderType::OddLot {
            return Err(Refusal::check(2, "attached orders do not apply to ODD"));
        }
        let changed = self.main_terms.quantity - self.main.terms.quantity;
        let most = open_quantity(self.account, self.main) + changed;
        if !most.is_positive() {
            return Err(Refusal::plain(format!("order {} has nothing left to close", self.main.id)));
        }
        let has_stopped = |order: &Order| order.is_working() && is_stop(order);
        if self.account.attached_orders(self.main).any(has_stopped) {
            return Err(Refusal::plain(format!("the stop loss of order {} is triggered", self.main.id)));
        }
        let quantity = changes.quantity.filter(|quantity| !self.is_repeated(*quantity, most));
        let quantity = quantity.unwrap_or(most);
        if quantity > most || (self.main.is_open() && quantity != most) {
            let text = format!("quantity must be at most {most}, which order {} has opened", self.main.id);
            return Err(Refusal::check(5, text).with("opened", most, quantity));
        }
        let terms = terms(self.view, self.main_terms, &changes.attached, leg)?;
        let leg = check(&self.account.settings, self.view, leg, Terms { quantity, ..terms })?;
        check_side(leg.leg, &leg.terms, self.reference())?;
        Ok(leg)
    }

    /// Checks a leg against the other one, unless the other one changes, too.
    fn check_beside(&self, leg: AttachedLeg, terms: &Terms, attached: &Attached) -> Result<(), Refusal> {
        let others = self.account.attached_orders(self.main).filter(|order| order.is_open());
        let others = others.filter_map(|order| Some((order.attached?.leg, &order.terms)));
        let changed = |of: AttachedLeg| of == leg || attached.kind.has(of);
        let others = others.filter(|(of, _)| !changed(*of));
        check_order(others.chain([(leg, terms)]).collect::<Vec<_>>().into_iter())
    }

    /// Adds legs, which watch the price immediately if the main order has a fill.
    fn add(&mut self, legs: &[Leg]) {
        let first = self.account.next_order().number();
        for (index, leg) in (0u64..).zip(legs) {
            let id = OrderId::of(self.account.number(), first + index);
            let sequence = self.next_sequence();
            let accepted = leg.accepted(self.main.id, self.main.facts, (id, sequence));
            let standing = Standing {
                watch: Some(Watch::Touch(direction(leg.leg, leg.terms.side))),
                ..accepted.standing.clone()
            };
            self.events.push(Event::Accepted(Box::new(accepted)));
            if self.is_armed() {
                let sequence = self.next_sequence();
                let terms = Box::new(leg.terms.clone());
                self.events.push(Event::Activated { id, sequence, terms, standing });
            }
        }
    }
}

fn is_stop(order: &Order) -> bool {
    order.attached.is_some_and(|attached| attached.leg == AttachedLeg::StopLoss)
}

/// Returns the terms from which an order's placement in the calendar is computed.
fn hours_of(terms: &Terms) -> (TimeInForce, Option<market::Date>, Option<OutsideRth>) {
    (terms.time_in_force, terms.expire_date, terms.outside_rth)
}

/// Returns the events that follow from new terms of an order for its attached orders, and checks
/// that the triggers of dormant orders still enclose its price. `changes` has triggers that the
/// same request changes.
pub(crate) fn resized(
    account: &Account,
    view: &MarketView<'_>,
    (main, main_terms): (&Order, &Terms),
    changes: Option<&AttachedChanges>,
) -> Result<Vec<Event>, Refusal> {
    let changed = main_terms.quantity - main.terms.quantity;
    let mut events = Vec::new();
    for order in account.attached_orders(main).filter(|order| order.is_open()) {
        let is_changed =
            |leg| changes.is_some_and(|changes| changes.cancel_all || changes.attached.kind.has(leg));
        if let Some(attached) = order.attached.filter(|of| order.is_dormant() && !is_changed(of.leg)) {
            check_side(attached.leg, &order.terms, reference(view, main_terms))?;
        }
        if changed != Quantity::ZERO {
            events.push(Event::Resized { id: order.id, quantity: order.terms.quantity + changed });
        }
    }
    Ok(events)
}
