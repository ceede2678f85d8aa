//! Realised profit of a grid: fills matched first in, first out, without charges.

use market::Price;
use serde::{Deserialize, Serialize};

use super::state::Grid;
use crate::decimal::div_round;
use crate::money::{Fraction, Money};
use crate::quantity::Quantity;
use crate::words::Side;

/// A lot of a grid's position: bought and not sold yet or, if negative, sold and not bought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridLot {
    pub quantity: Quantity,
    /// Total cost or proceeds, as a positive amount.
    pub amount: Money,
}

impl GridLot {
    /// Removes part of the lot, and returns its cost or proceeds.
    fn take(&mut self, part: Quantity) -> Money {
        let whole = i128::from(self.quantity.abs().units()).max(1);
        // Exact unless there was a split, because an amount is a price times the quantity.
        let taken =
            Money::from_units(div_round(self.amount.units().saturating_mul(part.units().into()), whole));
        self.amount -= taken;
        self.quantity = if self.quantity.is_negative() { self.quantity + part } else { self.quantity - part };
        taken
    }
}

impl Grid {
    /// Books a fill of one of the grid's orders.
    pub(super) fn book(&mut self, side: Side, quantity: Quantity, price: Price) {
        let is_buy = side.is_buy();
        if is_buy {
            self.bought += quantity;
        } else {
            self.sold += quantity;
        }
        let is_opposite = |lot: &GridLot| lot.quantity.is_negative() == is_buy;
        let mut left = quantity;
        while left.is_positive() {
            let Some(lot) = self.lots.first_mut().filter(|lot| is_opposite(lot)) else { break };
            let part = left.min(lot.quantity.abs());
            let (before, now) = (lot.take(part), Money::of(price, part, self.facts.multiplier));
            self.profit += if is_buy { before - now } else { now - before };
            left -= part;
            if lot.quantity.is_zero() {
                self.lots.remove(0);
            }
        }
        if left.is_positive() {
            let signed = if is_buy { left } else { -left };
            self.lots
                .push(GridLot { quantity: signed, amount: Money::of(price, left, self.facts.multiplier) });
        }
    }

    /// Applies a split: the quantities change, but not the cost.
    pub(super) fn change_shares(&mut self, ratio: Fraction) {
        let (above, below) = ratio.parts();
        for lot in &mut self.lots {
            let units = i128::from(lot.quantity.units()).saturating_mul(above) / below.max(1);
            lot.quantity =
                Quantity::from_units(i64::try_from(units).unwrap_or(i64::MAX)).down_to(Quantity::whole(1));
        }
        self.lots.retain(|lot| !lot.quantity.is_zero());
    }
}
