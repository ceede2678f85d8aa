//! Money, exchange rates and exact fractions.
//!
//! Money has a fixed scale in 128 bits instead of a floating decimal. Prices have six decimals and
//! quantities four, so every product of the two is exact with ten decimals, and sums are integer
//! additions. Operators saturate and never panic, but [`Money::INPUT_MAX`] limits all sums to a
//! billionth of the range. [Decision 7](../../../docs/decisions/0007-money-is-a-fixed-scale.md)
//! lists the alternatives.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use market::Price;

use crate::codec::serde_as_text;
use crate::decimal::{DecimalError, Plain, div_round, div_up, parse_units};
use crate::quantity::Quantity;

/// An amount in an unspecified currency, in units of `10^-10`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i128);

const DECIMALS: u32 = 10;
const UNIT: i128 = 10i128.pow(DECIMALS);
const CENT: i128 = UNIT / 100;

impl Money {
    pub const ZERO: Money = Money(0);
    /// Maximum amount of one order, deposit or credit line: ten trillion.
    pub const INPUT_MAX: Money = Money(10i128.pow(13) * UNIT);

    pub fn parse(text: &str) -> Result<Money, DecimalError> {
        match parse_units(text, DECIMALS)? {
            (units, true) if units.abs() <= Money::INPUT_MAX.0 => Ok(Money(units)),
            (_, true) => Err(DecimalError::Range),
            (_, false) => Err(DecimalError::Decimals(DECIMALS)),
        }
    }

    pub fn whole(units: i64) -> Money {
        Money(i128::from(units) * UNIT)
    }

    /// Returns the cost of a quantity at a price. Each unit of quantity has `multiplier` shares.
    pub fn of(price: Price, quantity: Quantity, multiplier: u32) -> Money {
        // The product of two 64-bit values fits into 128 bits, and its 6 + 4 decimals are those of
        // money.
        Money((i128::from(price.0) * i128::from(quantity.units())).saturating_mul(i128::from(multiplier)))
    }

    /// Rounds to the cent, half away from zero.
    pub fn to_cents(self) -> Money {
        Money(div_round(self.0, CENT) * CENT)
    }

    /// Formats cash for display, with two decimals, rounded half away from zero.
    pub fn text(self) -> Plain {
        Plain::new(div_round(self.0, CENT), 2, 2)
    }

    /// Formats exactly, with at least two decimals, so that displayed parts add up to the displayed
    /// total.
    pub fn exact_text(self) -> Plain {
        Plain::new(self.0, DECIMALS, 2)
    }

    /// Returns the exact amount per unit of a quantity in millionths, the unit of prices. Returns
    /// zero if the quantity is zero.
    pub fn per(self, quantity: Quantity) -> Fraction {
        Fraction::new(self.0, i128::from(quantity.units()))
    }

    /// Returns this amount divided by `whole`, in billionths, rounded half away from zero. Returns
    /// `None` if `whole` is zero or the result is out of range.
    pub fn billionths_of(self, whole: Money) -> Option<i128> {
        let units = self.0.checked_mul(1_000_000_000)?;
        (whole.0 != 0).then(|| div_round(units * whole.0.signum(), whole.0.abs()))
    }

    /// Returns this amount times `above / below`, rounded half away from zero to the tenth decimal.
    /// `below` must be positive.
    pub(crate) fn scaled_by(self, above: Money, below: Money) -> Money {
        let (above, below) = Fraction::new(above.0, below.0.max(1)).parts();
        Money(Fraction::whole(self.0).times(above, below).round())
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    pub fn abs(self) -> Money {
        Money(self.0.saturating_abs())
    }

    /// Returns the amount, or zero if it is negative.
    pub fn or_zero(self) -> Money {
        self.max(Money::ZERO)
    }

    /// Returns the amount in ten-thousandths, rounded down so that an amount below a threshold
    /// never reaches the threshold.
    pub fn to_ten_thousandths(self) -> i64 {
        let parts = self.0.div_euclid(UNIT / 10_000);
        i64::try_from(parts).unwrap_or(if parts < 0 { i64::MIN } else { i64::MAX })
    }

    pub(crate) fn units(self) -> i128 {
        self.0
    }

    pub(crate) fn from_units(units: i128) -> Money {
        Money(units)
    }

    /// Multiplies by a factor in units of `10^-scale`, rounded once.
    pub(crate) fn scaled(self, factor: i128, scale: u32, rounding: Rounding) -> Money {
        let product = self.0.saturating_mul(factor);
        rounding.round(product, 10i128.pow(scale))
    }
}

/// Rounding mode of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the cent, half away from zero.
    Cent,
    /// Up to the cent.
    CentUp,
    /// Up to the whole unit of the currency.
    WholeUp,
}

impl Rounding {
    /// Returns `units / below` units of money, rounded.
    fn round(self, units: i128, below: i128) -> Money {
        match self {
            Rounding::Cent => Money(div_round(units, below.saturating_mul(CENT)).saturating_mul(CENT)),
            Rounding::CentUp => Money(div_up(units, below.saturating_mul(CENT)).saturating_mul(CENT)),
            Rounding::WholeUp => Money(div_up(units, below.saturating_mul(UNIT)).saturating_mul(UNIT)),
        }
    }
}

impl Add for Money {
    type Output = Money;

    fn add(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }
}

impl Sub for Money {
    type Output = Money;

    fn sub(self, other: Money) -> Money {
        Money(self.0.saturating_sub(other.0))
    }
}

impl Neg for Money {
    type Output = Money;

    fn neg(self) -> Money {
        Money(self.0.saturating_neg())
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Money) {
        *self = *self + other;
    }
}

impl SubAssign for Money {
    fn sub_assign(&mut self, other: Money) {
        *self = *self - other;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Money>>(amounts: I) -> Money {
        amounts.fold(Money::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    /// Formats exactly, without trailing zeros. Responses use [`Money::text`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Plain::new(self.0, DECIMALS, 0), f)
    }
}

impl FromStr for Money {
    type Err = DecimalError;

    /// Parses the output of `Display`, including amounts above [`Money::INPUT_MAX`].
    fn from_str(text: &str) -> Result<Money, DecimalError> {
        match parse_units(text, DECIMALS)? {
            (units, true) => Ok(Money(units)),
            (_, false) => Err(DecimalError::Decimals(DECIMALS)),
        }
    }
}

/// HKD per unit of a currency, in units of `10^-8`. Always positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(i128);

const RATE_DECIMALS: u32 = 8;
const RATE_MAX: i128 = 10i128.pow(RATE_DECIMALS + 4);

/// An exact amount in HKD: money times a rate, in units of `10^-18`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HkdAmount(i128);

impl Rate {
    pub const ONE: Rate = Rate(10i128.pow(RATE_DECIMALS));

    pub fn parse(text: &str) -> Result<Rate, DecimalError> {
        match parse_units(text, RATE_DECIMALS)? {
            (units, _) if !(1..=RATE_MAX).contains(&units) => Err(DecimalError::Range),
            (units, true) => Ok(Rate(units)),
            (_, false) => Err(DecimalError::Decimals(RATE_DECIMALS)),
        }
    }

    /// Converts from hundred-millionths, the stored unit of rates. Returns `None` if the rate is
    /// out of range.
    pub fn from_hundred_millionths(units: i64) -> Option<Rate> {
        let units = i128::from(units);
        (1..=RATE_MAX).contains(&units).then_some(Rate(units))
    }

    /// Converts an amount of the currency to HKD.
    pub fn convert(self, amount: Money) -> HkdAmount {
        HkdAmount(amount.0.saturating_mul(self.0))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Plain::new(self.0, RATE_DECIMALS, 0), f)
    }
}

impl FromStr for Rate {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Rate, DecimalError> {
        Rate::parse(text)
    }
}

impl HkdAmount {
    pub const ZERO: HkdAmount = HkdAmount(0);

    /// Converts to the currency of `rate`, rounded once to two decimals.
    pub fn to(self, rate: Rate) -> Money {
        Money(div_round(self.0, rate.0.saturating_mul(CENT)).saturating_mul(CENT))
    }

    /// Converts to the currency of `rate`, rounded down to ten decimals. Used for spending limits,
    /// which must not be rounded up.
    pub(crate) fn floor_to(self, rate: Rate) -> Money {
        Money(self.0.div_euclid(rate.0))
    }

    pub fn plus(self, other: HkdAmount) -> HkdAmount {
        HkdAmount(self.0.saturating_add(other.0))
    }

    pub fn minus(self, other: HkdAmount) -> HkdAmount {
        HkdAmount(self.0.saturating_sub(other.0))
    }

    /// Returns `factor / unit` of the amount. Only the last of the eighteen decimals may be
    /// inexact.
    pub(crate) fn share(self, factor: i64, unit: i64) -> HkdAmount {
        let (factor, unit) = (i128::from(factor), i128::from(unit.max(1)));
        let whole = (self.0 / unit).saturating_mul(factor);
        HkdAmount(whole.saturating_add(self.0 % unit * factor / unit))
    }

    pub fn or_zero(self) -> HkdAmount {
        HkdAmount(self.0.max(0))
    }

    pub fn abs(self) -> HkdAmount {
        HkdAmount(self.0.saturating_abs())
    }
}

/// An exact fraction, for quotients such as average costs and shares after a corporate action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    above: i128,
    below: i128,
}

/// Maximum denominator of a fraction. A fraction with a larger denominator is rounded to a multiple
/// of 1 / [`FRACTION_FALLBACK`], because the denominator of an average cost would otherwise grow
/// with every partial close. The error is a trillionth of the displayed value.
const FRACTION_BELOW_MAX: i128 = 10i128.pow(12);
const FRACTION_FALLBACK: i128 = 10i128.pow(9);

impl Fraction {
    pub const ZERO: Fraction = Fraction { above: 0, below: 1 };

    /// Creates a reduced fraction, or zero if `below` is zero.
    pub fn new(above: i128, below: i128) -> Fraction {
        if below == 0 || above == 0 {
            return Fraction::ZERO;
        }
        // Fast path for whole numbers, because every update of an average cost multiplies by a
        // whole number.
        if below == 1 {
            return Fraction::whole(above);
        }
        let divisor = gcd(above.unsigned_abs(), below.unsigned_abs());
        let divisor = i128::try_from(divisor).unwrap_or(1) * below.signum();
        let (above, below) = (above / divisor, below / divisor);
        if below <= FRACTION_BELOW_MAX {
            return Fraction { above, below };
        }
        let rounded = match above.checked_mul(FRACTION_FALLBACK) {
            Some(scaled) => div_round(scaled, below),
            None => div_round(above, (below / FRACTION_FALLBACK).max(1)),
        };
        Fraction { above: rounded, below: FRACTION_FALLBACK }
    }

    pub fn whole(units: i128) -> Fraction {
        Fraction { above: units, below: 1 }
    }

    pub fn plus(self, other: Fraction) -> Fraction {
        let cross = |a: i128, b: i128| a.saturating_mul(b);
        let above = cross(self.above, other.below).saturating_add(cross(other.above, self.below));
        Fraction::new(above, cross(self.below, other.below))
    }

    pub fn times(self, above: i128, below: i128) -> Fraction {
        // Reduce crosswise first, which keeps the products small.
        let left = Fraction::new(self.above, below);
        let right = Fraction::new(above, self.below);
        Fraction::new(left.above.saturating_mul(right.above), left.below.saturating_mul(right.below))
    }

    /// Rounds to the nearest integer, half away from zero.
    pub fn round(self) -> i128 {
        div_round(self.above, self.below)
    }

    pub fn is_zero(self) -> bool {
        self.above == 0
    }

    /// Returns the numerator and the denominator, which is positive.
    pub fn parts(self) -> (i128, i128) {
        (self.above, self.below)
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // 128-bit divisions are several times slower than 64-bit divisions, and most values fit
        // into 64 bits.
        if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
            return u128::from(gcd_64(a, b));
        }
        (a, b) = (b, a % b);
    }
    a.max(1)
}

fn gcd_64(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.above, self.below)
    }
}

impl FromStr for Fraction {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Fraction, DecimalError> {
        let (above, below) = text.split_once('/').ok_or(DecimalError::Form)?;
        let above = above.parse().map_err(|_| DecimalError::Form)?;
        match below.parse() {
            Ok(below) if below > 0 => Ok(Fraction { above, below }),
            _ => Err(DecimalError::Form),
        }
    }
}

serde_as_text!(Money, Rate, Fraction);

/// A three-letter currency code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a currency: write three letters, like HKD")]
pub struct ParseCurrencyError(String);

impl Currency {
    /// Currency of account figures, credit lines and exchange rates.
    pub const HKD: Currency = Currency(*b"HKD");
    pub const USD: Currency = Currency(*b"USD");
    pub const CNH: Currency = Currency(*b"CNH");

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("")
    }
}

impl FromStr for Currency {
    type Err = ParseCurrencyError;

    fn from_str(text: &str) -> Result<Currency, ParseCurrencyError> {
        match text.as_bytes() {
            &[a, b, c] if [a, b, c].iter().all(u8::is_ascii_uppercase) => Ok(Currency([a, b, c])),
            _ => Err(ParseCurrencyError(text.chars().take(20).collect())),
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

serde_as_text!(Currency);
