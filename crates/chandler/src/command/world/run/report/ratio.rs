//! A ratio with nine decimals.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Sub};

use market::Price;
use serde::{Serialize, Serializer};
use trading::Money;

const BILLION: i128 = 1_000_000_000;

/// A ratio in billionths: 1 % is 10,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Ratio(i128);

impl Ratio {
    pub(in super::super) const ONE: Ratio = Ratio(BILLION);

    /// Returns `part / whole`. `None` if `whole` is zero.
    pub(in super::super) fn of(part: Money, whole: Money) -> Option<Ratio> {
        part.billionths_of(whole).map(Ratio)
    }

    pub(super) fn of_prices(part: Price, whole: Price) -> Option<Ratio> {
        Ratio::of_counts(i128::from(part.0), i128::from(whole.0))
    }

    /// Returns `part / whole`, rounded half up. `None` if `whole` is not positive.
    pub(super) fn of_counts(part: i128, whole: i128) -> Option<Ratio> {
        let scaled = part.checked_mul(BILLION)?;
        (whole > 0).then(|| Ratio((scaled + whole / 2).div_euclid(whole)))
    }

    pub(super) fn mean(ratios: impl ExactSizeIterator<Item = Ratio>) -> Option<Ratio> {
        let count = i128::try_from(ratios.len()).ok()?;
        let Ratio(sum) = ratios.sum();
        (count > 0).then(|| Ratio((sum + count / 2).div_euclid(count)))
    }

    pub(in super::super) fn billionths(self) -> i128 {
        self.0
    }

    /// Converts for display and charts.
    pub(in super::super) fn as_f64(self) -> f64 {
        self.0 as f64 / BILLION as f64
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
        // Hundredths of a percent, rounded half away from zero.
        let half = 50_000 * self.0.signum();
        let hundredths = (self.0 + half) / 100_000;
        let sign = if hundredths < 0 { "-" } else { "" };
        let magnitude = hundredths.unsigned_abs();
        f.pad(&format!("{sign}{}.{:02}%", magnitude / 100, magnitude % 100))
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.as_f64())
    }
}
