//! Submits, replaces and cancels orders, and activates held orders.

use market::Price;

use crate::account::Account;
use crate::attached::{change, check_quantity_of, legs, resized, stand as stand_attached};
use crate::checks::{
    Admission, Failure, NO_QUOTES, admit, check_account, check_fields, check_mark, check_quantity,
    check_symbol, check_ticks,
};
use crate::command::Submit;
use crate::event::{AcceptedOrder, Event};
use crate::fold::new_order;
use crate::matching::market_reserve;
use crate::order::{Direction, Facts, Order, OrderId, Standing, Watch};
use crate::refusal::Refusal;
use crate::sessions::{Placement, no_cancel};
use crate::terms::{Changes, Terms};
use crate::view::MarketView;
use crate::words::{OrderStatus, OrderType, TriggerStatus};

pub(crate) fn submit(
    account: &Account,
    view: &MarketView<'_>,
    request: &Submit,
) -> Result<Vec<Event>, Refusal> {
    let admission = admit(&account.settings, view, request)?;
    let attached = admission.terms.attached.as_deref();
    let legs = attached.map(|attached| legs(account, view, &admission.terms, attached)).transpose()?;
    let legs = legs.unwrap_or_default();
    account.check_open_orders(1 + legs.len())?;
    let facts = Facts::of(&admission.security);
    let (id, sequence) = (account.next_order(), account.next_sequence());
    let standing = match admission.terms.delayed_until {
        Some(_) => plain_standing(OrderStatus::DelayedNotReported, admission.placement),
        None => stand(account, view, &admission)?,
    };
    let is_held = admission.terms.delayed_until.is_some();
    let terms = admission.terms;
    let accepted = Box::new(AcceptedOrder {
        id,
        sequence,
        terms,
        facts,
        standing,
        by_engine: false,
        is_forced: false,
        grid: None,
        attached: None,
    });
    let judged = if is_held { Ok(()) } else { judge(account, view, &new_order(&accepted, view.at)) };
    match judged {
        Ok(()) => {
            let attached = (1u64..).zip(&legs).map(|(index, leg)| {
                let own = OrderId::of(account.number(), id.number() + index);
                Event::Accepted(Box::new(leg.accepted(id, facts, (own, sequence + index))))
            });
            Ok(std::iter::once(Event::Accepted(accepted)).chain(attached).collect())
        }
        Err(Failure::Refused(refusal)) => Err(refusal),
        Err(Failure::Rejected(refusal)) => Ok(vec![Event::Rejected { id, refusal, order: Some(accepted) }]),
    }
}

/// Activates a held order when its delay ends. Runs all checks again, and rejects the order if a
/// check fails.
pub(crate) fn activate(account: &Account, view: &MarketView<'_>, order: &Order) -> Event {
    let attempt = || -> Result<Event, Refusal> {
        let requested = Terms { delayed_until: None, ..order.terms.clone() };
        // Accept an order type that was withdrawn after the submission.
        let request = Submit { terms: requested, takes_withdrawn: true };
        let admission = admit(&account.settings, view, &request)?;
        let standing = stand(account, view, &admission)?;
        let mut active = order.clone();
        active.standing = standing.clone();
        judge(account, view, &active).map_err(Failure::into_refusal)?;
        // The stored terms retain the delay.
        let terms = Box::new(Terms { delayed_until: order.terms.delayed_until, ..admission.terms });
        Ok(Event::Activated { id: order.id, sequence: account.next_sequence(), terms, standing })
    };
    attempt().unwrap_or_else(|refusal| Event::Rejected { id: order.id, refusal, order: None })
}

fn plain_standing(status: OrderStatus, placement: Placement) -> Standing {
    Standing { status, placement, reserve_price: None, watch: None }
}

/// Runs checks 8 and 9, and returns the initial state of an order accepted now.
fn stand(account: &Account, view: &MarketView<'_>, admission: &Admission) -> Result<Standing, Refusal> {
    let Admission { terms, placement, .. } = admission;
    let mark = view.mark(&terms.symbol);
    check_mark(terms, mark)?;
    if terms.order_type.is_conditional() {
        let watch = mark.map(|mark| watch(terms, mark));
        let standing = plain_standing(OrderStatus::VarietiesNotReported, *placement);
        return Ok(Standing { watch, ..standing });
    }
    let is_open = view.at >= placement.reports_at;
    let status = if is_open { OrderStatus::New } else { OrderStatus::NotReported };
    let kind = admission.security.kind;
    let ticks = view.ticks(&terms.symbol, kind, placement.day);
    let at_market = mark.map(|mark| market_reserve(mark, account.settings.market_reserve, ticks));
    let reserve_price = if terms.order_type.is_market() { at_market } else { terms.price };
    Ok(Standing { reserve_price, ..plain_standing(status, *placement) })
}

/// Returns the condition for which a conditional order waits, given the current mark price.
fn watch(terms: &Terms, mark: Price) -> Watch {
    let toward = |price: Price| if price > mark { Direction::Rise } else { Direction::Fall };
    match (terms.trigger_price, terms.monitor_price) {
        (Some(trigger), _) => Watch::Touch(toward(trigger)),
        (None, Some(monitor)) if monitor != mark => Watch::Monitor(toward(monitor)),
        (None, _) => Watch::Trail(mark),
    }
}

/// Runs checks 10 to 12, except for a conditional order, which is checked at its release.
fn judge(account: &Account, view: &MarketView<'_>, order: &Order) -> Result<(), Failure> {
    match order.standing.reserve_price {
        Some(price) => check_account(account, view, order, price),
        None => Ok(()),
    }
}

/// Returns an order that may be changed now. Refuses an unknown or closed order, and all changes in
/// a no-cancel period.
fn changeable<'a>(account: &'a Account, view: &MarketView<'_>, id: OrderId) -> Result<&'a Order, Refusal> {
    let order = unlocked(account, view, id)?;
    if order.is_open() { Ok(order) } else { Err(closed(order)) }
}

fn closed(order: &Order) -> Refusal {
    Refusal::plain(format!("order is {}", order.status()))
}

/// Returns an order, open or not, unless it is in a no-cancel period.
fn unlocked<'a>(account: &'a Account, view: &MarketView<'_>, id: OrderId) -> Result<&'a Order, Refusal> {
    let order = account.order(id).ok_or_else(|| Refusal::plain("order not found"))?;
    if let Some((from, until)) = no_cancel(view.venue(order.market()), view.at) {
        return Err(Refusal::plain(format!("order cannot be changed from {from} to {until}")));
    }
    Ok(order)
}

pub(crate) fn cancel(account: &Account, view: &MarketView<'_>, id: OrderId) -> Result<Event, Refusal> {
    changeable(account, view, id).map(|order| Event::Canceled { id: order.id, reason: None })
}

/// Replaces an order, its attached orders, or both.
pub(crate) fn replace(
    account: &Account,
    view: &MarketView<'_>,
    id: OrderId,
    changes: &Changes,
) -> Result<Vec<Event>, Refusal> {
    let Some(attached) = &changes.attached else { return replace_order(account, view, id, changes) };
    let order = unlocked(account, view, id)?;
    if let Some(of) = order.attached {
        let text = format!(
            "order {id} is attached to order {}: change it there, or without attached_params",
            of.main
        );
        return Err(Refusal::plain(text));
    }
    let terms = changed(order, changes);
    let mut events = if terms == order.terms {
        Vec::new()
    } else if order.is_open() {
        replace_order(account, view, id, changes)?
    } else {
        return Err(closed(order));
    };
    let sequences = events.iter().filter(|event| matches!(event, Event::Replaced { .. })).count() as u64;
    events.extend(change(account, view, (order, &terms), attached, sequences)?);
    Ok(events)
}

/// Replaces an order. The quantity of its attached orders follows.
pub(crate) fn replace_order(
    account: &Account,
    view: &MarketView<'_>,
    id: OrderId,
    changes: &Changes,
) -> Result<Vec<Event>, Refusal> {
    let order = changeable(account, view, id)?;
    if order.terms.order_type == OrderType::SpecialLimit {
        return Err(Refusal::plain("SLO cannot be replaced"));
    }
    let terms = changed(order, changes);
    check_changes(account, view, order, &terms, changes)?;
    check_quantity_of(account, order, terms.quantity)?;
    let resized = resized(account, view, (order, &terms), changes.attached.as_deref())?;
    let standing = stand_again(account, view, order, &terms)?;
    let mut candidate = order.clone();
    candidate.terms = terms.clone();
    candidate.standing = standing.clone();
    judge(account, view, &candidate).map_err(Failure::into_refusal)?;
    let replaced =
        Event::Replaced { id, sequence: account.next_sequence(), terms: Box::new(terms), standing };
    Ok(std::iter::once(replaced).chain(resized).collect())
}

fn is_released(order: &Order) -> bool {
    order.trigger_status == TriggerStatus::Released
}

/// Returns the order's terms with the requested changes. Changes that do not apply in the order's
/// current state are ignored.
fn changed(order: &Order, changes: &Changes) -> Terms {
    let old = &order.terms;
    let waits = old.order_type.is_conditional() && !is_released(order);
    let takes_price = old.order_type.has_limit() || (old.order_type.trails_to_limit() && is_released(order));
    let pick = |new: Option<Price>, old: Option<Price>, may: bool| if may { new.or(old) } else { old };
    let trails = waits && old.order_type.is_trailing();
    let percent = changes.trailing_percent.filter(|_| trails && old.order_type.trails_by_percent());
    let by_amount = trails && old.order_type.trails_by_amount();
    Terms {
        quantity: changes.quantity,
        price: pick(changes.price, old.price, takes_price),
        trigger_price: pick(changes.trigger_price, old.trigger_price, waits && old.order_type.is_touch()),
        limit_offset: pick(changes.limit_offset, old.limit_offset, waits && old.order_type.trails_to_limit()),
        trailing_amount: pick(changes.trailing_amount, old.trailing_amount, by_amount),
        trailing_percent: percent.or(old.trailing_percent),
        monitor_price: pick(changes.monitor_price, old.monitor_price, trails),
        depth_level: changes.depth_level.filter(|_| waits).unwrap_or(old.depth_level),
        trigger_count: changes.trigger_count.filter(|_| waits).unwrap_or(old.trigger_count),
        remark: changes.remark.clone().unwrap_or_else(|| old.remark.clone()),
        ..old.clone()
    }
}

/// Removes the `submitted_` prefix of a field name in a refusal, because replacement requests use
/// `quantity` and `price`.
fn as_in_replacement(refusal: Refusal) -> Refusal {
    match refusal.text.strip_prefix("submitted_") {
        Some(text) => Refusal { text: text.to_owned(), ..refusal },
        None => refusal,
    }
}

/// Runs checks 1 and 3 to 7 on new terms. Unchanged prices are not checked again, so they stay
/// valid under a new tick table.
fn check_changes(
    account: &Account,
    view: &MarketView<'_>,
    order: &Order,
    terms: &Terms,
    changes: &Changes,
) -> Result<(), Refusal> {
    check_symbol(view, &terms.symbol)?;
    check_fields(terms).map_err(as_in_replacement)?;
    if terms.quantity <= order.executed {
        let text = format!("quantity must be above the executed {}: cancel instead", order.executed);
        return Err(Refusal::check(5, text));
    }
    let day = view.date(order.market()).max(order.standing.placement.day);
    let security = view.security_on(&terms.symbol, day).ok_or_else(|| Refusal::check(1, NO_QUOTES))?;
    check_quantity(&account.settings, terms, &security)?;
    let given = Terms {
        price: terms.price.filter(|_| changes.price.is_some()),
        trigger_price: terms.trigger_price.filter(|_| changes.trigger_price.is_some() && !is_released(order)),
        monitor_price: terms.monitor_price.filter(|_| changes.monitor_price.is_some()),
        ..terms.clone()
    };
    check_ticks(view, &given, security.kind, day)
}

/// Runs checks 8 and 9 on new terms, and returns the new state of the order. The order's trading
/// day and expiry do not change, but the condition of a conditional order is derived again from the
/// current mark.
fn stand_again(
    account: &Account,
    view: &MarketView<'_>,
    order: &Order,
    terms: &Terms,
) -> Result<Standing, Refusal> {
    let old = &order.standing;
    if old.status == OrderStatus::DelayedNotReported {
        return Ok(old.clone());
    }
    let mark = view.mark(&terms.symbol);
    let waits = terms.order_type.is_conditional() && !is_released(order);
    if waits && order.attached.is_some() {
        return stand_attached(account, view, order, terms);
    }
    if waits {
        check_mark(terms, mark)?;
        return Ok(Standing { watch: mark.map(|mark| watch(terms, mark)), ..old.clone() });
    }
    // A released order is checked like a plain market or limit order.
    check_mark(&Terms { order_type: order.fills_as(), trigger_price: None, ..terms.clone() }, mark)?;
    let day = view.date(order.market()).max(old.placement.day);
    let ticks = view.ticks(&terms.symbol, order.facts.kind, day);
    let reserve_price = if terms.order_type.is_market() {
        mark.map(|mark| market_reserve(mark, account.settings.market_reserve, ticks))
    } else {
        terms.price
    };
    Ok(Standing { reserve_price, ..old.clone() })
}
