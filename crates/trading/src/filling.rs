//! Fills orders from candles, limited by the available funds.

use market::{Price, Timestamp};

use crate::attached::matured;
use crate::balance::added_fees;
use crate::event::{Bar, Event, Execution, FillRule};
use crate::feed::EffectiveCandle;
use crate::funds::{Credit, cover_value, largest, spendable};
use crate::money::Money;
use crate::order::{Order, OrderId};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::view::MarketView;
use crate::words::OrderType;
use crate::work::Work;

/// A fill offered by a candle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) price: Price,
    pub(crate) rule: FillRule,
    /// Remaining quantity that the account may take from the candle's volume. `None` if there is no
    /// limit.
    pub(crate) budget: Option<Quantity>,
    pub(crate) lot: Quantity,
}

pub(crate) const NO_FUNDS: &str = "insufficient funds";

/// Fills an order from a candle, and cancels it if the account cannot pay for the whole fill.
/// Returns the quantity to deduct from the offer's budget, which is zero for odd-lot orders.
pub(crate) fn fill(
    work: &mut Work<'_>,
    at: Timestamp,
    id: OrderId,
    effective: &EffectiveCandle,
    offer: Offer,
) -> Quantity {
    let Some(order) = work.account.order(id) else { return Quantity::ZERO };
    let is_odd = order.terms.order_type == OrderType::OddLot;
    let budget = if is_odd { None } else { offer.budget };
    let most = matured(work.account, order, effective.candle.time);
    let wanted = budget.map_or(most, |budget| budget.min(most));
    if !wanted.is_positive() {
        return Quantity::ZERO;
    }
    let view = work.before_roll(at);
    let quantity = if order.terms.side.is_buy() && !order.is_forced {
        fitting(work, &view, order, effective, offer, wanted)
    } else {
        wanted
    };
    if quantity.is_positive() {
        let filled = filled(work, &view, order, effective, Offer { budget, ..offer }, quantity);
        work.record(Some(at), Event::Filled(Box::new(filled)));
    }
    if quantity < wanted {
        work.record(Some(at), Event::Canceled { id, reason: Some(NO_FUNDS.to_owned()) });
    }
    if is_odd { Quantity::ZERO } else { quantity }
}

fn filled(
    work: &Work<'_>,
    view: &MarketView<'_>,
    order: &Order,
    effective: &EffectiveCandle,
    offer: Offer,
    quantity: Quantity,
) -> Execution {
    let day = effective.day;
    let before = order.traded_on(day);
    let after = before.plus(Money::of(offer.price, quantity, order.facts.multiplier), quantity);
    let charged = crate::balance::charged(work.account, order, day);
    let (venue, kind) = (view.venue(order.market()), order.facts.kind);
    Execution {
        id: order.id,
        symbol: order.symbol().clone(),
        side: order.terms.side,
        quantity,
        price: offer.price,
        facts: order.facts,
        fees: view.tables.fees.added(charged, before, after),
        day,
        settles_on: view.tables.settlement.date(venue, kind, day),
        candle: Bar::of(effective),
        rule: offer.rule,
        budget: offer.budget,
    }
}

/// Returns the largest part of a buy that the account can pay for under rule (a). The order's own
/// reserve is not deducted.
fn fitting(
    work: &Work<'_>,
    view: &MarketView<'_>,
    order: &Order,
    effective: &EffectiveCandle,
    offer: Offer,
    wanted: Quantity,
) -> Quantity {
    let account = &*work.account;
    // Without an exchange rate for the order's currency, the credit line cannot be used.
    let there = spendable(account, view, order.facts.currency, order.id, Credit::Usable)
        .or_else(|_| spendable(account, view, order.facts.currency, order.id, Credit::None))
        .unwrap_or_default();
    let short = (-account.held(order.symbol())).or_zero();
    let before = order.traded_on(effective.day);
    let check = |quantity: Quantity| {
        let principal = Money::of(offer.price, quantity, order.facts.multiplier);
        let after = before.plus(principal, quantity);
        let fees = added_fees(account, order, view, effective.day, before, after);
        let covered = cover_value(account, view, order, quantity.min(short));
        let fits = principal + fees <= there + covered;
        if fits { Ok(()) } else { Err(Refusal::plain(NO_FUNDS)) }
    };
    if check(wanted).is_ok() {
        return wanted;
    }
    if order.terms.order_type == OrderType::OddLot {
        return Quantity::ZERO;
    }
    // Covering a short position may free more money than it costs, so a larger quantity can fit
    // where a smaller one does not. Try the covering part first; beyond it, the cost grows again.
    let covering = wanted.min(short).down_to(offer.lot);
    if covering.is_positive() && check(covering).is_ok() {
        return covering + largest(offer.lot, wanted - covering, |beyond| check(covering + beyond));
    }
    let most = if covering.is_positive() { covering } else { wanted };
    largest(offer.lot, most, check)
}
