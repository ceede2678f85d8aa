//! A ratio with nine decimals.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Sub};

use market::Price;

use crate::decimal::{DecimalError, Plain, div_round, parse_units};
use crate::money::Money;

const DECIMALS: u32 = 9;
const BILLION: i128 = 10i128.pow(DECIMALS);

/// A ratio in billionths: 1 % is 10,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(i128);

impl Ratio {
    pub const ONE: Ratio = Ratio(BILLION);

    /// Returns `part / whole`. `None` if `whole` is zero.
    pub fn of(part: Money, whole: Money) -> Option<Ratio> {
        part.billionths_of(whole).map(Ratio)
    }

    pub fn of_prices(part: Price, whole: Price) -> Option<Ratio> {
        Ratio::of_counts(i128::from(part.0), i128::from(whole.0))
    }

    /// Returns `part / whole`, rounded half up. `None` if `whole` is not positive.
    pub fn of_counts(part: i128, whole: i128) -> Option<Ratio> {
        let scaled = part.checked_mul(BILLION)?;
        (whole > 0).then(|| Ratio(scaled.saturating_add(whole / 2).div_euclid(whole)))
    }

    pub fn mean(ratios: impl ExactSizeIterator<Item = Ratio>) -> Option<Ratio> {
        let count = i128::try_from(ratios.len()).ok()?;
        let Ratio(sum) = ratios.sum();
        (count > 0).then(|| Ratio((sum + count / 2).div_euclid(count)))
    }

    /// Parses the output of [`text`](Self::text).
    pub fn parse(text: &str) -> Result<Ratio, DecimalError> {
        match parse_units(text, DECIMALS)? {
            (units, true) => Ok(Ratio(units)),
            (_, false) => Err(DecimalError::Decimals(DECIMALS)),
        }
    }

    pub fn billionths(self) -> i128 {
        self.0
    }

    /// Formats as a decimal number, such as `0.5` or `1.0125`.
    pub fn text(self) -> Plain {
        Plain::new(self.0, DECIMALS, 1)
    }

    /// Returns the value as a number of hundredths of a percent, rounded half away from zero.
    fn hundredths_of_percent(self) -> i128 {
        div_round(self.0, BILLION / 10_000)
    }
}

impl Add for Ratio {
    type Output = Ratio;

    fn add(self, other: Ratio) -> Ratio {
        Ratio(self.0.saturating_add(other.0))
    }
}

impl Sub for Ratio {
    type Output = Ratio;

    fn sub(self, other: Ratio) -> Ratio {
        Ratio(self.0.saturating_sub(other.0))
    }
}

impl Sum for Ratio {
    fn sum<I: Iterator<Item = Ratio>>(ratios: I) -> Ratio {
        ratios.fold(Ratio::default(), Add::add)
    }
}

impl fmt::Display for Ratio {
    /// Formats as a percentage with two decimals: `-1.25%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.hundredths_of_percent();
        let sign = if hundredths < 0 { "-" } else { "" };
        let magnitude = hundredths.unsigned_abs();
        f.pad(&format!("{sign}{}.{:02}%", magnitude / 100, magnitude % 100))
    }
}
