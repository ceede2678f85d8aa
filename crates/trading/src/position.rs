//! Positions and their cost.

use market::Price;
use serde::{Deserialize, Serialize};

use crate::decimal::{Plain, price_quotient};
use crate::money::Currency;
use crate::money::{Fraction, Money};
use crate::quantity::Quantity;
use crate::words::CostMethod;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Signed quantity, negative if the position is short.
    pub quantity: Quantity,
    /// Quantity at the last day roll, after that day's corporate actions.
    pub init_quantity: Quantity,
    pub currency: Currency,
    pub multiplier: u32,
    pub decimals: u32,
    /// Buys minus sells minus dividends since the position was last zero, excluding fees and the
    /// multiplier.
    pub net: Money,
    /// Average price of the opening fills, in millionths of the currency.
    pub average: Fraction,
    /// Number of the holding period. A dividend from an earlier period does not affect the cost of
    /// the position.
    pub period: u64,
}

impl Position {
    pub(crate) fn empty(currency: Currency, multiplier: u32, decimals: u32) -> Position {
        Position {
            quantity: Quantity::ZERO,
            init_quantity: Quantity::ZERO,
            currency,
            multiplier,
            decimals,
            net: Money::ZERO,
            average: Fraction::ZERO,
            period: 0,
        }
    }

    /// Books a fill with a signed `change`. A fill that crosses zero is booked as a closing and an
    /// opening fill at the same price. The opening fill starts the holding period numbered
    /// `period`.
    pub(crate) fn trade(&mut self, change: Quantity, price: Price, period: u64) {
        let is_against = self.quantity.units().signum() * change.units().signum() < 0;
        let closing = if is_against {
            let size = change.abs().min(self.quantity.abs());
            if change.is_negative() { -size } else { size }
        } else {
            Quantity::ZERO
        };
        if !closing.is_zero() {
            self.quantity += closing;
            self.net += Money::of(price, closing, 1);
        }
        let opening = change - closing;
        if opening.is_zero() {
            return;
        }
        if self.quantity.is_zero() {
            self.net = Money::ZERO;
            self.average = Fraction::ZERO;
            self.period = period;
        }
        let held = self.average.times(i128::from(self.quantity.units()), 1);
        let added = Fraction::whole(Money::of(price, opening, 1).units());
        self.quantity += opening;
        self.net += Money::of(price, opening, 1);
        self.average = held.plus(added).times(1, i128::from(self.quantity.units()));
    }

    /// Sets the quantity and the cost per unit, as entered by an operator.
    pub(crate) fn enter(&mut self, quantity: Quantity, cost: Price, period: u64) {
        self.quantity = quantity;
        self.net = Money::of(cost, quantity, 1);
        self.average = Fraction::whole(i128::from(cost.0));
        self.period = period;
    }

    /// Returns the cost per share, in millionths of the currency.
    pub fn cost(&self, method: CostMethod) -> Fraction {
        match method {
            CostMethod::Diluted => Fraction::new(self.net.units(), i128::from(self.quantity.units())),
            CostMethod::Average => self.average,
        }
    }

    /// Returns the cost per share, rounded to the displayed number of decimals.
    pub fn cost_price(&self, method: CostMethod) -> Plain {
        let (above, below) = self.cost(method).parts();
        let units = price_quotient(above, below, self.decimals);
        Plain::new(units, self.decimals, self.decimals)
    }

    /// Returns the value at the price `mark`, or at cost if `mark` is `None`. Negative if the
    /// position is short.
    pub fn value(&self, mark: Option<Price>, method: CostMethod) -> Money {
        match mark {
            Some(mark) => Money::of(mark, self.quantity, self.multiplier),
            None => {
                let per_unit = self.cost(method).times(i128::from(self.quantity.units()), 1);
                Money::from_units(per_unit.times(i128::from(self.multiplier), 1).round())
            }
        }
    }

    /// Returns the profit, before fees, from closing the position at the price `mark`.
    pub fn unrealised(&self, mark: Price, method: CostMethod) -> Money {
        self.value(Some(mark), method) - self.value(None, method)
    }
}
