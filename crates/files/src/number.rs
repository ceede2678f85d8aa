//! Numbers of a file to exact integers: prices and turnovers in millionths, volumes in whole shares.

use std::fmt;

use market::{DECIMALS_MAX, DecimalError, parse_scaled};

use crate::{Ratio, Scale};

/// What is wrong with a cell. Small and copied, because columns of millions carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Empty,
    NotANumber,
    TooLarge,
    Fraction,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Empty => "is empty",
            Fault::NotANumber => "is not a number",
            Fault::TooLarge => "is too large",
            Fault::Fraction => "is not a whole number",
        })
    }
}

impl From<DecimalError> for Fault {
    fn from(error: DecimalError) -> Fault {
        match error {
            DecimalError::Range => Fault::TooLarge,
            DecimalError::Form | DecimalError::Decimals => Fault::NotANumber,
        }
    }
}

/// A number as a file may hold it, before anything is rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number<'a> {
    Text(&'a [u8]),
    Int(i64),
    Double(f64),
    Single(f32),
    /// A value of `10^-scale` units.
    Decimal(i128, i8),
}

/// Reads numbers with the user's factors, and counts what had to be rounded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    scale: Scale,
    /// Prices and turnovers with more than six decimals.
    pub rounded: u64,
}

const POWERS: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
const UNIT: f64 = 1e6;
/// Integers up to here are exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Digits kept behind the point until a factor has been applied.
const WORKING: u32 = 12;

impl Numbers {
    pub(crate) fn new(scale: Scale) -> Numbers {
        Numbers { scale, rounded: 0 }
    }

    pub(crate) fn price(&mut self, number: Number<'_>) -> Result<i64, Fault> {
        if self.scale.price.is_none() {
            let quick = match number {
                Number::Text(text) => plain_millionths(text),
                Number::Double(value) => millionths_of_double(value),
                Number::Single(value) => millionths_of_single(value),
                Number::Int(value) => value.checked_mul(1_000_000),
                Number::Decimal(..) => None,
            };
            if let Some(value) = quick {
                return Ok(value);
            }
        }
        let value = self.millionths(number, self.scale.price)?;
        i64::try_from(value).map_err(|_| Fault::TooLarge)
    }

    pub(crate) fn turnover(&mut self, number: Number<'_>) -> Result<i128, Fault> {
        if self.scale.turnover.is_none() {
            let quick = match number {
                Number::Text(text) => plain_millionths(text).map(i128::from),
                Number::Double(value) => millionths_of_large(value),
                Number::Int(value) => Some(i128::from(value) * 1_000_000),
                Number::Single(_) | Number::Decimal(..) => None,
            };
            if let Some(value) = quick {
                return Ok(value);
            }
        }
        self.millionths(number, self.scale.turnover)
    }

    pub(crate) fn volume(&self, number: Number<'_>) -> Result<i64, Fault> {
        if self.scale.volume.is_none() {
            let quick = match number {
                Number::Text(text) => plain_integer(text),
                Number::Int(value) => Some(value),
                Number::Double(value) if value == value.trunc() && value.abs() < EXACT => Some(value as i64),
                _ => None,
            };
            if let Some(value) = quick {
                return Ok(value);
            }
        }
        let (value, exact) = working(number)?;
        let (value, whole) = rescale(value, self.scale.volume, 10i128.pow(WORKING))?;
        if !exact || !whole {
            return Err(Fault::Fraction);
        }
        i64::try_from(value).map_err(|_| Fault::TooLarge)
    }

    fn millionths(&mut self, number: Number<'_>, factor: Option<Ratio>) -> Result<i128, Fault> {
        let (value, exact) = working(number)?;
        let (value, whole) = rescale(value, factor, 10i128.pow(WORKING - DECIMALS_MAX))?;
        if !exact || !whole {
            self.rounded += 1;
        }
        Ok(value)
    }
}

/// A number in units of `10^-12`, and whether that is all of it.
fn working(number: Number<'_>) -> Result<(i128, bool), Fault> {
    match number {
        Number::Text(b"") => Err(Fault::Empty),
        Number::Text(text) => {
            let blank = [&b"nan"[..], b"null", b"none", b"n/a", b"-", b"--"];
            if blank.iter().any(|word| text.eq_ignore_ascii_case(word)) {
                return Err(Fault::Empty);
            }
            Ok(parse_scaled(text, WORKING)?)
        }
        Number::Int(value) => Ok((i128::from(value) * 10i128.pow(WORKING), true)),
        // The shortest decimal that means this very float is what was written into the table in the first place.
        Number::Double(value) if value.is_nan() => Err(Fault::Empty),
        Number::Double(value) => Ok(parse_scaled(value.to_string().as_bytes(), WORKING)?),
        Number::Single(value) if value.is_nan() => Err(Fault::Empty),
        Number::Single(value) => Ok(parse_scaled(value.to_string().as_bytes(), WORKING)?),
        Number::Decimal(value, scale) => {
            let shift = i32::try_from(WORKING).unwrap_or_default() - i32::from(scale);
            let step = 10i128.checked_pow(shift.unsigned_abs()).ok_or(Fault::TooLarge)?;
            if shift >= 0 {
                return Ok((value.checked_mul(step).ok_or(Fault::TooLarge)?, true));
            }
            Ok((divide(value, step), value % step == 0))
        }
    }
}

/// `value * factor / step`, rounded half away from zero, and whether it was exact.
fn rescale(value: i128, factor: Option<Ratio>, step: i128) -> Result<(i128, bool), Fault> {
    let Ratio { numer, denom } = factor.unwrap_or(Ratio { numer: 1, denom: 1 });
    let above = value.checked_mul(numer).ok_or(Fault::TooLarge)?;
    let below = denom.checked_mul(step).ok_or(Fault::TooLarge)?;
    Ok((divide(above, below), above % below == 0))
}

/// Rounded half away from zero; the divisor is positive.
pub(crate) fn divide(value: i128, by: i128) -> i128 {
    let (whole, rest) = (value / by, (value % by).abs());
    if rest >= by - rest { whole + value.signum() } else { whole }
}

/// Plain digits with at most one point, short enough for 64 bits: nearly every price there is.
fn plain_millionths(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    let mut value: i64 = 0;
    let mut decimals: Option<usize> = None;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            value = value * 10 + i64::from(digit);
            decimals = decimals.map(|n| n + 1);
        } else if *byte == b'.' && decimals.is_none() && text.len() > 1 {
            decimals = Some(0);
        } else {
            return None;
        }
    }
    value.checked_mul(*POWERS.get(decimals.unwrap_or(0))?)
}

fn plain_integer(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0i64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value * 10 + i64::from(digit))
    })
}

/// Below 2^53 millionths no two decimals of six places share a double, so the one that divides back is the one meant.
fn millionths_of_double(value: f64) -> Option<i64> {
    let scaled = (value * UNIT).round();
    (scaled.abs() < EXACT && scaled / UNIT == value).then_some(scaled as i64)
}

/// Turnovers are too large for the rule above, but seldom have more than three decimals.
fn millionths_of_large(value: f64) -> Option<i128> {
    [(1.0, 1_000_000), (100.0, 10_000), (1_000.0, 1_000), (UNIT, 1)].into_iter().find_map(|(unit, rest)| {
        let scaled = (value * unit).round();
        (scaled.abs() < EXACT && scaled / unit == value).then(|| i128::from(scaled as i64) * rest)
    })
}

/// The fewest decimals that mean this single: what its shortest text has.
fn millionths_of_single(value: f32) -> Option<i64> {
    const SINGLE_EXACT: f64 = 16_777_216.0;
    let wide = f64::from(value);
    if wide.abs() >= SINGLE_EXACT {
        return None;
    }
    let mut unit = 1.0;
    for rest in POWERS {
        let scaled = (wide * unit).round();
        if (scaled / unit) as f32 == value {
            return Some(scaled as i64 * rest);
        }
        unit *= 10.0;
    }
    None
}
