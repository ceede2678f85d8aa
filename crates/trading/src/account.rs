//! An account's state, built by folding its journal.

use std::collections::BTreeMap;

use market::{Date, Market, Symbol, Timestamp};
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::decimal::div_round;
use crate::event::Dividend;
use crate::grid::{Grid, Grids};
use crate::money::Currency;
use crate::money::Money;
use crate::order::{GridId, Order, OrderId};
use crate::orders::Orders;
use crate::position::Position;
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::reserves::Reserves;
use crate::settings::{Settings, Share};
use crate::words::{AccountType, Side};

/// Account state after the last journal entry. The same journal always folds to the same state, so
/// a snapshot can be discarded at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub(crate) number: u64,
    pub(crate) settings: Settings,
    /// Credit line, in HKD.
    pub(crate) credit: Money,
    /// Cash per currency by trade date, including unsettled amounts.
    pub(crate) cash: BTreeMap<Currency, Money>,
    #[serde(with = "codec::by_symbol")]
    pub(crate) positions: BTreeMap<Symbol, Position>,
    pub(crate) orders: Orders,
    /// Numbers of the open orders by symbol, in ascending order.
    #[serde(with = "codec::by_symbol")]
    pub(crate) open: BTreeMap<Symbol, Vec<u64>>,
    /// Numbers of the open attached orders by symbol, in ascending order.
    #[serde(default, with = "codec::by_symbol")]
    pub(crate) open_attached: BTreeMap<Symbol, Vec<u64>>,
    pub(crate) last_sequence: u64,
    pub(crate) last_period: u64,
    pub(crate) unsettled: Vec<UnsettledAmount>,
    pub(crate) dividends: Vec<Dividend>,
    /// Debit interest accrued since the last booking, per currency, in units of `10^-16` divided by
    /// [`ACCRUAL_YEARS`].
    #[serde(with = "accrual")]
    pub(crate) accrued: BTreeMap<Currency, i128>,
    pub(crate) is_liquidating: bool,
    #[serde(default)]
    pub(crate) grids: Grids,
    /// Whether the client has accepted the risks of grid trading.
    #[serde(default)]
    pub(crate) has_agreed: bool,
    /// Number of the last entry.
    pub(crate) entries: u64,
    #[serde(with = "codec::instant_option")]
    pub(crate) began: Option<Timestamp>,
    /// Instant to which the account has been advanced. `None` before the first request.
    #[serde(with = "codec::instant_option")]
    pub(crate) horizon: Option<Timestamp>,
    /// Highest order or grid number used by entries that are no longer in the journal; see
    /// [`Account::set_numbers_used`]. Not serialized.
    #[serde(skip)]
    pub(crate) numbers_used: u64,
    /// Values of the participation setting, each with the number of the entry that set it.
    pub(crate) participations: Vec<(u64, Option<Share>)>,
    #[serde(skip)]
    pub(crate) reserves: Reserves,
}

/// Denominator of accrued interest: the least common multiple of 360 and 365, because an interest
/// year has 360 or 365 days.
pub(crate) const ACCRUAL_YEARS: i128 = 26_280;

/// Total of the receipts or of the payments that settle on one date, in one market and currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnsettledAmount {
    #[serde(with = "codec::market")]
    pub(crate) market: Market,
    pub(crate) currency: Currency,
    #[serde(with = "codec::text")]
    pub(crate) settles_on: Date,
    /// Sum of the booked amounts, each net of fees. Positive for receipts and negative for
    /// payments, which are not netted against each other.
    pub(crate) amount: Money,
}

impl Default for Account {
    fn default() -> Account {
        Account {
            number: 0,
            settings: Settings::default(),
            credit: Money::ZERO,
            cash: BTreeMap::new(),
            positions: BTreeMap::new(),
            orders: Orders::default(),
            open: BTreeMap::new(),
            open_attached: BTreeMap::new(),
            last_sequence: 0,
            last_period: 0,
            unsettled: Vec::new(),
            dividends: Vec::new(),
            accrued: BTreeMap::new(),
            is_liquidating: false,
            grids: Grids::default(),
            has_agreed: false,
            entries: 0,
            began: None,
            horizon: None,
            numbers_used: 0,
            participations: Vec::new(),
            reserves: Reserves::default(),
        }
    }
}

impl Account {
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the values of the participation setting, oldest first, each with the number of the
    /// entry that set it.
    pub fn participations(&self) -> &[(u64, Option<Share>)] {
        &self.participations
    }

    /// Returns the credit line in HKD as set by the operator; see [`Account::usable_credit`].
    pub fn credit(&self) -> Money {
        self.credit
    }

    /// Returns the credit line in HKD, or zero for a cash account, which cannot borrow.
    pub fn usable_credit(&self) -> Money {
        if self.settings.account_type == AccountType::Margin { self.credit } else { Money::ZERO }
    }

    pub fn cash(&self, currency: Currency) -> Money {
        self.cash.get(&currency).copied().unwrap_or_default()
    }

    /// Returns the cash balance of every currency in which an amount was ever booked.
    pub fn currencies(&self) -> impl Iterator<Item = (Currency, Money)> + '_ {
        self.cash.iter().map(|(currency, amount)| (*currency, *amount))
    }

    pub fn positions(&self) -> impl Iterator<Item = (&Symbol, &Position)> {
        // A position closed today is retained until the roll, because it holds the day's first
        // quantity.
        self.positions.iter().filter(|(_, position)| !position.quantity.is_zero())
    }

    pub fn position(&self, symbol: &Symbol) -> Option<&Position> {
        self.positions.get(symbol).filter(|position| !position.quantity.is_zero())
    }

    pub fn held(&self, symbol: &Symbol) -> Quantity {
        self.positions.get(symbol).map_or(Quantity::ZERO, |position| position.quantity)
    }

    /// Returns the part of a position that no working order closes yet: positive if it can be sold,
    /// negative if it is short and can be bought back. The order `except` is ignored.
    pub fn available_quantity(&self, symbol: &Symbol, except: Option<OrderId>) -> Quantity {
        let held = self.held(symbol);
        let against = if held.is_negative() { Side::Buy } else { Side::Sell };
        let open = self.open_orders_of(symbol).filter(|order| order.is_working() && Some(order.id) != except);
        let taken: Quantity = open.filter(|order| order.terms.side == against).map(Order::remaining).sum();
        match held.units().signum() {
            1 => held - taken,
            -1 => held + taken,
            _ => Quantity::ZERO,
        }
    }

    /// Returns all orders, oldest first.
    pub fn orders(&self) -> &Orders {
        &self.orders
    }

    pub fn order(&self, id: OrderId) -> Option<&Order> {
        if id.account() != self.number {
            return None;
        }
        self.by_number(id.number())
    }

    pub(crate) fn by_number(&self, number: u64) -> Option<&Order> {
        self.orders.by_number(number)
    }

    pub(crate) fn by_number_mut(&mut self, number: u64) -> Option<&mut Order> {
        self.orders.by_number_mut(number)
    }

    pub fn open_orders(&self) -> impl Iterator<Item = &Order> {
        self.open.values().flatten().filter_map(|number| self.by_number(*number))
    }

    pub fn open_orders_of(&self, symbol: &Symbol) -> impl Iterator<Item = &Order> {
        self.open.get(symbol).into_iter().flatten().filter_map(|number| self.by_number(*number))
    }

    /// Returns the open orders of a symbol that are attached to other orders.
    pub(crate) fn open_attached_of(&self, symbol: &Symbol) -> impl Iterator<Item = &Order> {
        let numbers = self.open_attached.get(symbol).into_iter().flatten();
        numbers.filter_map(|number| self.by_number(*number))
    }

    /// Returns all orders that were attached to an order, open or not, oldest first.
    pub fn attached_orders<'a>(&'a self, main: &'a Order) -> impl Iterator<Item = &'a Order> {
        main.attached_orders.iter().filter_map(|id| self.by_number(id.number()))
    }

    /// Returns the order to which an order is attached.
    pub(crate) fn main_of(&self, order: &Order) -> Option<&Order> {
        self.by_number(order.attached?.main.number())
    }

    /// Returns the open order with another role that is attached to the same order.
    pub(crate) fn beside(&self, order: &Order) -> Option<&Order> {
        let leg = order.attached?.leg;
        let mut attached = self.attached_orders(self.main_of(order)?);
        attached.find(|other| other.is_open() && other.attached.is_some_and(|other| other.leg != leg))
    }

    pub fn has_open_orders(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the symbols with open orders.
    pub fn open_symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.open.keys()
    }

    /// Returns the number of open orders.
    pub fn open_count(&self) -> usize {
        self.open.values().map(Vec::len).sum()
    }

    /// Returns how many times an order's reserve was computed, for benchmarks and tests.
    pub fn reserves_computed(&self) -> u64 {
        self.reserves.lock().computed
    }

    /// Refuses `more` orders if the account would have more than the maximum number of open orders.
    pub(crate) fn check_open_orders(&self, more: usize) -> Result<(), Refusal> {
        let most = self.settings.limits.open_orders;
        if self.open_count().saturating_add(more) <= most as usize {
            return Ok(());
        }
        Err(Refusal::plain(format!("at most {most} orders may be open: cancel some first")))
    }

    /// Returns whether the journal has reached its maximum length.
    pub(crate) fn is_full(&self) -> bool {
        self.entries >= self.settings.limits.journal_entries
    }

    /// Returns all grids, oldest first.
    pub fn grids(&self) -> &Grids {
        &self.grids
    }

    pub fn grid(&self, id: GridId) -> Option<&Grid> {
        if id.account() == self.number { self.grids.get(id.number()) } else { None }
    }

    /// Returns the grids that react to candles: those that are open and not suspended.
    pub fn watching_grids(&self) -> impl Iterator<Item = &Grid> {
        self.grids.open().filter(|grid| grid.is_watching())
    }

    /// Returns whether the client has accepted the risks of grid trading.
    pub fn has_agreed_to_strategy(&self) -> bool {
        self.has_agreed
    }

    pub(crate) fn next_grid(&self) -> GridId {
        let last = self.grids.iter().next_back().map_or(0, |grid| grid.id.number());
        GridId::of(self.number, last.max(self.numbers_used) + 1)
    }

    pub(crate) fn next_order(&self) -> OrderId {
        let last = self.orders.last().map_or(0, |order| order.id.number());
        OrderId::of(self.number, last.max(self.numbers_used) + 1)
    }

    /// Returns the highest order or grid number used so far, including the numbers of entries
    /// removed by truncating or restoring the journal.
    pub fn numbers_used(&self) -> u64 {
        let order = self.orders.last().map_or(0, |order| order.id.number());
        let grid = self.grids.iter().next_back().map_or(0, |grid| grid.id.number());
        order.max(grid).max(self.numbers_used)
    }

    /// Returns the account with all IDs changed to those of another account. Equals the fold of the
    /// entries that [`Entry::of_account`](crate::Entry::of_account) returns.
    #[must_use]
    pub fn of_account(mut self, account: u64) -> Account {
        self.number = account;
        self.orders.iter_mut().for_each(|order| order.set_account(account));
        self.grids.iter_mut().for_each(|grid| grid.set_account(account));
        self
    }

    /// Marks all numbers up to `numbers` as used, so that they are not assigned again after the
    /// entries that used them were removed from the journal.
    pub fn set_numbers_used(&mut self, numbers: u64) {
        self.numbers_used = numbers;
    }

    pub(crate) fn next_sequence(&self) -> u64 {
        self.last_sequence + 1
    }

    /// Returns the debit interest in a currency that has accrued but is not booked yet.
    pub fn accrued_interest(&self, currency: Currency) -> Money {
        let units = self.accrued.get(&currency).copied().unwrap_or_default();
        Money::from_units(div_round(units, ACCRUAL_YEARS * 1_000_000))
    }

    /// Returns the number of the last entry.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the instant of the first request, or `None` before the first request.
    pub fn began(&self) -> Option<Timestamp> {
        self.began
    }

    /// Returns the instant to which the account has been advanced, or `None` before the first
    /// request.
    pub fn horizon(&self) -> Option<Timestamp> {
        self.horizon
    }

    /// Restores the horizon after a fold, because entries do not show how far an account advanced
    /// without events. The horizon never moves backwards.
    pub fn set_horizon(&mut self, horizon: Option<Timestamp>) {
        self.horizon = self.horizon.max(horizon);
    }
}

/// Serializes 128-bit integers as text, because not every snapshot format supports them.
mod accrual {
    use std::collections::BTreeMap;

    use serde::Serializer;
    use serde::de::{Deserialize, Deserializer, Error};

    use crate::money::Currency;

    pub(super) fn serialize<S: Serializer>(map: &BTreeMap<Currency, i128>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map.iter().map(|(currency, units)| (currency, units.to_string())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<Currency, i128>, D::Error> {
        let pairs = Vec::<(Currency, String)>::deserialize(from)?;
        let units =
            |text: &str| text.parse().map_err(|_| D::Error::custom(format!("{text:?} is not an integer")));
        pairs.into_iter().map(|(currency, text)| Ok((currency, units(&text)?))).collect()
    }
}
