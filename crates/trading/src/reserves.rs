//! Cache of the reserves of open orders, summed by currency. The cache is updated order by order,
//! so that the cost of a new order does not grow with the number of open orders. `balance.rs` fills
//! the cache.
//!
//! The cache is not part of the account's state: it is neither stored nor compared, and is computed
//! on first use.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use market::Date;

use crate::money::Currency;
use crate::money::Money;
use crate::tables::FeeTableId;
use crate::words::FeePlan;

/// Maximum length of the list of changed orders. If the list is longer, the next reader recomputes
/// all open orders.
const CHANGED_MAX: usize = 4_096;

/// Reserve of an order: the cost of its remaining quantity at its reserve price, and the fees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reserve {
    pub(crate) principal: Money,
    pub(crate) fees: Money,
}

impl Reserve {
    pub(crate) fn total(&self) -> Money {
        self.principal + self.fees
    }

    fn plus(self, other: Reserve) -> Reserve {
        Reserve { principal: self.principal + other.principal, fees: self.fees + other.fees }
    }

    fn minus(self, other: Reserve) -> Reserve {
        Reserve { principal: self.principal - other.principal, fees: self.fees - other.fees }
    }
}

/// Reserve cache of one account. Cloning the account clones the cache.
#[derive(Debug, Default)]
pub(crate) struct Reserves(Mutex<ReserveSums>);

impl Clone for Reserves {
    fn clone(&self) -> Reserves {
        Reserves(Mutex::new(self.lock().clone()))
    }
}

/// Caches are always equal, so they do not affect the comparison of accounts.
impl PartialEq for Reserves {
    fn eq(&self, _: &Reserves) -> bool {
        true
    }
}

impl Eq for Reserves {}

impl Reserves {
    /// Marks an order as changed, so that the next reader recomputes its reserve.
    pub(crate) fn changed(&mut self, number: u64) {
        let sums = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if sums.basis.is_none() {
            return;
        }
        if sums.changed.len() >= CHANGED_MAX {
            sums.clear();
        } else if sums.changed.last() != Some(&number) {
            sums.changed.push(number);
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ReserveSums> {
        // A panic can leave the sums wrong by one order, but the account is then discarded.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Inputs of a reserve other than the order. If an input changes, all reserves are recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Basis {
    pub(crate) fees: FeeTableId,
    pub(crate) plan: FeePlan,
    /// Trading dates in Hong Kong and the US.
    pub(crate) dates: [Date; 2],
}

/// A working order that is included in the sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownOrder {
    pub(crate) currency: Currency,
    pub(crate) is_buy: bool,
    pub(crate) reserve: Reserve,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ReserveSums {
    /// Inputs for which the sums are valid. `None` before the first use.
    basis: Option<Basis>,
    /// Working orders of both sides, by number.
    orders: BTreeMap<u64, KnownOrder>,
    /// Number of working buy orders in each currency, and the sum of their reserves.
    totals: BTreeMap<Currency, (usize, Reserve)>,
    sells: usize,
    /// Numbers of the orders changed since the last update.
    changed: Vec<u64>,
    /// Number of reserves computed so far.
    pub(crate) computed: u64,
}

impl ReserveSums {
    /// Returns the numbers of the orders to recompute, or `None` if all open orders must be
    /// recomputed.
    pub(crate) fn outdated(&mut self, basis: Basis) -> Option<Vec<u64>> {
        if self.basis == Some(basis) {
            return Some(std::mem::take(&mut self.changed));
        }
        self.clear();
        self.basis = Some(basis);
        None
    }

    /// Replaces an order in the sums, or removes it if `order` is `None`.
    pub(crate) fn set(&mut self, number: u64, order: Option<KnownOrder>) {
        if let Some(before) = self.orders.remove(&number) {
            self.remove(before);
        }
        let Some(order) = order else { return };
        self.computed += 1;
        self.orders.insert(number, order);
        if order.is_buy {
            let (count, reserve) = self.totals.entry(order.currency).or_default();
            (*count, *reserve) = (*count + 1, reserve.plus(order.reserve));
        } else {
            self.sells += 1;
        }
    }

    fn remove(&mut self, order: KnownOrder) {
        if !order.is_buy {
            self.sells -= 1;
            return;
        }
        if let Some((count, reserve)) = self.totals.get_mut(&order.currency) {
            (*count, *reserve) = (*count - 1, reserve.minus(order.reserve));
            if *count == 0 {
                self.totals.remove(&order.currency);
            }
        }
    }

    fn clear(&mut self) {
        *self = ReserveSums { computed: self.computed, ..ReserveSums::default() };
    }

    /// Returns the sum of the working buy orders' reserves in a currency, excluding the order
    /// `except`.
    pub(crate) fn of_currency(&self, currency: Currency, except: Option<u64>) -> Reserve {
        let all = self.totals.get(&currency).map(|(_, reserve)| *reserve).unwrap_or_default();
        let own = except.and_then(|number| self.orders.get(&number));
        let own = own.filter(|own| own.is_buy && own.currency == currency);
        own.map_or(all, |own| all.minus(own.reserve))
    }

    /// Returns the currencies in which a working buy order has a reserve.
    pub(crate) fn currencies(&self) -> impl Iterator<Item = Currency> {
        self.totals.keys().copied()
    }

    /// Returns the reserve of an order, or zero if the order is not working.
    pub(crate) fn of_order(&self, number: u64) -> Reserve {
        self.orders.get(&number).map(|known| known.reserve).unwrap_or_default()
    }

    /// Returns whether a sell order other than `number` is working.
    pub(crate) fn has_sell_beside(&self, number: u64) -> bool {
        let is_own = self.orders.get(&number).is_some_and(|known| !known.is_buy);
        self.sells > usize::from(is_own)
    }
}
