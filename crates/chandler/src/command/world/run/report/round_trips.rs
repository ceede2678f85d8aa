//! Round trips: from a position of zero to a position of zero.

use std::collections::BTreeMap;

use market::{Symbol, Timestamp};
use trading::{Currency, Money, Quantity};

use super::ratio::Ratio;
use super::record::{Charge, Fill, RunRecord, value_of};

/// A closed round trip. Several fills in either direction, such as partial sales, belong to one
/// trip until the position is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct RoundTrip {
    pub(in super::super) symbol: Symbol,
    pub(in super::super) currency: Currency,
    pub(in super::super) is_long: bool,
    pub(in super::super) opened_at: Timestamp,
    pub(in super::super) closed_at: Timestamp,
    /// Number of shares bought for a long position, or sold for a short position.
    pub(in super::super) quantity: Quantity,
    pub(in super::super) charges: Money,
    /// Proceeds minus cost and charges, in the currency of the security.
    pub(in super::super) profit: Money,
}

pub(super) struct Found {
    pub(super) trips: Vec<RoundTrip>,
    /// Periods in which a position was held, including open ones.
    pub(super) spans: Vec<(Timestamp, Timestamp)>,
}

#[derive(Clone, Debug)]
struct Open {
    currency: Currency,
    is_long: bool,
    opened_at: Timestamp,
    position: Quantity,
    entered: Quantity,
    cash: Money,
    charges: Money,
}

/// Combines the fills of each security into round trips, in chronological order.
pub(super) fn of(record: &RunRecord) -> Found {
    let mut book = Book::default();
    for held in &record.held {
        let (side, cost) = (held.quantity, value_of(&held.symbol, held.price, held.quantity));
        book.add(&held.symbol, held.currency, record.begin, side, -cost);
    }
    let mut charges = record.charges.iter().peekable();
    for fill in &record.fills {
        while let Some(charge) = charges.next_if(|charge| charge.at < fill.at) {
            book.charge(charge);
        }
        book.fill(fill);
    }
    charges.for_each(|charge| book.charge(charge));
    let mut spans: Vec<_> = book.closed.iter().map(|trip| (trip.opened_at, trip.closed_at)).collect();
    spans.extend(book.open.values().map(|open| (open.opened_at, record.end)));
    Found { trips: book.closed, spans }
}

#[derive(Default)]
struct Book {
    open: BTreeMap<Symbol, Open>,
    closed: Vec<RoundTrip>,
}

impl Book {
    fn fill(&mut self, fill: &Fill) {
        let signed = fill.signed();
        let held = self.open.get(&fill.symbol).map(|open| open.position).unwrap_or_default();
        let crosses = (held.is_positive() && signed.is_negative()
            || held.is_negative() && signed.is_positive())
            && signed.abs() > held.abs();
        if !crosses {
            let cash = if fill.side.is_buy() { -fill.value() } else { fill.value() };
            return self.add(&fill.symbol, fill.currency, fill.at, signed, cash);
        }
        // A fill that crosses zero closes one trip and opens the next one.
        let value = |quantity: Quantity| -value_of(&fill.symbol, fill.price, quantity);
        self.add(&fill.symbol, fill.currency, fill.at, -held, value(-held));
        let rest = signed + held;
        self.add(&fill.symbol, fill.currency, fill.at, rest, value(rest));
    }

    fn add(&mut self, symbol: &Symbol, currency: Currency, at: Timestamp, signed: Quantity, cash: Money) {
        let open = self.open.entry(symbol.clone()).or_insert(Open {
            currency,
            is_long: signed.is_positive(),
            opened_at: at,
            position: Quantity::ZERO,
            entered: Quantity::ZERO,
            cash: Money::ZERO,
            charges: Money::ZERO,
        });
        open.position += signed;
        open.cash += cash;
        if signed.is_positive() == open.is_long {
            open.entered += signed.abs();
        }
        if open.position.is_zero()
            && let Some(done) = self.open.remove(symbol)
        {
            self.closed.push(RoundTrip {
                symbol: symbol.clone(),
                currency: done.currency,
                is_long: done.is_long,
                opened_at: done.opened_at,
                closed_at: at,
                quantity: done.entered,
                charges: done.charges,
                profit: done.cash - done.charges,
            });
        }
    }

    /// Adds a charge to the trip that was closed at the time of the charge, or else to the
    /// security's open trip.
    fn charge(&mut self, charge: &Charge) {
        let Some(symbol) = &charge.symbol else { return };
        let is_it = |trip: &&mut RoundTrip| trip.symbol == *symbol && trip.closed_at == charge.at;
        if let Some(trip) = self.closed.iter_mut().rev().find(is_it) {
            trip.charges += charge.amount;
            trip.profit -= charge.amount;
        } else if let Some(open) = self.open.get_mut(symbol) {
            open.charges += charge.amount;
        }
    }
}

/// Returns the share of the time from `begin` to `end` in which any position was held.
pub(super) fn time_in_market(
    spans: &[(Timestamp, Timestamp)],
    begin: Timestamp,
    end: Timestamp,
) -> Option<Ratio> {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let (mut held, mut until) = (0i128, begin);
    for (from, to) in spans {
        let from = from.max(until);
        held += i128::from((to.0 - from.0).max(0));
        until = until.max(to);
    }
    Ratio::of_counts(held, i128::from(end.0 - begin.0))
}
