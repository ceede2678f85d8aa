//! The number of distinct securities that may be requested in a month. The other server does not
//! report how many were used, so a mirror counts its own requests.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use market::{Date, Market, Symbol, Timestamp, Zone};

/// A calendar month in Hong Kong, by which the quota is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month(Date);

/// Securities of one mirror that were requested in a month, and how many may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    month: Month,
    requested: BTreeSet<Symbol>,
    /// `history_candlestick_limit` of the profile.
    limit: Option<u32>,
    /// `--quota` of the user.
    own: Option<u32>,
    /// The other server has refused a new security this month.
    is_spent: bool,
}

/// Whether a security may be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Was requested this month.
    Free,
    /// Takes one of the month. The caller stores the charge before it sends the request, so that a
    /// kill never loses one.
    New,
    /// Not before this instant, the beginning of the next month.
    Wait(Timestamp),
}

/// Securities of a list in the order in which they are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Requested now: first those that are free, then those with an unfinished job, then the list.
    pub now: Vec<Symbol>,
    /// How many of `now` take one of the month's quota.
    pub new: usize,
    /// Left out by `--max-new`.
    pub held: Vec<Symbol>,
    /// Left out until the next month, because the quota is spent.
    pub waiting: Vec<Symbol>,
}

impl Month {
    pub fn of(at: Timestamp) -> Month {
        Month(Zone::of(Market::Hk).date(at).first_of_month())
    }

    /// Returns the month that contains a date.
    pub fn of_date(date: Date) -> Month {
        Month(date.first_of_month())
    }

    /// Returns the first day of the month.
    pub fn first(self) -> Date {
        self.0
    }

    /// Returns the instant at which the next month begins.
    pub fn ends(self) -> Timestamp {
        let next = self.0.last_of_month().tomorrow().unwrap_or(Date::MAX);
        Zone::of(Market::Hk).midnight(next)
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:04}-{:02}", self.0.year(), self.0.month()))
    }
}

impl Quota {
    /// Continues a month in which `requested` were requested. `limit` is the profile's number, and `own`
    /// the user's; the smaller one applies.
    pub fn new(
        month: Month,
        requested: impl IntoIterator<Item = Symbol>,
        limit: Option<u32>,
        own: Option<u32>,
    ) -> Quota {
        Quota { month, requested: requested.into_iter().collect(), limit, own, is_spent: false }
    }

    pub fn month(&self) -> Month {
        self.month
    }

    /// Returns the number of securities requested this month.
    pub fn used(&self) -> usize {
        self.requested.len()
    }

    /// Returns the number of securities that may be requested in a month; `None` without a limit.
    pub fn limit(&self) -> Option<u32> {
        self.limit.into_iter().chain(self.own).min()
    }

    /// Returns how many new securities may be requested this month; `None` without a limit.
    pub fn left(&self) -> Option<usize> {
        if self.is_spent {
            return Some(0);
        }
        let limit = usize::try_from(self.limit()?).unwrap_or(usize::MAX);
        Some(limit.saturating_sub(self.requested.len()))
    }

    pub fn is_free(&self, symbol: &Symbol) -> bool {
        self.requested.contains(symbol)
    }

    /// Decides whether a security may be requested, and counts it if it is new. Nothing is free any
    /// more in a month that has begun since the last call.
    pub fn charge(&mut self, symbol: &Symbol, now: Timestamp) -> Charge {
        self.roll(now);
        if self.is_free(symbol) {
            return Charge::Free;
        }
        if self.left() == Some(0) {
            return Charge::Wait(self.month.ends());
        }
        self.requested.insert(symbol.clone());
        Charge::New
    }

    /// Takes a charge back: the other server refused the request, which it does not count.
    pub fn released(&mut self, symbol: &Symbol) {
        self.asked.remove(symbol);
    }

    /// Records that the other server refused a security with 301607. The count of the other server
    /// is the true one, so no new security is requested before the next month. Returns its
    /// beginning.
    pub fn refused(&mut self, symbol: &Symbol, now: Timestamp) -> Timestamp {
        self.roll(now);
        self.requested.remove(symbol);
        self.is_spent = true;
        self.month.ends()
    }

    /// Orders a list of securities for requests. `unfinished` returns whether a security has a job
    /// that has begun. Repeated securities are requested once.
    pub fn order(
        &self,
        list: &[Symbol],
        unfinished: impl Fn(&Symbol) -> bool,
        max_new: Option<usize>,
    ) -> Order {
        let mut seen = HashSet::new();
        let list: Vec<&Symbol> = list.iter().filter(|symbol| seen.insert(*symbol)).collect();
        let (free, new): (Vec<&Symbol>, Vec<&Symbol>) = list.into_iter().partition(|s| self.is_free(s));
        let (begun, rest): (Vec<&Symbol>, Vec<&Symbol>) = new.into_iter().partition(|s| unfinished(s));
        let mut order = Order { now: free.into_iter().cloned().collect(), ..Order::default() };
        let (left, max_new) = (self.left().unwrap_or(usize::MAX), max_new.unwrap_or(usize::MAX));
        for symbol in begun.into_iter().chain(rest) {
            let place = if order.new >= left {
                &mut order.waiting
            } else if order.new >= max_new {
                &mut order.held
            } else {
                order.new += 1;
                &mut order.now
            };
            place.push(symbol.clone());
        }
        order
    }

    fn roll(&mut self, now: Timestamp) {
        let month = Month::of(now);
        // A clock that was set back must not give the quota of a month twice.
        if month > self.month {
            self.month = month;
            self.requested.clear();
            self.is_spent = false;
        }
    }
}
