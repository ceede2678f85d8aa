//! Funds required by a buy or a short sale, and the quantity that the account can afford.

use std::collections::BTreeMap;

use crate::account::Account;
use crate::balance::{balance, held, reserve_for};
use crate::feed::{FACTOR_UNIT, Factors};
use crate::figures::figures;
use crate::money::Currency;
use crate::money::{HkdAmount, Money, Rate};
use crate::order::{Order, OrderId};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::reserves::Reserve;
use crate::view::MarketView;
use crate::words::{AccountType, Side};

use market::{Price, Symbol};

const FUNDS: &str = "insufficient funds";

/// A demand on the account's funds: a quantity of an order at its reserve price.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand<'a> {
    pub(crate) order: &'a Order,
    pub(crate) quantity: Quantity,
    pub(crate) price: Price,
}

/// Whether the credit line may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credit {
    Usable,
    None,
}

/// Returns the amount that rule (a) allows to be spent: the available cash in the currency plus the
/// unused credit. The reserve of the order `own` is not deducted.
pub(crate) fn spendable(
    account: &Account,
    view: &MarketView<'_>,
    currency: Currency,
    own: OrderId,
    credit: Credit,
) -> Result<Money, Refusal> {
    let available = balance(account, view, currency, Some(own)).available();
    let line = account.usable_credit();
    if credit == Credit::None || line.is_zero() {
        return Ok(available);
    }
    let mut used = HkdAmount::ZERO;
    for (other, _) in account.currencies().filter(|(other, _)| *other != currency) {
        let short_of = (-balance(account, view, other, Some(own)).available()).or_zero();
        used = used.plus(view.convert(other, short_of)?);
    }
    let left = Rate::ONE.convert(line).minus(used).or_zero();
    Ok(available + left.floor_to(view.rate(currency)?))
}

/// Returns the part of a buy that closes a short position. Other open buy orders are assumed to
/// close their part first.
pub(crate) fn covering(account: &Account, order: &Order, quantity: Quantity) -> Quantity {
    let symbol = order.symbol();
    if !order.terms.side.is_buy() || !account.held(symbol).is_negative() {
        return Quantity::ZERO;
    }
    quantity.min((-account.available_quantity(symbol, Some(order.id))).or_zero())
}

/// Returns the part of a short position's locked value that buying back `quantity` releases.
pub(crate) fn cover_value(
    account: &Account,
    view: &MarketView<'_>,
    order: &Order,
    quantity: Quantity,
) -> Money {
    if quantity.is_zero() {
        return Money::ZERO;
    }
    let Some(position) = account.position(order.symbol()) else { return Money::ZERO };
    let (all, held) =
        (position.value(view.mark(order.symbol()), account.settings.cost).abs(), position.quantity.abs());
    let share = all.units().saturating_mul(i128::from(quantity.units())) / i128::from(held.units().max(1));
    Money::from_units(share)
}

/// Rule (a): the reserve of a buy, including fees, must not exceed the available cash in the order's
/// currency, plus the unused credit if `credit` allows it, plus the value released by closing a
/// short position.
fn rule_a(
    account: &Account,
    view: &MarketView<'_>,
    demand: Demand<'_>,
    credit: Credit,
) -> Result<(), Refusal> {
    let Demand { order, quantity, price } = demand;
    let needed = reserve_for(account, order, view, quantity, price).total();
    let covered = cover_value(account, view, order, covering(account, order, quantity));
    let there = spendable(account, view, order.facts.currency, order.id, credit)? + covered;
    if needed <= there {
        return Ok(());
    }
    let rule = format!("cash in {}", order.facts.currency);
    Err(Refusal::check(10, FUNDS).with(&rule, needed.text(), there.text()))
}

/// Returns whether an order is a sale without a long position, which opens or increases a short
/// position.
fn is_short_sale(account: &Account, order: &Order) -> bool {
    order.terms.side == Side::Sell && !account.held(order.symbol()).is_positive()
}

/// Returns whether rule (b) applies to an order: the account is a margin account with credit, a
/// short position or a short sale.
fn is_margined(account: &Account, view: &MarketView<'_>, order: &Order) -> bool {
    let shorts = || {
        account.positions().any(|(_, position)| position.quantity.is_negative())
            || (held(account, view, |sums| sums.has_sell_beside(order.id.number()))
                && account
                    .open_orders()
                    .any(|open| open.id != order.id && open.is_working() && is_short_sale(account, open)))
    };
    let is_margin = account.settings.account_type == AccountType::Margin;
    is_margin && (!account.usable_credit().is_zero() || is_short_sale(account, order) || shorts())
}

/// Returns the margin factors of the position that an order opens.
fn order_factors(view: &MarketView<'_>, order: &Order) -> Factors {
    let side = if order.terms.side.is_buy() { Quantity::SMALLEST } else { -Quantity::SMALLEST };
    view.factors(order.symbol(), side)
}

/// Returns the buying power that an order uses, in HKD: its initial margin and fees.
fn tied_up(
    view: &MarketView<'_>,
    order: &Order,
    factors: Factors,
    reserve: Reserve,
) -> Result<HkdAmount, Refusal> {
    let currency = order.facts.currency;
    let margin = view.convert(currency, reserve.principal)?.share(factors.im, FACTOR_UNIT);
    Ok(margin.plus(view.convert(currency, reserve.fees)?))
}

/// Rule (b): the remaining buying power must cover the initial margin and the fees of the position
/// that an order opens.
fn rule_b(account: &Account, view: &MarketView<'_>, demand: Demand<'_>) -> Result<(), Refusal> {
    let Demand { order, quantity, price } = demand;
    let opening = quantity - covering(account, order, quantity);
    if !is_margined(account, view, order) || opening.is_zero() {
        return Ok(());
    }
    let fees = reserve_for(account, order, view, quantity, price).fees;
    let reserve = Reserve { principal: Money::of(price, opening, order.facts.multiplier), fees };
    let needed = tied_up(view, order, order_factors(view, order), reserve)?;
    let mut left = figures(account, view)?.buy_power();
    left = held(account, view, |sums| {
        // Look up the factors only once per security and side.
        let mut known: BTreeMap<(&Symbol, Side), Factors> = BTreeMap::new();
        for open in account.open_orders().filter(|open| open.id != order.id && open.is_working()) {
            if open.terms.side.is_buy() || is_short_sale(account, open) {
                let key = (open.symbol(), open.terms.side);
                let factors = *known.entry(key).or_insert_with(|| order_factors(view, open));
                left = left.minus(tied_up(view, open, factors, sums.of_order(open.id.number()))?);
            }
        }
        Ok(left)
    })?;
    if needed <= left {
        return Ok(());
    }
    let hkd = |amount: HkdAmount| amount.to(Rate::ONE).text();
    Err(Refusal::check(10, FUNDS).with("buying power in HKD", hkd(needed), hkd(left)))
}

/// Checks rules (a) and (b) for a buy, and only rule (b) for a short sale.
pub(crate) fn check_funds(
    account: &Account,
    view: &MarketView<'_>,
    demand: Demand<'_>,
) -> Result<(), Refusal> {
    if demand.order.terms.side.is_buy() {
        rule_a(account, view, demand, Credit::Usable)?;
    }
    rule_b(account, view, demand)
}

/// Checks rule (a) without using the credit line.
pub(crate) fn check_cash(
    account: &Account,
    view: &MarketView<'_>,
    demand: Demand<'_>,
) -> Result<(), Refusal> {
    rule_a(account, view, demand, Credit::None)
}

/// Returns the largest multiple of `step` up to `most` that passes a check, or zero. If a quantity
/// fails the check, every larger quantity must also fail.
pub(crate) fn largest(
    step: Quantity,
    most: Quantity,
    mut passes: impl FnMut(Quantity) -> Result<(), Refusal>,
) -> Quantity {
    if step.units() <= 0 {
        return Quantity::ZERO;
    }
    let (mut low, mut high) = (0i64, most.or_zero().units() / step.units());
    if high > 0 && passes(step.times(high)).is_ok() {
        return step.times(high);
    }
    // Invariant: `low` passes or is zero, and `high` fails.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if passes(step.times(middle)).is_ok() {
            low = middle;
        } else {
            high = middle;
        }
    }
    step.times(low)
}
