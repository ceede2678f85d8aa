//! Round trips: trades from a position of zero to a position of zero.

use std::collections::VecDeque;

use market::{Symbol, Timestamp};

use super::ratio::Ratio;
use crate::decimal::{Plain, price_quotient};
use crate::money::{Currency, Fraction, Money};
use crate::order::Facts;
use crate::quantity::Quantity;

/// A closed round trip. Several fills in either direction, such as partial sales, belong to one
/// trip until the position is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    pub symbol: Symbol,
    pub facts: Facts,
    pub is_long: bool,
    pub opened_at: Timestamp,
    pub closed_at: Timestamp,
    /// Number of shares bought for a long position, or sold for a short position, in shares as of
    /// the close if they were split.
    pub quantity: Quantity,
    /// Number of shares with which the position was closed.
    pub closed_quantity: Quantity,
    /// Value of the opening fills.
    pub entered: Money,
    /// Value of the closing fills.
    pub exited: Money,
    pub charges: Money,
    /// Dividends, cash for fractions, and rights.
    pub income: Money,
    /// Result including charges and income, in the currency of the security.
    pub profit: Money,
    /// Number of the holding period; see [`Position::period`](crate::Position::period).
    pub(super) period: u64,
}

impl RoundTrip {
    pub fn currency(&self) -> Currency {
        self.facts.currency
    }

    /// Returns the average price of the opening fills, rounded to the displayed decimals.
    pub fn entry_price(&self) -> Plain {
        average(self.entered, self.quantity, self.facts)
    }

    pub fn exit_price(&self) -> Plain {
        average(self.exited, self.closed_quantity, self.facts)
    }

    /// Returns the duration in seconds.
    pub fn held_s(&self) -> i64 {
        self.closed_at.0.saturating_sub(self.opened_at.0)
    }

    /// Returns the profit relative to the value of the opening fills.
    pub fn gain(&self) -> Option<Ratio> {
        Ratio::of(self.profit, self.entered)
    }

    pub(super) fn add_charge(&mut self, amount: Money) {
        self.charges += amount;
        self.profit -= amount;
    }

    fn add_income(&mut self, amount: Money) {
        self.income += amount;
        self.profit += amount;
    }
}

fn average(value: Money, quantity: Quantity, facts: Facts) -> Plain {
    let shares = i128::from(quantity.units()).saturating_mul(i128::from(facts.multiplier.max(1)));
    Plain::new(price_quotient(value.units(), shares, facts.decimals), facts.decimals, facts.decimals)
}

/// A round trip that is still open.
#[derive(Clone, Debug)]
pub(super) struct OpenTrip {
    pub(super) facts: Facts,
    pub(super) is_long: bool,
    /// `None` for a position that was entered before the first request of the account.
    pub(super) opened_at: Option<Timestamp>,
    pub(super) period: u64,
    quantity: Quantity,
    closed_quantity: Quantity,
    entered: Money,
    exited: Money,
    charges: Money,
    income: Money,
}

impl OpenTrip {
    pub(super) fn new(facts: Facts, is_long: bool, at: Option<Timestamp>, period: u64) -> OpenTrip {
        OpenTrip {
            facts,
            is_long,
            opened_at: at,
            period,
            quantity: Quantity::ZERO,
            closed_quantity: Quantity::ZERO,
            entered: Money::ZERO,
            exited: Money::ZERO,
            charges: Money::ZERO,
            income: Money::ZERO,
        }
    }

    pub(super) fn enter(&mut self, quantity: Quantity, value: Money) {
        self.quantity += quantity.abs();
        self.entered += value.abs();
    }

    pub(super) fn exit(&mut self, quantity: Quantity, value: Money) {
        self.closed_quantity += quantity.abs();
        self.exited += value.abs();
    }

    pub(super) fn add_charge(&mut self, amount: Money) {
        self.charges += amount;
    }

    pub(super) fn add_income(&mut self, amount: Money) {
        self.income += amount;
    }

    /// Converts both quantities to shares after a split.
    pub(super) fn split(&mut self, ratio: Fraction) {
        let (above, below) = ratio.parts();
        for quantity in [&mut self.quantity, &mut self.closed_quantity] {
            let units = Fraction::whole(i128::from(quantity.units())).times(above, below).round();
            *quantity = Quantity::from_units(i64::try_from(units).unwrap_or(i64::MAX));
        }
    }

    pub(super) fn close(self, symbol: &Symbol, at: Timestamp) -> RoundTrip {
        let moved = if self.is_long { self.exited - self.entered } else { self.entered - self.exited };
        RoundTrip {
            symbol: symbol.clone(),
            facts: self.facts,
            is_long: self.is_long,
            opened_at: self.opened_at.unwrap_or(at),
            closed_at: at,
            quantity: self.quantity,
            closed_quantity: self.closed_quantity,
            entered: self.entered,
            exited: self.exited,
            charges: self.charges,
            income: self.income,
            profit: moved + self.income - self.charges,
            period: self.period,
        }
    }
}

/// Number of closed trips, and of those with a profit after charges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TripStats {
    pub closed: u64,
    pub won: u64,
}

impl TripStats {
    /// Returns the share of trips whose profit exceeded their charges. `None` without trips.
    pub fn win_rate(self) -> Option<Ratio> {
        Ratio::of_counts(i128::from(self.won), i128::from(self.closed))
    }

    pub fn of(trips: &[RoundTrip]) -> TripStats {
        let mut stats = TripStats::default();
        trips.iter().for_each(|trip| stats.add(trip));
        stats
    }

    fn add(&mut self, trip: &RoundTrip) {
        self.closed += 1;
        self.won += u64::from(trip.profit > Money::ZERO);
    }
}

/// Closed trips, oldest first. Only the newest ones are stored, and all are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct ClosedTrips {
    trips: VecDeque<RoundTrip>,
    stats: TripStats,
    /// Maximum number of stored trips. `None` stores all.
    most: Option<usize>,
}

impl ClosedTrips {
    pub(super) fn at_most(most: usize) -> ClosedTrips {
        ClosedTrips { most: Some(most), ..ClosedTrips::default() }
    }

    pub(super) fn push(&mut self, trip: RoundTrip) {
        self.stats.add(&trip);
        self.trips.push_back(trip);
        if self.most.is_some_and(|most| self.trips.len() > most) {
            self.trips.pop_front();
        }
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = &RoundTrip> {
        self.trips.iter().rev()
    }

    pub(super) fn into_trips(self) -> Vec<RoundTrip> {
        self.trips.into()
    }

    pub(super) fn stats(&self) -> TripStats {
        self.stats
    }

    /// Adds a charge to the trip of a security that was closed at an instant. Returns whether there
    /// is one.
    pub(super) fn charge(&mut self, symbol: &Symbol, at: Timestamp, amount: Money) -> bool {
        self.amend(|trip| trip.symbol == *symbol && trip.closed_at == at, |trip| trip.add_charge(amount))
    }

    /// Adds a dividend that was paid after the position of its holding period was closed.
    pub(super) fn add_income(&mut self, symbol: &Symbol, period: u64, amount: Money) {
        self.amend(|trip| trip.period == period && trip.symbol == *symbol, |trip| trip.add_income(amount));
    }

    /// Changes the newest trip that matches, and counts it again.
    fn amend(&mut self, is_it: impl Fn(&RoundTrip) -> bool, change: impl FnOnce(&mut RoundTrip)) -> bool {
        let Some(trip) = self.trips.iter_mut().rev().find(|trip| is_it(trip)) else { return false };
        let had_won = trip.profit > Money::ZERO;
        change(trip);
        let has_won = trip.profit > Money::ZERO;
        self.stats.won = self.stats.won.saturating_sub(u64::from(had_won)) + u64::from(has_won);
        true
    }
}
