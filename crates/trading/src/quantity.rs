use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use crate::codec::serde_as_text;
use crate::decimal::{DecimalError, Plain, parse_units};

/// A signed number of shares or contracts in ten-thousandths, because fractional shares have four
/// decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(i64);

pub(crate) const QUANTITY_DECIMALS: u32 = 4;
const UNIT: i64 = 10i64.pow(QUANTITY_DECIMALS);

impl Quantity {
    pub const ZERO: Quantity = Quantity(0);
    /// Maximum quantity of an order or an entered position: ten billion.
    pub const MAX: Quantity = Quantity(10_000_000_000 * UNIT);
    /// The smallest fractional quantity.
    pub const SMALLEST: Quantity = Quantity(1);

    pub fn whole(shares: i64) -> Quantity {
        Quantity(shares.saturating_mul(UNIT))
    }

    pub fn parse(text: &str) -> Result<Quantity, DecimalError> {
        match parse_units(text, QUANTITY_DECIMALS)? {
            (units, _) if units.abs() > i128::from(Quantity::MAX.0) => Err(DecimalError::Range),
            (units, true) => i64::try_from(units).map(Quantity).map_err(|_| DecimalError::Range),
            (_, false) => Err(DecimalError::Decimals(QUANTITY_DECIMALS)),
        }
    }

    pub fn units(self) -> i64 {
        self.0
    }

    pub(crate) fn from_units(units: i64) -> Quantity {
        Quantity(units)
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub fn is_positive(self) -> bool {
        self.0 > 0
    }

    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    pub fn abs(self) -> Quantity {
        Quantity(self.0.saturating_abs())
    }

    pub fn or_zero(self) -> Quantity {
        self.max(Quantity::ZERO)
    }

    pub fn is_multiple_of(self, step: Quantity) -> bool {
        step.0 != 0 && self.0 % step.0 == 0
    }

    /// Rounds toward zero to a multiple of a positive step.
    pub fn down_to(self, step: Quantity) -> Quantity {
        if step.0 <= 0 { self } else { Quantity(self.0 - self.0 % step.0) }
    }

    pub fn times(self, factor: i64) -> Quantity {
        Quantity(self.0.saturating_mul(factor))
    }
}

impl Add for Quantity {
    type Output = Quantity;

    fn add(self, other: Quantity) -> Quantity {
        Quantity(self.0.saturating_add(other.0))
    }
}

impl Sub for Quantity {
    type Output = Quantity;

    fn sub(self, other: Quantity) -> Quantity {
        Quantity(self.0.saturating_sub(other.0))
    }
}

impl Neg for Quantity {
    type Output = Quantity;

    fn neg(self) -> Quantity {
        Quantity(self.0.saturating_neg())
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Quantity) {
        *self = *self + other;
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Quantity) {
        *self = *self - other;
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Quantity>>(quantities: I) -> Quantity {
        quantities.fold(Quantity::ZERO, Add::add)
    }
}

impl fmt::Display for Quantity {
    /// Whole quantities have no decimal point, because some clients parse them as integers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Plain::new(i128::from(self.0), QUANTITY_DECIMALS, 0), f)
    }
}

impl FromStr for Quantity {
    type Err = DecimalError;

    /// Parses the output of `Display`, including values above [`Quantity::MAX`], because a sum of
    /// orders may exceed it.
    fn from_str(text: &str) -> Result<Quantity, DecimalError> {
        match parse_units(text, QUANTITY_DECIMALS)? {
            (units, true) => i64::try_from(units).map(Quantity).map_err(|_| DecimalError::Range),
            (_, false) => Err(DecimalError::Decimals(QUANTITY_DECIMALS)),
        }
    }
}

serde_as_text!(Quantity);
