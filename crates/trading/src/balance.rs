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

/// The money of one currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// C: all movements booked, settled or not.
    pub cash: Money,
    /// F: reserved for open buys, fees included.
    pub reserved: Money,
    /// The fees within that.
    pub reserved_fees: Money,
    /// S: the value of short positions.
    pub short_value: Money,
    /// U+: receipts that settle on a later date.
    pub receivable: Money,
    /// U-: payments that settle on a later date, positive.
    pub payable: Money,
}

impl Balance {
    pub fn frozen(&self) -> Money {
        self.reserved + self.short_value
    }

    /// May be negative.
    pub fn available(&self) -> Money {
        self.cash - self.frozen()
    }

    pub fn settling(&self) -> Money {
        self.receivable - self.payable
    }

    pub fn withdrawable(&self) -> Money {
        (self.available() - self.receivable).or_zero()
    }

    /// The settled amount.
    pub fn settled(&self) -> Money {
        self.cash - self.receivable + self.payable
    }
}

/// The day whose charges apply to an order: the current one, or its own if that is later.
pub(crate) fn charge_day(order: &Order, view: &MarketView<'_>) -> Date {
    view.date(order.market()).max(order.standing.placement.day)
}

pub(crate) fn charged(account: &Account, order: &Order, day: Date) -> ChargeBasis {
    let plan = account.settings.fees;
    ChargeBasis { market: order.market(), kind: order.facts.kind, side: order.terms.side, day, plan }
}

/// The cost of a further quantity of an order at a price, after the fills of the day.
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

/// Each charge of the rest of an order if it is filled at a price, after the fills of the day.
pub fn fees_at(account: &Account, order: &Order, view: &MarketView<'_>, price: Price) -> Vec<Fee> {
    let (day, quantity) = (charge_day(order, view), order.remaining());
    let before = order.traded_on(day);
    let after = before.plus(Money::of(price, quantity, order.facts.multiplier), quantity);
    view.tables.fees.added(charged(account, order, day), before, after)
}

/// The reserve of an open order, whichever side it is on.
pub(crate) fn reserve_of(account: &Account, order: &Order, view: &MarketView<'_>) -> Reserve {
    let Some(price) = order.standing.reserve_price else { return Reserve::default() };
    reserve_for(account, order, view, order.remaining(), price)
}

/// The reserves of the open orders of an account. Only those of orders changed since the last call
/// are computed.
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

/// The balance of one currency. `except` is an order whose reserve is released first.
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

/// The settled amount of a currency; reserves do not affect it.
pub(crate) fn settled(account: &Account, view: &MarketView<'_>, currency: Currency) -> Money {
    let is_coming = |unsettled: &&crate::account::UnsettledAmount| {
        unsettled.currency == currency && unsettled.settles_on > view.date(unsettled.market)
    };
    let coming: Money = account.unsettled.iter().filter(is_coming).map(|unsettled| unsettled.amount).sum();
    account.cash(currency) - coming
}

/// The balances of all currencies of an account. HKD is always included.
pub fn balances(account: &Account, view: &MarketView<'_>) -> BTreeMap<Currency, Balance> {
    let mut currencies: Vec<Currency> = account.currencies().map(|(currency, _)| currency).collect();
    currencies.extend(account.positions().map(|(_, position)| position.currency));
    held(account, view, |sums| currencies.extend(sums.currencies()));
    currencies.push(Currency::HKD);
    currencies.sort_unstable();
    currencies.dedup();
    currencies.into_iter().map(|currency| (currency, balance(account, view, currency, None))).collect()
}
