//! Forward adjustment: earlier prices brought to today's basis, by exact fractions.
//!
//! Each corporate action has a factor, reference price over the last close before it; a candle is multiplied by the
//! factors of all actions after its trading day. The ratio method keeps prices positive and returns right.

use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};

use crate::{DECIMALS_MAX, Date, Price};

type Fraction = num_rational::Ratio<BigInt>;

/// A corporate action on its ex-date, everything per **old** share: cash, `split` new shares (1 for none, 0.1 for a
/// ten-to-one consolidation), further bonus shares, further rights shares at a price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub ex_date: Date,
    pub cash: Amount,
    pub split: Amount,
    pub bonus: Amount,
    pub rights: Amount,
    pub rights_price: Amount,
}

/// An exact non-negative number: a decimal (`0.35`) or a fraction (`3/10`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount(Fraction);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an amount: write a number like 0.35 or a fraction like 3/10")]
pub struct ParseAmountError(String);

impl Amount {
    pub fn zero() -> Amount {
        Amount(Fraction::from_integer(BigInt::ZERO))
    }

    pub fn one() -> Amount {
        Amount(Fraction::from_integer(BigInt::from(1)))
    }

    pub fn parse(text: &str) -> Result<Amount, ParseAmountError> {
        let wrong = || ParseAmountError(text.chars().take(40).collect());
        let decimal = |text: &str| {
            // Twelve decimals are more than any announcement carries.
            let (value, exact) = crate::parse_scaled(text.trim().as_bytes(), 12).map_err(|_| wrong())?;
            if value < 0 || !exact {
                return Err(wrong());
            }
            Ok(Fraction::new(BigInt::from(value), BigInt::from(10u64.pow(12))))
        };
        match text.split_once('/') {
            None => decimal(text).map(Amount),
            Some((above, below)) => {
                let (above, below) = (decimal(above)?, decimal(below)?);
                if below.numer().sign() == Sign::NoSign {
                    return Err(wrong());
                }
                let amount = above / below;
                // Larger ones could be written, but not read back.
                let limit = BigInt::from(10u128.pow(26));
                if *amount.numer() > limit || *amount.denom() > limit {
                    return Err(wrong());
                }
                Ok(Amount(amount))
            }
        }
    }

    pub fn is_zero(&self) -> bool {
        self.0.numer().sign() == Sign::NoSign
    }
}

impl fmt::Display for Amount {
    /// A decimal where it ends, a fraction where it does not; [`Amount::parse`] reads both back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let million = BigInt::from(10u64.pow(12));
        let scaled = &self.0 * &million;
        if !scaled.is_integer() {
            return f.pad(&format!("{}/{}", self.0.numer(), self.0.denom()));
        }
        let digits = format!("{:0>13}", scaled.to_integer().to_string());
        let (whole, decimals) = digits.split_at(digits.len() - 12);
        let decimals = decimals.trim_end_matches('0');
        if decimals.is_empty() { f.pad(whole) } else { f.pad(&format!("{whole}.{decimals}")) }
    }
}

/// An action that changes nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredAction {
    pub ex_date: Date,
    pub reason: &'static str,
}

impl Action {
    pub fn none(ex_date: Date) -> Action {
        let (zero, one) = (Amount::zero(), Amount::one());
        Action {
            ex_date,
            cash: zero.clone(),
            split: one,
            bonus: zero.clone(),
            rights: zero.clone(),
            rights_price: zero,
        }
    }
}

/// The terms of all actions of one ex-date, added up into one formula.
struct Terms {
    cash: Fraction,
    split: Fraction,
    bonus: Fraction,
    rights: Fraction,
    paid: Fraction,
}

/// The factor of one ex-date, given the actual close of the last daily candle before it.
pub fn factor(actions: &[Action], close_before: Price) -> Result<Fraction, &'static str> {
    let close = Fraction::new(BigInt::from(close_before.0), BigInt::from(crate::PRICE_UNIT));
    let zero = || Fraction::from_integer(BigInt::ZERO);
    if close <= zero() {
        return Err("no daily candle before the ex-date");
    }
    let mut sum = Terms {
        cash: zero(),
        split: Fraction::from_integer(BigInt::from(1)),
        bonus: zero(),
        rights: zero(),
        paid: zero(),
    };
    for action in actions {
        sum.cash += &action.cash.0;
        sum.split *= &action.split.0;
        sum.bonus += &action.bonus.0;
        // Rights dearer than the market are worth nothing, and nobody takes them up.
        if action.rights_price.0 < close {
            sum.rights += &action.rights.0;
            sum.paid += &action.rights.0 * &action.rights_price.0;
        }
    }
    let shares = sum.split + sum.bonus + sum.rights;
    if shares <= zero() {
        return Err("no share is left after the action");
    }
    let reference = (&close - sum.cash + sum.paid) / shares;
    if reference <= zero() {
        return Err("the cash paid is not below the last close");
    }
    Ok(reference / close)
}

/// The factor that holds for trading days before an ex-date: the product of this action's and all later ones'.
#[derive(Clone, Debug)]
struct Step {
    /// Days strictly before this date, back to the previous step's.
    before: Date,
    numer: BigUint,
    denom: BigUint,
    fast: Fixed,
}

/// Brings prices of any trading day to today's basis, rounded once, half away from zero, to `decimals`.
#[derive(Clone, Debug)]
pub struct Adjuster {
    /// Ascending by date.
    steps: Vec<Step>,
    decimals: u32,
}

impl Adjuster {
    /// Chains the actions that are effective on `today` (ex-date on or before it). `close_before` gives the actual
    /// close of the last served daily candle before a date.
    pub fn new(
        actions: &[Action],
        today: Date,
        decimals: u32,
        mut close_before: impl FnMut(Date) -> Option<Price>,
    ) -> (Adjuster, Vec<IgnoredAction>) {
        let mut effective: Vec<&Action> = actions.iter().filter(|a| a.ex_date <= today).collect();
        effective.sort_by_key(|a| std::cmp::Reverse(a.ex_date));
        let decimals = decimals.min(DECIMALS_MAX);
        let mut ignored = Vec::new();
        let mut steps = Vec::new();
        let mut product = Fraction::from_integer(BigInt::from(1));
        for same_day in effective.chunk_by(|a, b| a.ex_date == b.ex_date) {
            let Some(ex_date) = same_day.first().map(|a| a.ex_date) else { continue };
            let same_day: Vec<Action> = same_day.iter().map(|a| (*a).clone()).collect();
            let close = close_before(ex_date).unwrap_or_default();
            match factor(&same_day, close) {
                Ok(factor) => {
                    product *= factor;
                    let numer = product.numer().magnitude().clone();
                    // Prices come in millionths and leave in units of the last decimal.
                    let denom = product.denom().magnitude() * 10u32.pow(DECIMALS_MAX - decimals);
                    let fast = Fixed::of(&numer, &denom);
                    steps.push(Step { before: ex_date, numer, denom, fast });
                }
                Err(reason) => ignored.push(IgnoredAction { ex_date, reason }),
            }
        }
        steps.reverse();
        (Adjuster { steps, decimals }, ignored)
    }

    pub fn is_identity(&self) -> bool {
        self.steps.is_empty()
    }

    /// The step for a trading day; `None` means its prices stay as they were traded. Rows ascend, so callers look up
    /// once a day.
    pub fn for_day(&self, day: Date) -> Option<DayFactor<'_>> {
        let at = self.steps.partition_point(|step| step.before <= day);
        self.steps.get(at).map(|step| DayFactor { step, unit: 10i64.pow(DECIMALS_MAX - self.decimals) })
    }
}

/// The factor of one trading day.
#[derive(Clone, Copy, Debug)]
pub struct DayFactor<'a> {
    step: &'a Step,
    unit: i64,
}

impl DayFactor<'_> {
    /// Days strictly before this date share the factor.
    pub fn until(&self) -> Date {
        self.step.before
    }

    pub fn apply(&self, price: i64) -> i64 {
        let Ok(value) = u64::try_from(price) else { return price };
        let rounded = self.step.fast.round(value).unwrap_or_else(|| self.exact(value));
        rounded.saturating_mul(self.unit)
    }

    fn exact(&self, price: u64) -> i64 {
        let twice = BigUint::from(price) * &self.step.numer * 2u32 + &self.step.denom;
        i64::try_from(twice / (&self.step.denom * 2u32)).unwrap_or(i64::MAX)
    }
}

/// A factor to 64 significant bits: `mantissa / 2^shift`, rounded down. It decides nearly every rounding, and knows
/// when it cannot; then the exact fraction is asked. A thousand candles cost microseconds instead of milliseconds.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    mantissa: u64,
    shift: u32,
}

impl Fixed {
    fn of(numer: &BigUint, denom: &BigUint) -> Fixed {
        let none = Fixed { mantissa: 0, shift: 0 };
        // Scale the quotient to exactly 64 bits, give or take one.
        let shift = 64i64 - numer.bits() as i64 + denom.bits() as i64;
        let (Ok(shift), true) = (u32::try_from(shift), (1..=126).contains(&shift)) else { return none };
        let quotient = (numer << shift) / denom;
        let (quotient, shift) =
            if quotient.bits() > 64 { (quotient >> 1u32, shift - 1) } else { (quotient, shift) };
        match u64::try_from(quotient) {
            Ok(mantissa) if shift > 0 => Fixed { mantissa, shift },
            _ => none,
        }
    }

    /// The rounded product, or `None` when the true value may lie on the other side of a half.
    fn round(self, price: u64) -> Option<i64> {
        // Prices stay below 2^62, so neither product nor half overflows.
        if self.shift == 0 || price >> 62 != 0 {
            return None;
        }
        let half = 1u128 << (self.shift - 1);
        let low = u128::from(price) * u128::from(self.mantissa) + half;
        // The true factor is below mantissa + 1, so the true product is below this.
        let high = low + u128::from(price);
        let (low, high) = (low >> self.shift, high >> self.shift);
        (low == high).then(|| i64::try_from(low).ok()).flatten()
    }
}
