//! Forward adjustment: scales earlier prices to today's price level, using exact fractions.
//!
//! Each corporate action has a factor: the reference price divided by the last close before the
//! ex-date. A candle's prices are multiplied by the factors of all actions after its trading day.
//! Multiplying by factors, instead of subtracting differences, keeps prices positive and preserves
//! returns.

use std::fmt;

use num_bigint::{BigInt, BigUint};
use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul, CheckedSub, One, Zero};

use crate::{DECIMALS_MAX, Date, Price};

/// A corporate action on its ex-date. All values are per **old** share: `cash` paid, `split` new
/// shares (1 for no split, 0.1 for a ten-to-one consolidation), additional `bonus` shares, and
/// additional `rights` shares at `rights_price`.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(Ratio<i128>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an amount: write a number like 0.35 or a fraction like 3/10")]
pub struct ParseAmountError(String);

/// Maximum number of decimals. No announcement has more.
const AMOUNT_DECIMALS: u32 = 12;
const AMOUNT_UNIT: i128 = 10i128.pow(AMOUNT_DECIMALS);
/// Upper bound for the numerator and denominator of a reduced amount, so that a formatted amount
/// can always be parsed again.
const AMOUNT_MAX: i128 = 10i128.pow(26);

impl Amount {
    pub const ZERO: Amount = Amount(Ratio::new_raw(0, 1));
    pub const ONE: Amount = Amount(Ratio::new_raw(1, 1));

    pub fn zero() -> Amount {
        Amount::ZERO
    }

    pub fn one() -> Amount {
        Amount::ONE
    }

    pub fn parse(text: &str) -> Result<Amount, ParseAmountError> {
        // Fast path: most columns of most actions are zero or one.
        match text {
            "0" => return Ok(Amount::ZERO),
            "1" => return Ok(Amount::ONE),
            _ => (),
        }
        let wrong = || ParseAmountError(text.chars().take(40).collect());
        let decimal = |text: &str| match crate::parse_scaled(text.trim().as_bytes(), AMOUNT_DECIMALS) {
            Ok((value, true)) if value >= 0 => Ok(value),
            _ => Err(wrong()),
        };
        let (above, below) = match text.split_once('/') {
            None => (decimal(text)?, AMOUNT_UNIT),
            // Numerator and denominator have the same scale, which cancels out.
            Some((above, below)) => (decimal(above)?, decimal(below)?),
        };
        if below == 0 {
            return Err(wrong());
        }
        let amount = Ratio::new(above, below);
        if *amount.numer() > AMOUNT_MAX || *amount.denom() > AMOUNT_MAX {
            return Err(wrong());
        }
        Ok(Amount(amount))
    }

    pub fn is_zero(&self) -> bool {
        *self.0.numer() == 0
    }

    /// Returns the numerator and the denominator, in lowest terms.
    pub fn fraction(&self) -> (i128, i128) {
        (*self.0.numer(), *self.0.denom())
    }
}

impl fmt::Display for Amount {
    /// Writes a decimal if the decimal expansion is finite, otherwise a fraction. [`Amount::parse`]
    /// accepts both forms.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (numer, denom) = (*self.0.numer(), *self.0.denom());
        if AMOUNT_UNIT % denom != 0 {
            return f.pad(&format!("{numer}/{denom}"));
        }
        let whole = numer / denom;
        let decimals = format!("{:012}", numer % denom * (AMOUNT_UNIT / denom));
        let decimals = decimals.trim_end_matches('0');
        if decimals.is_empty() { f.pad(&whole.to_string()) } else { f.pad(&format!("{whole}.{decimals}")) }
    }
}

/// An action without effect, and the reason why it is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredAction {
    pub ex_date: Date,
    pub reason: &'static str,
}

impl Action {
    pub fn none(ex_date: Date) -> Action {
        let (zero, one) = (Amount::ZERO, Amount::ONE);
        Action { ex_date, cash: zero, split: one, bonus: zero, rights: zero, rights_price: zero }
    }
}

/// Computes the factor of one ex-date as an unreduced numerator and denominator. `close_before` is
/// the unadjusted close of the last daily candle before the ex-date. Nearly all intermediate values
/// fit 128 bits; on overflow, the computation is repeated with big integers. Returns an error if
/// there is no positive close or the terms are invalid.
pub fn factor(actions: &[Action], close_before: Price) -> Result<(BigUint, BigUint), &'static str> {
    if close_before.0 <= 0 {
        return Err("no daily candle before the ex-date");
    }
    let (close, unit) = (i128::from(close_before.0), i128::from(crate::PRICE_UNIT));
    let narrow =
        factor_in(actions, &Loose(close, unit), |amount| Loose(*amount.0.numer(), *amount.0.denom()));
    if let Some(factor) = narrow {
        return factor.map(|Loose(numer, denom)| (numer.unsigned_abs().into(), denom.unsigned_abs().into()));
    }
    let big = |number: i128| BigInt::from(number);
    let wide = factor_in(actions, &Loose(big(close), big(unit)), |amount| {
        Loose(big(*amount.0.numer()), big(*amount.0.denom()))
    });
    let factor = wide.unwrap_or(Err("the terms of the action are out of range"))?;
    Ok((factor.0.magnitude().clone(), factor.1.magnitude().clone()))
}

/// A fraction with a positive denominator. Fractions are not reduced, because reducing would cost
/// more than all other operations together. Operations return `None` on integer overflow.
#[derive(Clone, Debug)]
struct Loose<T>(T, T);

impl<T: Clone + PartialOrd + Zero + One + CheckedAdd + CheckedSub + CheckedMul> Loose<T> {
    fn whole(number: T) -> Loose<T> {
        Loose(number, T::one())
    }

    fn plus(&self, other: &Loose<T>) -> Option<Loose<T>> {
        if other.0.is_zero() {
            return Some(self.clone());
        }
        let (a, b) = (self.0.checked_mul(&other.1)?, other.0.checked_mul(&self.1)?);
        Some(Loose(a.checked_add(&b)?, self.1.checked_mul(&other.1)?))
    }

    fn minus(&self, other: &Loose<T>) -> Option<Loose<T>> {
        if other.0.is_zero() {
            return Some(self.clone());
        }
        let (a, b) = (self.0.checked_mul(&other.1)?, other.0.checked_mul(&self.1)?);
        Some(Loose(a.checked_sub(&b)?, self.1.checked_mul(&other.1)?))
    }

    fn times(&self, other: &Loose<T>) -> Option<Loose<T>> {
        Some(Loose(self.0.checked_mul(&other.0)?, self.1.checked_mul(&other.1)?))
    }

    /// Divides by `other`, which must be positive.
    fn over(&self, other: &Loose<T>) -> Option<Loose<T>> {
        Some(Loose(self.0.checked_mul(&other.1)?, self.1.checked_mul(&other.0)?))
    }

    fn is_below(&self, other: &Loose<T>) -> Option<bool> {
        Some(self.0.checked_mul(&other.1)? < other.0.checked_mul(&self.1)?)
    }
}

/// Computes the factor with the integer type `T`. Returns `None` on overflow.
fn factor_in<T>(
    actions: &[Action],
    close: &Loose<T>,
    of: impl Fn(&Amount) -> Loose<T>,
) -> Option<Result<Loose<T>, &'static str>>
where
    T: Clone + PartialOrd + Zero + One + CheckedAdd + CheckedSub + CheckedMul,
{
    let zero = || Loose::whole(T::zero());
    let (mut cash, mut bonus, mut rights, mut paid) = (zero(), zero(), zero(), zero());
    let mut split = Loose::whole(T::one());
    // Values are per old share, so actions on the same day are added up; only splits are
    // multiplied.
    for action in actions {
        cash = cash.plus(&of(&action.cash))?;
        bonus = bonus.plus(&of(&action.bonus))?;
        split = split.times(&of(&action.split))?;
        let price = of(&action.rights_price);
        // Rights at or above the market price are worthless and are not exercised.
        if !action.rights.is_zero() && price.is_below(close)? {
            rights = rights.plus(&of(&action.rights))?;
            paid = paid.plus(&of(&action.rights).times(&price)?)?;
        }
    }
    let shares = split.plus(&bonus)?.plus(&rights)?;
    if shares.0 <= T::zero() {
        return Some(Err("no shares are left after the action"));
    }
    let worth = close.plus(&paid)?.minus(&cash)?;
    if worth.0 <= T::zero() {
        return Some(Err("the cash paid is not below the last close"));
    }
    worth.over(&shares.times(close)?).map(Ok)
}

/// Factor that one ex-date applies to all earlier prices, as a fraction in lowest terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    pub ex_date: Date,
    numer: BigUint,
    denom: BigUint,
}

/// Computes the factors of all ex-dates in ascending order, and lists the ex-dates whose actions
/// are ignored. `close_before` returns the unadjusted close of the last daily candle before a date.
pub fn factors(
    actions: &[Action],
    mut close_before: impl FnMut(Date) -> Option<Price>,
) -> (Vec<Factor>, Vec<IgnoredAction>) {
    let mut sorted = actions.to_vec();
    sorted.sort_by_key(|action| action.ex_date);
    let (mut factors, mut ignored) = (Vec::new(), Vec::new());
    for same_day in sorted.chunk_by(|a, b| a.ex_date == b.ex_date) {
        let Some(ex_date) = same_day.first().map(|action| action.ex_date) else { continue };
        match factor(same_day, close_before(ex_date).unwrap_or_default()) {
            Ok((numer, denom)) => {
                let (numer, denom) = Ratio::new(numer, denom).into_raw();
                factors.push(Factor { ex_date, numer, denom });
            }
            Err(reason) => ignored.push(IgnoredAction { ex_date, reason }),
        }
    }
    (factors, ignored)
}

impl Factor {
    /// Creates a factor with the magnitude of `factor`, for an ex-date without a known corporate
    /// action. Returns `None` if `factor` is zero.
    pub fn bare(ex_date: Date, factor: &Amount) -> Option<Factor> {
        let (numer, denom) = factor.fraction();
        let (numer, denom) = (numer.unsigned_abs().into(), denom.unsigned_abs().into());
        (!factor.is_zero()).then_some(Factor { ex_date, numer, denom })
    }

    /// Appends the encoded factor: year, month and day of the ex-date, then the numerator and the
    /// denominator, each prefixed with its length. All integers are little-endian.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ex_date.year().to_le_bytes());
        out.extend_from_slice(&self.ex_date.month().to_le_bytes());
        out.extend_from_slice(&self.ex_date.day().to_le_bytes());
        for number in [&self.numer, &self.denom] {
            let bytes = number.to_bytes_le();
            out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            out.extend_from_slice(&bytes);
        }
    }

    /// Decodes a factor written by [`Factor::write`] and advances `bytes`. Returns `None` if the
    /// bytes are invalid.
    pub fn read(bytes: &mut &[u8]) -> Option<Factor> {
        let (&[y0, y1, month, day], rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        let year = i16::from_le_bytes([y0, y1]);
        let ex_date = Date::new(year, month as i8, day as i8).ok()?;
        let mut number = || {
            let (length, rest) = bytes.split_first_chunk()?;
            let (number, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
            *bytes = rest;
            Some(BigUint::from_bytes_le(number))
        };
        let (numer, denom) = (number()?, number()?);
        (!numer.is_zero() && !denom.is_zero()).then_some(Factor { ex_date, numer, denom })
    }
}

/// Factor for the trading days before an ex-date: the product of the factors of this ex-date and
/// all later ex-dates.
#[derive(Clone, Debug)]
struct Step {
    /// Exclusive end of the days that the step applies to. The range starts at the previous step's
    /// `before`.
    before: Date,
    numer: BigUint,
    denom: BigUint,
}

/// Adjusts the prices of any trading day to today's price level. Each price is rounded once, half
/// away from zero, to `decimals`.
#[derive(Clone, Debug)]
pub struct Adjuster {
    /// Ascending by `before`.
    steps: Vec<Step>,
    decimals: u32,
}

impl Adjuster {
    /// Combines the factors whose ex-date is on or before `today`. `factors` must be sorted by
    /// ex-date, ascending.
    pub fn new(factors: &[Factor], today: Date, decimals: u32) -> Adjuster {
        let decimals = decimals.min(DECIMALS_MAX);
        // The product is never reduced: no later step needs lowest terms, and reducing took half
        // the time of an adjusted response. The denominator includes the conversion from millionths
        // to units of the last decimal.
        let mut numer = BigUint::from(1u32);
        let mut denom = BigUint::from(10u32.pow(DECIMALS_MAX - decimals));
        let mut steps = Vec::with_capacity(factors.len());
        for factor in factors.iter().rev().filter(|factor| factor.ex_date <= today) {
            numer *= &factor.numer;
            denom *= &factor.denom;
            steps.push(Step { before: factor.ex_date, numer: numer.clone(), denom: denom.clone() });
        }
        steps.reverse();
        Adjuster { steps, decimals }
    }

    pub fn is_identity(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the factor for a trading day, or `None` if the day's prices need no adjustment. The
    /// factor is valid for all days before [`DayFactor::until`], so callers need only one call per
    /// ex-date.
    pub fn for_day(&self, day: Date) -> Option<DayFactor<'_>> {
        let at = self.steps.partition_point(|step| step.before <= day);
        let unit = 10i64.pow(DECIMALS_MAX - self.decimals);
        self.steps.get(at).map(|step| DayFactor { step, fast: Fixed::of(&step.numer, &step.denom), unit })
    }
}

/// Factor for a range of trading days.
#[derive(Clone, Copy, Debug)]
pub struct DayFactor<'a> {
    step: &'a Step,
    fast: Fixed,
    unit: i64,
}

impl DayFactor<'_> {
    /// Returns the exclusive end of the days that share the factor.
    pub fn until(&self) -> Date {
        self.step.before
    }

    #[inline]
    pub fn apply(&self, price: i64) -> i64 {
        let Ok(value) = u64::try_from(price) else { return price };
        let rounded = self.fast.round(value).unwrap_or_else(|| self.exact(value));
        rounded.saturating_mul(self.unit)
    }

    #[inline(never)]
    fn exact(&self, price: u64) -> i64 {
        let twice = BigUint::from(price) * &self.step.numer * 2u32 + &self.step.denom;
        i64::try_from(twice / (&self.step.denom * 2u32)).unwrap_or(i64::MAX)
    }
}

/// A factor with 64 significant bits: `mantissa / 2^shift`, rounded down. [`Fixed::round`] detects
/// the few prices for which this precision is insufficient, and the exact fraction is used for
/// them. Adjusting a thousand candles takes microseconds instead of milliseconds.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    mantissa: u64,
    shift: u32,
}

impl Fixed {
    fn of(numer: &BigUint, denom: &BigUint) -> Fixed {
        let none = Fixed { mantissa: 0, shift: 0 };
        // The shift makes the quotient 64 or 65 bits long.
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

    /// Returns the rounded product, or `None` if the factor's error may change the rounding.
    #[inline]
    fn round(self, price: u64) -> Option<i64> {
        // The product plus one half fits in a u128 if the price is below 2^62. Larger prices take
        // the exact path.
        if self.shift == 0 || price >> 62 != 0 {
            return None;
        }
        let half = 1u128 << (self.shift - 1);
        let low = u128::from(price) * u128::from(self.mantissa) + half;
        // The true factor is below `mantissa + 1`, so the true product is below `high`.
        let high = low + u128::from(price);
        match self.shift.checked_sub(64) {
            // Use only the upper halves: a variable shift of 128 bits takes three times as long.
            Some(shift) => {
                let whole = |product: u128| ((product >> 64) as u64) >> shift;
                (whole(low) == whole(high)).then_some(whole(low) as i64)
            }
            None => {
                let (low, high) = (low >> self.shift, high >> self.shift);
                (low == high).then(|| i64::try_from(low).ok()).flatten()
            }
        }
    }
}
