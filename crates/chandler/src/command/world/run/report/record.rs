//! The results of a run, as read from its account.

use std::collections::BTreeMap;

use market::{Date, Price, Symbol, Timestamp};
use trading::{Currency, Money, Quantity, Rate, Side};

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct RunRecord {
    /// Market time at which the program was started.
    pub(in super::super) begin: Timestamp,
    /// Market time at the end of the run.
    pub(in super::super) end: Timestamp,
    /// Net assets at `begin`.
    pub(in super::super) opening: Money,
    /// Positions at `begin`.
    pub(in super::super) held: Vec<Holding>,
    /// Valuations after `begin`, oldest first.
    pub(in super::super) days: Vec<Valuation>,
    pub(in super::super) fills: Vec<Fill>,
    pub(in super::super) charges: Vec<Charge>,
    pub(in super::super) orders: u64,
    pub(in super::super) refused: Vec<RefusedOrder>,
    /// HKD per unit of each currency, as of the end.
    pub(in super::super) rates: Vec<(Currency, Rate)>,
    /// Prices of the traded securities.
    pub(in super::super) prices: Vec<PriceSeries>,
    /// Positions at the end, to detect changes other than fills.
    pub(in super::super) held_at_end: Vec<(Symbol, Quantity)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Holding {
    pub(in super::super) symbol: Symbol,
    pub(in super::super) currency: Currency,
    pub(in super::super) quantity: Quantity,
    pub(in super::super) price: Price,
}

/// Value of the account at the end of a date, or at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Valuation {
    pub(in super::super) date: Date,
    pub(in super::super) net_assets: Money,
    pub(in super::super) market_value: Money,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Fill {
    pub(in super::super) at: Timestamp,
    pub(in super::super) symbol: Symbol,
    pub(in super::super) currency: Currency,
    pub(in super::super) side: Side,
    pub(in super::super) quantity: Quantity,
    pub(in super::super) price: Price,
}

/// A charge of a fill, as a positive amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Charge {
    pub(in super::super) at: Timestamp,
    pub(in super::super) symbol: Option<Symbol>,
    pub(in super::super) currency: Currency,
    pub(in super::super) amount: Money,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct RefusedOrder {
    pub(in super::super) at: Timestamp,
    pub(in super::super) symbol: String,
    pub(in super::super) side: String,
    pub(in super::super) quantity: String,
    pub(in super::super) reason: String,
}

/// Prices of a security: the first price of the run, and the adjusted close of each day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct PriceSeries {
    pub(in super::super) symbol: Symbol,
    pub(in super::super) first: Price,
    pub(in super::super) closes: BTreeMap<Date, Price>,
}

impl RunRecord {
    /// Converts an amount to HKD. `None` if the currency has no rate.
    pub(super) fn in_hkd(&self, amount: Money, currency: Currency) -> Option<Money> {
        let (_, rate) = self.rates.iter().find(|(known, _)| *known == currency)?;
        Some(rate.convert(amount).to(Rate::ONE))
    }
}

/// Number of shares of an option contract, as in `trading::Security::multiplier`.
const OPTION_SHARES: u32 = 100;

pub(super) fn multiplier(symbol: &Symbol) -> u32 {
    if symbol.option().is_some() { OPTION_SHARES } else { 1 }
}

impl Fill {
    pub(super) fn signed(&self) -> Quantity {
        if self.side.is_buy() { self.quantity } else { -self.quantity }
    }

    /// Returns the traded value, which is positive.
    pub(super) fn value(&self) -> Money {
        Money::of(self.price, self.quantity, multiplier(&self.symbol))
    }
}
