//! Balances per currency: booked, reserved and unsettled amounts.

use std::collections::BTreeMap;

use market::{Date, Price};

use crate::account::Account;
use crate::money::Currency;
use crate::money::Money;
use crate::order::{Order, OrderId};
use crate::quantity::Quantity;
use crate::reserves::{Basis, KnownOrder, Reserve, ReserveSums};
use crate::tables::{ChargeBasis, DayTotals, Fee};
use crate::view::{Dates, MarketView};

/// Balance in one currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Cash, including unsettled amounts (C in the specification).
    pub cash: Money,
    /// Amount reserved for open buy orders, including fees (F in the specification).
    pub reserved: Money,
    /// Fees included in `reserved`.
    pub reserved_fees: Money,
    /// Value of short positions (S in the specification).
    pub short_value: Money,
    /// Receipts that settle on a later date (U+ in the specification).
    pub receivable: Money,
    /// Payments that settle on a later date, as a positive amount (U- in the specification).
    pub payable: Money,
}

impl Balance {
    pub fn frozen(&self) -> Money {
        self.reserved + self.short_value
    }

    /// Returns the available cash, which may be negative.
    pub fn available(&self) -> Money {
        self.cash - self.frozen()
    }

    pub fn settling(&self) -> Money {
        self.receivable - self.payable
    }

    pub fn withdrawable(&self) -> Money {
        (self.available() - self.receivable).or_zero()
    }

    /// Returns the settled cash.
    pub fn settled(&self) -> Money {
        self.cash - self.receivable + self.payable
    }
}

/// Returns the date whose fees apply to an order: the current trading date, or the order's trading
/// day if it is later.
pub(crate) fn charge_day(order: &Order, view: &MarketView<'_>) -> Date {
    view.date(order.market()).max(order.standing.placement.day)
}

pub(crate) fn charged(account: &Account, order: &Order, day: Date) -> ChargeBasis {
    let plan = account.settings.fees;
    ChargeBasis { market: order.market(), kind: order.facts.kind, side: order.terms.side, day, plan }
}

/// Returns the principal and fees of filling another `quantity` of an order at `price`, given its
/// earlier fills on the same day.
pub(crate) fn reserve_for(
    account: &Account,
    order: &Order,
    view: &MarketView<'_>,
    quantity: Quantity,
    price: Price,
) -> Reserve {
    let day = charge_day(order, view);
    let principal = Money::of(price, quantity, order.facts.multiplier);
    let before = order.traded_on(day);
    let fees = added_fees(account, order, view, day, before, before.plus(principal, quantity));
    Reserve { principal, fees }
}

pub(crate) fn added_fees(
    account: &Account,
    order: &Order,
    view: &MarketView<'_>,
    day: Date,
    before: DayTotals,
    after: DayTotals,
) -> Money {
    let charged = charged(account, order, day);
    view.tables.fees.total(charged, after) - view.tables.fees.total(charged, before)
}

/// Returns the fees that filling an order's remaining quantity at `price` would add, given its
/// earlier fills on the same day.
pub fn fees_at(account: &Account, order: &Order, view: &MarketView<'_>, price: Price) -> Vec<Fee> {
    let (day, quantity) = (charge_day(order, view), order.remaining());
    let before = order.traded_on(day);
    let after = before.plus(Money::of(price, quantity, order.facts.multiplier), quantity);
    view.tables.fees.added(charged(account, order, day), before, after)
}

/// Returns the reserve of an open buy or sell order, which is zero if the order has no reserve
/// price.
pub(crate) fn reserve_of(account: &Account, order: &Order, view: &MarketView<'_>) -> Reserve {
    let Some(price) = order.standing.reserve_price else { return Reserve::default() };
    reserve_for(account, order, view, order.remaining(), price)
}

/// Calls `look` with the reserve sums of all working orders. Recomputes only the orders that
/// changed since the last call, or all orders if a trading date, the fee table or the fee plan
/// changed.
pub(crate) fn held<T>(account: &Account, view: &MarketView<'_>, look: impl FnOnce(&ReserveSums) -> T) -> T {
    let mut sums = account.reserves.lock();
    let Dates { hk, us } = view.dates;
    let basis = Basis { fees: view.tables.fees.id(), plan: account.settings.fees, dates: [hk, us] };
    let known = |order: &Order| KnownOrder {
        currency: order.facts.currency,
        is_buy: order.terms.side.is_buy(),
        reserve: reserve_of(account, order, view),
    };
    match sums.outdated(basis) {
        Some(changed) => {
            for number in changed {
                let order = account.by_number(number).filter(|order| order.is_working());
                sums.set(number, order.map(known));
            }
        }
        None => {
            for order in account.open_orders().filter(|order| order.is_working()) {
                sums.set(order.id.number(), Some(known(order)));
            }
        }
    }
    look(&sums)
}

/// Returns the balance in one currency. The reserve of the order `except` is not deducted.
pub fn balance(
    account: &Account,
    view: &MarketView<'_>,
    currency: Currency,
    except: Option<OrderId>,
) -> Balance {
    let reserve = held(account, view, |sums| sums.of_currency(currency, except.map(OrderId::number)));
    let mut balance = Balance {
        cash: account.cash(currency),
        reserved: reserve.total(),
        reserved_fees: reserve.fees,
        ..Balance::default()
    };
    let method = account.settings.cost;
    for (symbol, position) in account.positions().filter(|(_, position)| position.currency == currency) {
        if position.quantity.is_negative() {
            balance.short_value += position.value(view.mark(symbol), method).abs();
        }
    }
    for unsettled in account.unsettled.iter().filter(|unsettled| unsettled.currency == currency) {
        if unsettled.settles_on > view.date(unsettled.market) {
            balance.receivable += unsettled.amount.or_zero();
            balance.payable += (-unsettled.amount).or_zero();
        }
    }
    balance
}

/// Returns the settled cash in a currency. Reserves do not affect the result.
pub(crate) fn settled(account: &Account, view: &MarketView<'_>, currency: Currency) -> Money {
    let is_coming = |unsettled: &&crate::account::UnsettledAmount| {
        unsettled.currency == currency && unsettled.settles_on > view.date(unsettled.market)
    };
    let coming: Money = account.unsettled.iter().filter(is_coming).map(|unsettled| unsettled.amount).sum();
    account.cash(currency) - coming
}

/// Returns the balance in HKD and in every other currency in which the account has cash, positions
/// or reserves.
pub fn balances(account: &Account, view: &MarketView<'_>) -> BTreeMap<Currency, Balance> {
    let mut currencies: Vec<Currency> = account.currencies().map(|(currency, _)| currency).collect();
    currencies.extend(account.positions().map(|(_, position)| position.currency));
    held(account, view, |sums| currencies.extend(sums.currencies()));
    currencies.push(Currency::HKD);
    currencies.sort_unstable();
    currencies.dedup();
    currencies.into_iter().map(|currency| (currency, balance(account, view, currency, None))).collect()
}
