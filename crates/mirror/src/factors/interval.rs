//! Intervals of exact numbers, and the simplest numbers they contain.

use num_bigint::BigInt;
use num_rational::Ratio;

/// An exact rational number of any size.
pub type Exact = Ratio<BigInt>;

/// A closed interval of exact numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    pub low: Exact,
    pub high: Exact,
}

/// Largest term of a fraction that is considered a split.
pub(super) const TERM_MAX: i64 = 100;

pub(super) fn exact(numer: i128, denom: i128) -> Exact {
    Ratio::new(BigInt::from(numer), BigInt::from(denom))
}

pub(super) fn zero() -> Exact {
    exact(0, 1)
}

pub(super) fn one() -> Exact {
    exact(1, 1)
}

/// Formats a number with `digits` decimals, rounded half away from zero.
pub fn decimal(number: &Exact, digits: u32) -> String {
    let digits = usize::try_from(digits).unwrap_or(0);
    let scaled = (number * pow10(digits)).round().to_integer();
    let sign = if scaled < BigInt::from(0) { "-" } else { "" };
    let text = format!("{:0>width$}", scaled.magnitude().to_string(), width = digits + 1);
    let (whole, part) = text.split_at_checked(text.len().saturating_sub(digits)).unwrap_or((&text, ""));
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

fn pow10(digits: usize) -> Exact {
    let power = u32::try_from(digits).unwrap_or(0);
    Ratio::from_integer(BigInt::from(10).pow(power))
}

impl Interval {
    pub(super) fn point(at: Exact) -> Interval {
        Interval { low: at.clone(), high: at }
    }

    pub fn contains(&self, number: &Exact) -> bool {
        self.low <= *number && *number <= self.high
    }

    pub fn middle(&self) -> Exact {
        (&self.low + &self.high) / BigInt::from(2)
    }

    pub fn width(&self) -> Exact {
        &self.high - &self.low
    }

    /// Returns the bounds with `digits` decimals, rounded half away from zero.
    pub fn text(&self, digits: u32) -> (String, String) {
        (decimal(&self.low, digits), decimal(&self.high, digits))
    }

    pub(super) fn and(&self, other: &Interval) -> Option<Interval> {
        let low = (&self.low).max(&other.low).clone();
        let high = (&self.high).min(&other.high).clone();
        (low <= high).then_some(Interval { low, high })
    }

    /// Multiplies by a positive number.
    pub(super) fn times(&self, factor: &Exact) -> Interval {
        Interval { low: &self.low * factor, high: &self.high * factor }
    }

    /// Divides two positive intervals.
    pub(super) fn over(&self, other: &Interval) -> Interval {
        Interval { low: &self.low / &other.high, high: &self.high / &other.low }
    }

    /// Returns `constant - self`.
    pub(super) fn subtracted_from(&self, constant: &Exact) -> Interval {
        Interval { low: constant - &self.high, high: constant - &self.low }
    }

    /// Returns the positive decimal in the interval with the fewest digits, at most `digits_max`,
    /// and its number of digits. Among several, the one nearest to the middle.
    pub(super) fn shortest_decimal(&self, digits_max: usize) -> Option<(Exact, usize)> {
        (0..=digits_max).find_map(|digits| {
            let scale = pow10(digits);
            let low = (&self.low * &scale).ceil().to_integer().max(BigInt::from(1));
            let high = (&self.high * &scale).floor().to_integer();
            let nearest = (self.middle() * &scale).round().to_integer();
            let number = nearest.clamp(low.clone(), high.clone().max(low.clone()));
            (low <= high).then(|| (Ratio::from_integer(number) / scale, digits))
        })
    }

    /// Returns the simplest fraction in the interval with terms of at most [`TERM_MAX`] that
    /// differs from one by more than 5 %, and whether there are others.
    pub(super) fn fraction(&self) -> Option<(i64, i64, bool)> {
        let mut best: Option<(i64, i64)> = None;
        let mut others = false;
        for denom in 1..=TERM_MAX {
            let bound = |number: BigInt| i64::try_from(number).unwrap_or(i64::MAX).clamp(0, TERM_MAX + 1);
            let low = bound((&self.low * BigInt::from(denom)).ceil().to_integer()).max(1);
            let high = bound((&self.high * BigInt::from(denom)).floor().to_integer()).min(TERM_MAX);
            for numer in low..=high {
                if (numer - denom).abs() * 20 <= denom {
                    continue;
                }
                match best {
                    // A multiple of the best fraction is the same number.
                    Some((n, d)) if n * denom == numer * d => {}
                    Some((n, d)) => {
                        others = true;
                        if numer + denom < n + d {
                            best = Some((numer, denom));
                        }
                    }
                    None => best = Some((numer, denom)),
                }
            }
        }
        best.map(|(numer, denom)| (numer, denom, others))
    }
}
