//! The terms of attached orders: defaults and checks.

use market::Price;

use crate::account::Account;
use crate::checks::{admit, check_mark};
use crate::command::Submit;
use crate::decimal::plain_price;
use crate::event::AcceptedOrder;
use crate::order::{AttachedTo, Direction, Facts, Order, OrderId, Standing, Watch};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::sessions::Placement;
use crate::settings::Settings;
use crate::terms::{Attached, Terms};
use crate::view::MarketView;
use crate::words::{AttachedLeg, OrderStatus, OrderType, OutsideRth, Side, TimeInForce};

/// An attached order that has passed its checks.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    pub(crate) leg: AttachedLeg,
    pub(crate) terms: Terms,
    pub(crate) placement: Placement,
}

/// Names of a leg: as in a refusal, and the fields of its trigger price and its limit price.
fn names(leg: AttachedLeg) -> [&'static str; 3] {
    match leg {
        AttachedLeg::ProfitTaker => ["take profit", "profit_taker_price", "profit_taker_submit_price"],
        AttachedLeg::StopLoss => ["stop loss", "stop_loss_price", "stop_loss_submit_price"],
    }
}

/// Adds the name of the leg to a refusal that another order could have, too.
fn of_leg(leg: AttachedLeg, refusal: Refusal) -> Refusal {
    let [name, ..] = names(leg);
    Refusal { text: format!("{name}: {}", refusal.text), ..refusal }
}

/// Returns the direction in which the price must move to trigger a leg that trades on a side.
pub(super) fn direction(leg: AttachedLeg, side: Side) -> Direction {
    match (leg, side) {
        (AttachedLeg::ProfitTaker, Side::Sell) | (AttachedLeg::StopLoss, Side::Buy) => Direction::Rise,
        (AttachedLeg::ProfitTaker, Side::Buy) | (AttachedLeg::StopLoss, Side::Sell) => Direction::Fall,
    }
}

/// Checks the attached orders of a new order, and returns them.
pub(crate) fn legs(
    account: &Account,
    view: &MarketView<'_>,
    main: &Terms,
    attached: &Attached,
) -> Result<Vec<Leg>, Refusal> {
    if main.order_type == OrderType::OddLot {
        return Err(Refusal::check(2, "attached orders do not apply to ODD"));
    }
    let held = account.held(&main.symbol);
    let closing = if main.side.is_buy() { -held } else { held };
    if closing >= main.quantity {
        return Err(Refusal::check(3, "attached orders are for an order that opens a position"));
    }
    let mut legs = Vec::new();
    for leg in AttachedLeg::ALL.iter().copied().filter(|leg| attached.kind.has(*leg)) {
        let terms = terms(view, main, attached, leg)?;
        let checked = check(&account.settings, view, leg, terms)?;
        check_side(leg, &checked.terms, reference(view, main))?;
        legs.push(checked);
    }
    check_order(legs.iter().map(|leg| (leg.leg, &leg.terms)))?;
    Ok(legs)
}

/// Returns the requested terms of a leg, with the defaults from its main order.
pub(super) fn terms(
    view: &MarketView<'_>,
    main: &Terms,
    attached: &Attached,
    leg: AttachedLeg,
) -> Result<Terms, Refusal> {
    let [_, trigger_name, limit_name] = names(leg);
    let (trigger, limit) = attached.prices(leg);
    let required = |field: &str| Refusal::check(3, format!("{field} required"));
    let trigger = trigger.ok_or_else(|| required(trigger_name))?;
    let order_type = order_type(attached, limit)?;
    if order_type == OrderType::LimitIfTouched && limit.is_none() {
        return Err(required(limit_name));
    }
    for (name, price) in [(trigger_name, Some(trigger)), (limit_name, limit)] {
        if price.is_some_and(|price| price.0 <= 0) {
            return Err(Refusal::check(3, format!("{name} must be above 0")));
        }
    }
    let (time_in_force, expire_date) = match attached.time_in_force {
        None => (main.time_in_force, main.expire_date),
        Some(TimeInForce::GoodTilDate) => {
            let time = attached.expire_time.ok_or_else(|| required("expire_time"))?;
            (TimeInForce::GoodTilDate, Some(view.venue(main.symbol.market()).zone().date(time)))
        }
        Some(other) => (other, None),
    };
    // Conditional orders do not trade overnight.
    let inherited = main.outside_rth.filter(|lanes| *lanes == OutsideRth::AnyTime);
    Ok(Terms {
        time_in_force,
        expire_date,
        outside_rth: attached.outside_rth.or(inherited),
        price: limit,
        trigger_price: Some(trigger),
        ..Terms::new(main.symbol.clone(), main.side.opposite(), order_type, main.quantity)
    })
}

/// Returns the conditional order type of a leg. A request may name the type before or after the
/// trigger.
pub(super) fn order_type(attached: &Attached, limit: Option<Price>) -> Result<OrderType, Refusal> {
    match attached.order_type {
        Some(OrderType::Limit | OrderType::LimitIfTouched) => Ok(OrderType::LimitIfTouched),
        Some(OrderType::Market | OrderType::MarketIfTouched) => Ok(OrderType::MarketIfTouched),
        Some(other) => Err(Refusal::check(2, format!("activate_order_type must be LO or MO, not {other}"))),
        None if limit.is_some() => Ok(OrderType::LimitIfTouched),
        None => Ok(OrderType::MarketIfTouched),
    }
}

/// Runs checks 1 to 8 on the terms of a leg.
pub(super) fn check(
    settings: &Settings,
    view: &MarketView<'_>,
    leg: AttachedLeg,
    terms: Terms,
) -> Result<Leg, Refusal> {
    let admission = admit(settings, view, &Submit::of(terms)).map_err(|refusal| of_leg(leg, refusal))?;
    check_limit(leg, view, &admission.terms)?;
    Ok(Leg { leg, terms: admission.terms, placement: admission.placement })
}

/// Check 8, which applies to the limit price only.
fn check_limit(leg: AttachedLeg, view: &MarketView<'_>, terms: &Terms) -> Result<(), Refusal> {
    let Some(mark) = view.mark(&terms.symbol) else { return Ok(()) };
    let plain = Terms { trigger_price: None, ..terms.clone() };
    check_mark(&plain, Some(mark)).map_err(|refusal| of_leg(leg, refusal))
}

/// A price to which the trigger of a leg is compared, with its description.
type Reference = (&'static str, Price);

/// Returns the price at which an order is expected to fill: its limit, its trigger, or the mark.
pub(super) fn reference(view: &MarketView<'_>, main: &Terms) -> Option<Reference> {
    let own = main.price.or(main.trigger_price).map(|price| ("the price of the main order", price));
    own.or_else(|| mark_of(view, main))
}

fn mark_of(view: &MarketView<'_>, terms: &Terms) -> Option<Reference> {
    view.mark(&terms.symbol).map(|mark| ("the market price", mark))
}

/// Check 9: a take profit is on the profitable side of a price, and a stop loss on the other side.
pub(super) fn check_side(
    leg: AttachedLeg,
    terms: &Terms,
    reference: Option<Reference>,
) -> Result<(), Refusal> {
    let Some((trigger, (rule, price))) = terms.trigger_price.zip(reference) else { return Ok(()) };
    let (is_right, way) = match direction(leg, terms.side) {
        Direction::Rise => (trigger > price, "above"),
        Direction::Fall => (trigger < price, "below"),
    };
    if is_right {
        return Ok(());
    }
    let [_, field, _] = names(leg);
    let (price, trigger) = (plain_price(price), plain_price(trigger));
    Err(Refusal::check(9, format!("{field} must be {way} {price}")).with(rule, price, trigger))
}

/// Check 9: the take profit is on the profitable side of the stop loss. Without a price of the main
/// order, no other check ensures this.
pub(super) fn check_order<'a>(
    legs: impl Iterator<Item = (AttachedLeg, &'a Terms)> + Clone,
) -> Result<(), Refusal> {
    let of = |leg: AttachedLeg| legs.clone().find(|(of, _)| *of == leg).map(|(_, terms)| terms);
    let (Some(profit), Some(stop)) = (of(AttachedLeg::ProfitTaker), of(AttachedLeg::StopLoss)) else {
        return Ok(());
    };
    let reference = stop.trigger_price.map(|price| ("stop_loss_price", price));
    check_side(AttachedLeg::ProfitTaker, profit, reference)
}

/// Checks new terms of an attached order that is not released yet, and returns its new state.
pub(crate) fn stand(
    account: &Account,
    view: &MarketView<'_>,
    order: &Order,
    terms: &Terms,
) -> Result<Standing, Refusal> {
    let Some(AttachedTo { leg, .. }) = order.attached else { return Ok(order.standing.clone()) };
    check_limit(leg, view, terms)?;
    let main = account.main_of(order).filter(|_| order.is_dormant());
    let reference = main.map_or_else(|| mark_of(view, terms), |main| reference(view, &main.terms));
    check_side(leg, terms, reference)?;
    let watch = (!order.is_dormant()).then(|| Watch::Touch(direction(leg, terms.side)));
    Ok(Standing { watch, ..order.standing.clone() })
}

/// Refuses a quantity that an attached order cannot have: one that differs from that of its open
/// main order, or exceeds what its main order has opened and not closed yet.
pub(crate) fn check_quantity_of(account: &Account, order: &Order, quantity: Quantity) -> Result<(), Refusal> {
    let Some(main) = account.main_of(order) else { return Ok(()) };
    if quantity == order.terms.quantity {
        return Ok(());
    }
    if main.is_open() {
        let text = format!("the quantity follows order {} while it is open", main.id);
        return Err(Refusal::check(5, text));
    }
    let most = open_quantity(account, main) + order.executed;
    if quantity > most {
        let text = format!("quantity must be at most {most}, which order {} has opened", main.id);
        return Err(Refusal::check(5, text).with("opened", most, quantity));
    }
    Ok(())
}

/// Returns the part of an attached order that its main order has opened.
pub(super) fn armed(main: &Order, order: &Order) -> Quantity {
    let unfilled = if main.is_open() { main.remaining() } else { Quantity::ZERO };
    (order.remaining() - unfilled).or_zero()
}

/// Returns what an order has opened, or may still open, and its attached orders have not closed.
pub(super) fn open_quantity(account: &Account, main: &Order) -> Quantity {
    let closed: Quantity = account.attached_orders(main).map(|attached| attached.executed).sum();
    let opened = if main.is_open() { main.terms.quantity } else { main.executed };
    (opened - closed).or_zero()
}

impl Leg {
    /// Creates the attached order, which is dormant.
    pub(crate) fn accepted(
        &self,
        main: OrderId,
        facts: Facts,
        (id, sequence): (OrderId, u64),
    ) -> AcceptedOrder {
        let standing = Standing {
            status: OrderStatus::VarietiesNotReported,
            placement: self.placement,
            reserve_price: None,
            watch: None,
        };
        AcceptedOrder {
            id,
            sequence,
            terms: self.terms.clone(),
            facts,
            standing,
            by_engine: false,
            is_forced: false,
            grid: None,
            attached: Some(AttachedTo { main, leg: self.leg }),
        }
    }
}
