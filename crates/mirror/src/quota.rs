//! The quota of distinct securities that may be requested per month. The other server does not
//! report how many were used, so a mirror counts its own requests.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use market::{Date, Market, Symbol, Timestamp, Zone};

/// A calendar month in Hong Kong time, which is the quota period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month(Date);

/// The quota of one mirror in a month, and the securities requested so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    month: Month,
    requested: BTreeSet<Symbol>,
    /// `history_candlestick_limit` of the profile.
    limit: Option<u32>,
    /// The user's `--quota`.
    own: Option<u32>,
    /// Whether the other server has refused a new security this month.
    is_spent: bool,
}

/// Whether a security may be requested, and at what cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// The security was requested this month.
    Free,
    /// The security uses one unit of the month's quota. The caller stores the charge before it
    /// sends the request, so that a crash does not lose the charge.
    New,
    /// Not before this instant, the beginning of the next month.
    Wait(Timestamp),
}

/// Securities of a list in the order in which they are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Securities to request now: first those that are free, then those with an unfinished job,
    /// then the others in the order of the list.
    pub now: Vec<Symbol>,
    /// Number of securities in `now` that are charged to the month's quota.
    pub new: usize,
    /// Securities left out because of `--max-new`.
    pub held: Vec<Symbol>,
    /// Securities left out until the next month, because the quota is used up.
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
    /// Restores the state of a month in which `requested` were requested. `limit` is the profile's
    /// number, and `own` the user's; the smaller one applies.
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

    /// Decides whether a security may be requested, and counts it if it is new. When a new month
    /// has begun since the last call, every security is new.
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

    /// Releases a charge. The other server does not count a refused request.
    pub fn released(&mut self, symbol: &Symbol) {
        self.requested.remove(symbol);
    }

    /// Records that the other server refused a security with 301607. Its count takes precedence
    /// over ours, so no new security is requested before the next month. Returns when that begins.
    pub fn refused(&mut self, symbol: &Symbol, now: Timestamp) -> Timestamp {
        self.roll(now);
        self.requested.remove(symbol);
        self.is_spent = true;
        self.month.ends()
    }

    /// Orders a list of securities for requests. `unfinished` returns whether a security has an
    /// unfinished job. Duplicates are dropped.
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
        // A clock that was set back must not grant the quota of a month twice.
        if month > self.month {
            self.month = month;
            self.requested.clear();
            self.is_spent = false;
        }
    }
}
