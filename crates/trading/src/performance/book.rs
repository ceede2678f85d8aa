//! Profit by security, at average cost, and its round trips.

use std::collections::BTreeMap;

use market::{Date, Price, Symbol, Timestamp};

use super::round_trip::{ClosedTrips, OpenTrip, RoundTrip, TripStats};
use crate::decimal::{Plain, div_round, price_quotient};
use crate::money::{Currency, Fraction, Money};
use crate::order::Facts;
use crate::quantity::Quantity;

/// A change of a position at a price.
#[derive(Clone, Copy, Debug)]
pub struct Trade<'a> {
    pub symbol: &'a Symbol,
    pub facts: Facts,
    /// `None` before the first request of the account.
    pub at: Option<Timestamp>,
    /// Positive for a buy.
    pub change: Quantity,
    pub price: Price,
}

/// The securities of an account that were ever held.
#[derive(Clone, Debug, Default)]
pub struct Book {
    securities: BTreeMap<Symbol, SecurityProfit>,
    pub(super) closed: ClosedTrips,
    /// Debit interest, which is negative.
    pub(super) interest: BTreeMap<Currency, DayAmount>,
    /// Number of the last holding period, counted as in an account's fold.
    pub(super) periods: u64,
}

/// Position and results of one security, in its currency.
#[derive(Clone, Debug)]
pub struct SecurityProfit {
    pub facts: Facts,
    pub quantity: Quantity,
    /// Average cost of the position, negative if it is short.
    pub cost: Money,
    /// Amounts received minus amounts paid, including charges and income.
    flows: DayAmount,
    day_quantity: Quantity,
    trip: Option<OpenTrip>,
}

/// An amount, and what it was at the beginning of the last trading date on which it changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DayAmount {
    amount: Money,
    date: Option<Date>,
    at_open: Money,
}

impl DayAmount {
    /// Begins a trading date. Returns whether it is a new one.
    fn begin(&mut self, date: Option<Date>) -> bool {
        let is_new = date.is_some() && self.date < date;
        if is_new {
            (self.date, self.at_open) = (date, self.amount);
        }
        is_new
    }

    pub(super) fn add(&mut self, date: Option<Date>, amount: Money) {
        self.begin(date);
        self.amount += amount;
    }

    pub(super) fn total(&self) -> Money {
        self.amount
    }

    /// Returns the amount added on a trading date.
    pub(super) fn on(&self, date: Date) -> Money {
        if self.date >= Some(date) { self.amount - self.at_open } else { Money::ZERO }
    }
}

/// Profit of a security, or a sum over securities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profit {
    pub day: Money,
    pub realised: Money,
    pub unrealised: Money,
}

impl Profit {
    pub fn total(self) -> Money {
        self.realised + self.unrealised
    }

    #[must_use]
    pub fn plus(self, other: Profit) -> Profit {
        Profit {
            day: self.day + other.day,
            realised: self.realised + other.realised,
            unrealised: self.unrealised + other.unrealised,
        }
    }
}

impl SecurityProfit {
    fn new(facts: Facts) -> SecurityProfit {
        SecurityProfit {
            facts,
            quantity: Quantity::ZERO,
            cost: Money::ZERO,
            flows: DayAmount::default(),
            day_quantity: Quantity::ZERO,
            trip: None,
        }
    }

    /// Returns the average price of the shares held, rounded to the displayed decimals. `None`
    /// without a position.
    pub fn average_cost(&self) -> Option<Plain> {
        let Facts { multiplier, decimals, .. } = self.facts;
        let shares = i128::from(self.quantity.units()).saturating_mul(i128::from(multiplier));
        let units = price_quotient(self.cost.units(), shares, decimals);
        (shares != 0).then(|| Plain::new(units, decimals, decimals))
    }

    /// Returns the position at the beginning of a trading date.
    pub fn quantity_at_open(&self, date: Date) -> Quantity {
        if self.flows.date >= Some(date) { self.day_quantity } else { self.quantity }
    }

    /// Returns whether the position or its results changed on a trading date.
    pub fn has_changed_on(&self, date: Date) -> bool {
        self.flows.date >= Some(date)
    }

    /// Returns the profit at the price `mark`, or with the position at cost if it has no price.
    /// `close` is the last close before the trading date `today`. Amounts are in cents, and the
    /// parts add up to the total.
    pub fn profit(&self, mark: Option<Price>, close: Option<Price>, today: Date) -> Profit {
        let multiplier = self.facts.multiplier;
        let value = mark.map_or(self.cost, |mark| Money::of(mark, self.quantity, multiplier));
        let held = self.quantity_at_open(today);
        // Without a close, the position counts for today from its current value.
        let at_open = match (close, held.is_zero()) {
            (_, true) => Money::ZERO,
            (Some(close), false) => Money::of(close, held, multiplier),
            (None, false) => mark.map_or(self.cost, |mark| Money::of(mark, held, multiplier)),
        };
        let total = (self.flows.total() + value).to_cents();
        let realised = (self.flows.total() + self.cost).to_cents();
        let day = (self.flows.on(today) + value - at_open).to_cents();
        Profit { day, realised, unrealised: total - realised }
    }

    /// Begins a trading date before the position changes on it.
    fn begin(&mut self, date: Option<Date>) {
        if self.flows.begin(date) {
            self.day_quantity = self.quantity;
        }
    }

    fn pay(&mut self, amount: Money) {
        self.flows.amount += amount;
    }

    /// Closes at most the whole position.
    fn close(&mut self, trade: &Trade<'_>) -> Option<RoundTrip> {
        let value = Money::of(trade.price, trade.change, self.facts.multiplier);
        let part = Fraction::new(i128::from(trade.change.units()), i128::from(self.quantity.units()));
        let (above, below) = part.parts();
        // `above` is negative, because a close has the opposite sign.
        self.cost += Money::from_units(div_round(self.cost.units().saturating_mul(above), below));
        self.quantity += trade.change;
        self.pay(-value);
        if let Some(trip) = &mut self.trip {
            trip.exit(trade.change, value);
        }
        if !self.quantity.is_zero() {
            return None;
        }
        self.cost = Money::ZERO;
        self.trip.take().map(|trip| trip.close(trade.symbol, trade.at.unwrap_or_default()))
    }

    fn open(&mut self, trade: &Trade<'_>, period: u64) {
        let value = Money::of(trade.price, trade.change, self.facts.multiplier);
        self.quantity += trade.change;
        self.cost += value;
        self.pay(-value);
        let new = || OpenTrip::new(trade.facts, trade.change.is_positive(), trade.at, period);
        self.trip.get_or_insert_with(new).enter(trade.change, value);
    }
}

impl Book {
    /// Creates a book that stores the newest `trips` closed trips, and counts all.
    pub fn with_trips(trips: usize) -> Book {
        Book { closed: ClosedTrips::at_most(trips), ..Book::default() }
    }

    pub fn securities(&self) -> impl Iterator<Item = (&Symbol, &SecurityProfit)> {
        self.securities.iter()
    }

    /// Returns the debit interest booked so far, and on a trading date in Hong Kong.
    pub fn interest(&self, date: Date) -> impl Iterator<Item = (Currency, Profit)> {
        self.interest.iter().map(move |(currency, amount)| {
            let profit = Profit { day: amount.on(date), realised: amount.total(), unrealised: Money::ZERO };
            (*currency, profit)
        })
    }

    /// Returns the stored closed trips, newest first.
    pub fn closed_trips(&self) -> impl Iterator<Item = &RoundTrip> {
        self.closed.newest_first()
    }

    /// Returns the stored closed trips, oldest first.
    pub fn into_closed_trips(self) -> Vec<RoundTrip> {
        self.closed.into_trips()
    }

    pub fn stats(&self) -> TripStats {
        self.closed.stats()
    }

    /// Returns when each open position was opened.
    pub fn open_since(&self) -> impl Iterator<Item = Timestamp> {
        self.securities.values().filter_map(|held| held.trip.as_ref()?.opened_at)
    }

    /// Books a fill with its charges. A fill that crosses zero closes one trip, which bears the
    /// charges, and opens the next one. `date` is its trading date, if known.
    pub fn trade(&mut self, trade: &Trade<'_>, charges: Money, date: Option<Date>) {
        self.periods += 1;
        let period = self.periods;
        let held = self.security(trade.symbol, trade.facts);
        held.begin(date);
        let is_against = held.quantity.units().signum() * trade.change.units().signum() < 0;
        let size = if is_against { trade.change.abs().min(held.quantity.abs()) } else { Quantity::ZERO };
        let closing = if trade.change.is_negative() { -size } else { size };
        let mut closed = None;
        if !closing.is_zero() {
            closed = held.close(&Trade { change: closing, ..*trade });
        }
        held.pay(-charges);
        match &mut closed {
            Some(trip) => trip.add_charge(charges),
            None if is_against => held.trip.iter_mut().for_each(|trip| trip.add_charge(charges)),
            None => {}
        }
        let opening = trade.change - closing;
        if !opening.is_zero() {
            held.open(&Trade { change: opening, ..*trade }, period);
            if let (Some(trip), None) = (&mut held.trip, &closed) {
                trip.add_charge(charges);
            }
        }
        if let Some(trip) = closed {
            self.closed.push(trip);
        }
    }

    /// Books a charge of an earlier fill: on the trip that was closed at the time of the charge, or
    /// else on the open trip of the security.
    pub fn charge(&mut self, symbol: &Symbol, at: Timestamp, amount: Money) {
        let Some(held) = self.securities.get_mut(symbol) else { return };
        held.pay(-amount);
        if !self.closed.charge(symbol, at, amount)
            && let Some(trip) = &mut held.trip
        {
            trip.add_charge(amount);
        }
    }

    /// Sets a position and its cost per share, as entered by an operator. This ends the trip of the
    /// previous position at its cost, and has no profit. Before the first request of the account
    /// there is no trip to end.
    pub fn enter(&mut self, entered: &Trade<'_>, date: Option<Date>) {
        self.periods += 1;
        let period = self.periods;
        let held = self.security(entered.symbol, entered.facts);
        held.begin(date);
        held.pay(held.cost);
        if let (Some(mut trip), Some(at)) = (held.trip.take(), entered.at) {
            trip.exit(held.quantity, held.cost);
            self.closed.push(trip.close(entered.symbol, at));
        }
        let held = self.security(entered.symbol, entered.facts);
        (held.quantity, held.cost) = (Quantity::ZERO, Money::ZERO);
        if !entered.change.is_zero() {
            held.open(entered, period);
        }
    }

    /// Books a dividend or other income of a holding period, which may have ended.
    pub(super) fn income(&mut self, symbol: &Symbol, period: u64, amount: Money, date: Option<Date>) {
        let Some(held) = self.securities.get_mut(symbol) else { return };
        held.begin(date);
        held.pay(amount);
        match &mut held.trip {
            Some(trip) if trip.period == period => trip.add_income(amount),
            _ => self.closed.add_income(symbol, period, amount),
        }
    }

    /// Returns the number of the current holding period of a security.
    pub(super) fn period(&self, symbol: &Symbol) -> u64 {
        self.securities.get(symbol).and_then(|held| held.trip.as_ref()).map_or(0, |trip| trip.period)
    }

    /// Books a split. Shares that are paid out in cash leave with their part of the cost.
    pub(super) fn change_shares(
        &mut self,
        symbol: &Symbol,
        (after, ratio): (Quantity, Fraction),
        date: Option<Date>,
    ) {
        let Some(held) = self.securities.get_mut(symbol) else { return };
        held.begin(date);
        let (above, below) = ratio.parts();
        let exact = Fraction::whole(i128::from(held.quantity.units())).times(above, below);
        let (above, below) = exact.parts();
        let (part, whole) = Fraction::new(i128::from(after.units()).saturating_mul(below), above).parts();
        held.cost = Money::from_units(div_round(held.cost.units().saturating_mul(part), whole));
        held.quantity = after;
        if let Some(trip) = &mut held.trip {
            trip.split(ratio);
        }
    }

    /// Ends the trip of a security whose shares were all paid out in cash.
    pub(super) fn end_if_empty(&mut self, symbol: &Symbol, at: Timestamp) {
        let Some(held) = self.securities.get_mut(symbol).filter(|held| held.quantity.is_zero()) else {
            return;
        };
        if let Some(trip) = held.trip.take() {
            self.closed.push(trip.close(symbol, at));
        }
    }

    /// Sets the begin of the trips of positions that were entered before the first request.
    pub(super) fn begin(&mut self, at: Timestamp) {
        for trip in self.securities.values_mut().filter_map(|held| held.trip.as_mut()) {
            trip.opened_at.get_or_insert(at);
        }
    }

    pub(super) fn facts(&self, symbol: &Symbol) -> Option<Facts> {
        self.securities.get(symbol).map(|held| held.facts)
    }

    fn security(&mut self, symbol: &Symbol, facts: Facts) -> &mut SecurityProfit {
        self.securities.entry(symbol.clone()).or_insert_with(|| SecurityProfit::new(facts))
    }
}
