//! Numbers of a file as exact integers: prices and turnovers in millionths, volumes in whole
//! shares.

use std::fmt;

use market::{DECIMALS_MAX, DecimalError, parse_scaled};

use crate::written::plain;
use crate::{DecimalMark, Ratio, Scale};

/// An invalid cell. Small and `Copy`, because columns of millions hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Empty,
    NotANumber,
    TooLarge,
    /// A fraction that is no number of lots.
    Fraction,
    /// A fraction that lots of a hundred would make whole.
    Lots,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Empty => "is empty",
            Fault::NotANumber => "is not a number",
            Fault::TooLarge => "is too large",
            Fault::Fraction => {
                "is not a whole number of shares, and fractions of units cannot be stored: leave it out with --map volume=-"
            }
            Fault::Lots => "is not a whole number; if it counts lots, pass --scale volume=100",
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

/// A number in a file, before rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number<'a> {
    Text(&'a [u8]),
    Int(i64),
    Double(f64),
    Single(f32),
    /// A value of `10^-scale` units.
    Decimal(i128, i8),
}

/// Parses numbers with the user's factors, and counts rounded ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub scale: Scale,
    /// Prices and turnovers with more than six decimals.
    pub rounded: u64,
    /// Prices that were single-precision, and were written with all the digits of a double.
    pub widened: u64,
    /// Numbers abbreviated in thousands or millions.
    pub abbreviated: u64,
    /// The decimal mark of this file.
    pub mark: DecimalMark,
}

const POWERS: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
const UNIT: f64 = 1e6;
/// Integers up to 2^53 are exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Below 2^52 units doubles lie closer together than units, so no two whole numbers of units share one.
const DISTINCT: f64 = EXACT / 2.0;
/// Digits after the point until a factor has been applied.
const WORKING: u32 = 12;

impl Numbers {
    pub(crate) fn new(scale: Scale) -> Numbers {
        Numbers { scale, ..Numbers::default() }
    }

    /// The fast path for text, where a point is a decimal point.
    #[inline]
    fn plain_millionths(&self, text: &[u8]) -> Option<i64> {
        match self.mark {
            DecimalMark::Point => plain_millionths(text),
            DecimalMark::Comma => None,
        }
    }

    pub(crate) fn price(&mut self, number: Number<'_>) -> Result<i64, Fault> {
        if self.scale.price.is_none() {
            let quick = match number {
                Number::Text(text) => self.plain_millionths(text),
                Number::Double(value) => millionths_of_double(value),
                Number::Single(value) => millionths_of_single(value),
                Number::Int(value) => value.checked_mul(1_000_000),
                Number::Decimal(value, scale) => {
                    millionths_of_decimal(value, scale).and_then(|value| i64::try_from(value).ok())
                }
            };
            if let Some(value) = quick {
                return Ok(value);
            }
        }
        self.unusual_price(number)
    }

    #[inline(never)]
    fn unusual_price(&mut self, number: Number<'_>) -> Result<i64, Fault> {
        if self.scale.price.is_none()
            && self.mark == DecimalMark::Point
            && let Some(value) = single_behind(number)
        {
            self.widened += 1;
            return Ok(value);
        }
        let value = self.millionths(number, self.scale.price)?;
        i64::try_from(value).map_err(|_| Fault::TooLarge)
    }

    pub(crate) fn turnover(&mut self, number: Number<'_>) -> Result<i128, Fault> {
        if self.scale.turnover.is_none() {
            let quick = match number {
                Number::Text(text) => self.plain_millionths(text).map(i128::from),
                Number::Double(value) => millionths_of_large(value),
                Number::Int(value) => Some(i128::from(value) * 1_000_000),
                Number::Decimal(value, scale) => millionths_of_decimal(value, scale),
                Number::Single(_) => None,
            };
            if let Some(value) = quick {
                return Ok(value);
            }
        }
        self.millionths(number, self.scale.turnover)
    }

    pub(crate) fn volume(&mut self, number: Number<'_>) -> Result<i64, Fault> {
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
        self.unusual_volume(number)
    }

    #[inline(never)]
    fn unusual_volume(&mut self, number: Number<'_>) -> Result<i64, Fault> {
        let (written, exact) = self.working(number)?;
        let (value, whole) = rescale(written, self.scale.volume, 10i128.pow(WORKING))?;
        if !exact || !whole {
            // A number of lots has two decimals, if the user has not set the size of a lot.
            let hundredths = written % 10i128.pow(WORKING - 2) == 0;
            let lots = exact && hundredths && self.scale.volume.is_none();
            return Err(if lots { Fault::Lots } else { Fault::Fraction });
        }
        i64::try_from(value).map_err(|_| Fault::TooLarge)
    }

    #[inline(never)]
    fn millionths(&mut self, number: Number<'_>, factor: Option<Ratio>) -> Result<i128, Fault> {
        let (value, exact) = self.working(number)?;
        let (value, whole) = rescale(value, factor, 10i128.pow(WORKING - DECIMALS_MAX))?;
        if !exact || !whole {
            self.rounded += 1;
        }
        Ok(value)
    }

    /// A number in units of `10^-12`, and whether that is exact. Text may use separators and
    /// abbreviations.
    fn working(&mut self, number: Number<'_>) -> Result<(i128, bool), Fault> {
        let Number::Text(text) = number else { return working(number) };
        match (self.mark, working(number)) {
            (_, Err(Fault::NotANumber)) | (DecimalMark::Comma, Ok(_)) => {}
            (_, read) => return read,
        }
        let number = plain(text, self.mark).ok_or(Fault::NotANumber)?;
        self.abbreviated += u64::from(number.is_abbreviated);
        working(Number::Text(number.text.as_bytes()))
    }
}

/// A number in units of `10^-12`, and whether that is exact.
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
        // The shortest decimal of this float is the one that was originally written.
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

/// Plain digits with at most one point, short enough for 64 bits: nearly every price.
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

/// The decimal of six places that divides back to this double is unique, so it is the intended one.
#[inline]
pub(crate) fn millionths_of_double(value: f64) -> Option<i64> {
    let scaled = (value * UNIT).round();
    (scaled.abs() < DISTINCT && scaled / UNIT == value).then_some(scaled as i64)
}

/// Turnovers are too large for the rule above, but seldom have more than three decimals.
#[inline]
pub(crate) fn millionths_of_large(value: f64) -> Option<i128> {
    [(1.0, 1_000_000), (100.0, 10_000), (1_000.0, 1_000), (UNIT, 1)].into_iter().find_map(|(unit, rest)| {
        let scaled = (value * unit).round();
        (scaled.abs() < DISTINCT && scaled / unit == value).then(|| i128::from(scaled as i64) * rest)
    })
}

/// Decimals of at most six places need no division.
fn millionths_of_decimal(value: i128, scale: i8) -> Option<i128> {
    let power = *POWERS.get(usize::try_from(scale).ok()?)?;
    value.checked_mul(power.into())
}

/// The value of a single-precision float, by its shortest decimal text.
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

/// Yahoo serves 185.64 as 185.63999938964844: a single, printed as a double. Only one double in
/// half a billion is a single by chance, so such a number is read as the decimal of the single.
fn single_behind(number: Number<'_>) -> Option<i64> {
    let value = match number {
        Number::Double(value) => value,
        // A number with fewer digits is not an expanded double.
        Number::Text(text) if text.len() >= 12 && text.contains(&b'.') => {
            std::str::from_utf8(text).ok()?.parse().ok()?
        }
        _ => return None,
    };
    let single = value as f32;
    if f64::from(single) == value { millionths_of_single(single) } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn price(number: Number<'_>) -> (Result<i64, Fault>, u64) {
        let mut numbers = Numbers::default();
        (numbers.price(number), numbers.rounded)
    }

    #[test]
    fn doubles_become_the_decimals_they_were_written_from() {
        assert_eq!(price(Number::Double(0.1)), (Ok(100_000), 0));
        assert_eq!(price(Number::Double(185.64)), (Ok(185_640_000), 0));
        assert_eq!(price(Number::Double(0.000001)), (Ok(1), 0));
        assert_eq!(price(Number::Double(1.0 / 3.0)), (Ok(333_333), 1));
        assert_eq!(price(Number::Double(0.0000005)), (Ok(1), 1));
        assert_eq!(price(Number::Double(8_589_934_591.999_999)), (Ok(8_589_934_591_999_999), 0));
        assert_eq!(price(Number::Double(f64::NAN)), (Err(Fault::Empty), 0));
        assert_eq!(price(Number::Double(f64::INFINITY)), (Err(Fault::NotANumber), 0));
        assert_eq!(price(Number::Double(1e14)), (Err(Fault::TooLarge), 0));
        assert_eq!(price(Number::Single(185.64)), (Ok(185_640_000), 0));
        assert_eq!(price(Number::Single(0.1)), (Ok(100_000), 0));
        assert_eq!(price(Number::Single(33_554_432.0)), (Ok(33_554_432_000_000), 0));
        assert_eq!(price(Number::Single(f32::NAN)), (Err(Fault::Empty), 0));
    }

    #[test]
    fn a_single_written_out_as_a_double_is_read_as_the_single() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.price(Number::Double(185.639_999_389_648_44)), Ok(185_640_000));
        assert_eq!(numbers.price(Number::Text(b"185.63999938964844")), Ok(185_640_000));
        assert_eq!((numbers.widened, numbers.rounded), (2, 0));
        // Not a single, so only rounded; and a single that needs more than six decimals itself.
        assert_eq!(numbers.price(Number::Text(b"185.6399993896")), Ok(185_639_999));
        assert_eq!(numbers.price(Number::Text(b"0.0009765625")), Ok(977));
        assert_eq!((numbers.widened, numbers.rounded), (2, 2));
    }

    #[test]
    fn division_rounds_half_away_from_zero() {
        let cases =
            [(5, 2, 3), (-5, 2, -3), (4, 3, 1), (-4, 3, -1), (0, 3, 0), (7, 1, 7), (1, 3, 0), (2, 3, 1)];
        for (value, by, rounded) in cases {
            assert_eq!(divide(value, by), rounded, "{value} / {by}");
        }
    }

    #[test]
    fn large_turnovers_are_exact_to_the_cent() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.turnover(Number::Double(123_456_789_012.34)), Ok(123_456_789_012_340_000));
        assert_eq!(numbers.turnover(Number::Double(5_440_082_548.0)), Ok(5_440_082_548_000_000));
        assert_eq!(numbers.turnover(Number::Text(b"999999999999999999.999999")), Ok(10i128.pow(24) - 1));
        assert_eq!(numbers.rounded, 0);
    }

    proptest! {
        #[test]
        fn a_price_of_six_decimals_survives_a_double(millionths in -(1i64 << 33) * 1_000_000..(1 << 33) * 1_000_000) {
            let double: f64 = format!("{}e-6", millionths).parse().unwrap();
            prop_assert_eq!(price(Number::Double(double)), (Ok(millionths), 0));
        }

        #[test]
        fn a_single_means_its_shortest_text(value in -16_000_000.0f32..16_000_000.0) {
            prop_assert_eq!(price(Number::Single(value)).0, price(Number::Text(value.to_string().as_bytes())).0);
        }

        #[test]
        fn the_fast_path_and_the_general_path_agree(text in "[0-9]{0,12}(\\.[0-9]{0,7})?") {
            let quick = price(Number::Text(text.as_bytes())).0;
            let general = match working(Number::Text(text.as_bytes())) {
                Ok((value, _)) => Ok(i64::try_from(divide(value, 1_000_000)).unwrap()),
                Err(fault) => Err(fault),
            };
            prop_assert_eq!(quick, general);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut numbers = Numbers::new("price=0.001,volume=1000000000000,turnover=3".parse().unwrap());
            let _ = numbers.price(Number::Text(&text));
            let _ = numbers.turnover(Number::Text(&text));
            let _ = numbers.volume(Number::Text(&text));
            let _ = crate::time::parse_time(&text, &mut crate::time::DayCount::new());
        }
    }
}
