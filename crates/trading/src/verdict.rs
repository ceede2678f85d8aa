//! Checks 10 to 12: whether the account can afford an order.

use market::Price;

use crate::account::Account;
use crate::figures::figures;
use crate::funds::{Demand, check_funds};
use crate::order::Order;
use crate::quantity::Quantity;
use crate::refusal::{Code, Refusal};
use crate::view::MarketView;
use crate::words::Kind;

/// How an order failed: refused and not stored, or stored and rejected.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    Refused(Refusal),
    Rejected(Refusal),
}

impl Failure {
    pub(crate) fn into_refusal(self) -> Refusal {
        match self {
            Failure::Refused(refusal) | Failure::Rejected(refusal) => refusal,
        }
    }
}

/// Converts a failed account check. If a missing exchange rate prevents the check, the order is
/// refused instead of rejected.
fn failed(refusal: Refusal) -> Failure {
    if refusal.check.is_some() { Failure::Rejected(refusal) } else { Failure::Refused(refusal) }
}

const HOLDINGS: &str = "insufficient holdings";

/// Runs checks 10 to 12 on the remaining quantity of an order at its reserve price. An open order's
/// own reserve is not deducted.
pub(crate) fn check_account(
    account: &Account,
    view: &MarketView<'_>,
    order: &Order,
    price: Price,
) -> Result<(), Failure> {
    let quantity = order.remaining();
    let demand = Demand { order, quantity, price };
    if order.terms.side.is_buy() {
        check_funds(account, view, demand).map_err(failed)?;
    } else {
        check_holdings(account, view, demand)?;
    }
    check_risk(account, view, order, quantity).map_err(failed)
}

fn check_holdings(account: &Account, view: &MarketView<'_>, demand: Demand<'_>) -> Result<(), Failure> {
    let Demand { order, quantity, .. } = demand;
    let symbol = order.symbol();
    let short_of = |available: Quantity| Refusal::check(11, HOLDINGS).with("holdings", quantity, available);
    if account.held(symbol).is_positive() {
        let available = account.available_quantity(symbol, Some(order.id));
        return if quantity <= available { Ok(()) } else { Err(Failure::Rejected(short_of(available))) };
    }
    if order.facts.kind == Kind::Option {
        return Err(Failure::Rejected(short_of(Quantity::ZERO)));
    }
    if !account.settings.may_short(symbol.market()) {
        return Err(Failure::Refused(short_of(Quantity::ZERO).coded(Code::ShortSale)));
    }
    check_funds(account, view, demand).map_err(failed)
}

/// Check 12: no position may be opened or increased while the account is close to its margin.
fn check_risk(
    account: &Account,
    view: &MarketView<'_>,
    order: &Order,
    quantity: Quantity,
) -> Result<(), Refusal> {
    let held = account.held(order.symbol());
    let is_smaller = if order.terms.side.is_buy() {
        held + quantity <= Quantity::ZERO
    } else {
        held - quantity >= Quantity::ZERO
    };
    let owes = account.currencies().any(|(_, cash)| cash.is_negative());
    let is_short = account.positions().any(|(_, position)| position.quantity.is_negative());
    if is_smaller || !(owes || is_short) {
        return Ok(());
    }
    match figures(account, view)?.risk_level() {
        level @ (2 | 3) => Err(Refusal::check(12, "margin").with("risk level", 1, level)),
        _ => Ok(()),
    }
}
