//! Parses numbers to exact integers: prices and turnovers in millionths, volumes in shares.

use std::fmt;

use market::{DECIMALS_MAX, DecimalError, parse_scaled};

use crate::written::plain;
use crate::{DecimalMark, Ratio, Scale};

/// The reason why a cell is invalid. Small and `Copy`, because a file may have millions of invalid
/// cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Empty,
    NotANumber,
    TooLarge,
    /// A volume with a fraction that is not a number of lots.
    Fraction,
    /// A volume with up to two decimals, which may be in lots of 100 shares.
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

/// A number as found in a file, before scaling and rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number<'a> {
    Text(&'a [u8]),
    Int(i64),
    Double(f64),
    Single(f32),
    /// Unscaled value and scale: `value * 10^-scale`.
    Decimal(i128, i8),
}

/// Parses numbers, applies the user's factors, and counts rounded, widened and abbreviated values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub scale: Scale,
    /// Number of prices and turnovers with more than six decimals, which were rounded.
    pub rounded: u64,
    /// Number of single-precision prices that were printed with the digits of a double.
    pub widened: u64,
    /// Number of values abbreviated with a suffix for thousands, millions and so on.
    pub abbreviated: u64,
    /// The file's decimal mark.
    pub mark: DecimalMark,
}

const POWERS: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
const UNIT: f64 = 1e6;
/// 2^53: doubles represent every integer up to this value exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// 2^52: below this, doubles are less than one unit apart, so that distinct integers divided by the
/// unit give distinct doubles.
const DISTINCT: f64 = EXACT / 2.0;
/// Number of decimals of intermediate values, before a factor is applied.
const WORKING: u32 = 12;

impl Numbers {
    pub(crate) fn new(scale: Scale) -> Numbers {
        Numbers { scale, ..Numbers::default() }
    }

    /// Parses plain decimal text to millionths. Returns `None` if the text needs the general path,
    /// as with a decimal comma.
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
            // Volumes in lots have up to two decimals. If the user has set a factor, lots are
            // already handled.
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

    /// Converts a number to units of `10^-12`, and returns whether the result is exact. Text may
    /// use separators and abbreviations.
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

/// Converts a number to units of `10^-12`, and returns whether the result is exact.
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
        // A float is converted to the shortest decimal that rounds to it, which is usually the
        // decimal that it was parsed from.
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

/// Returns `value * factor / step`, rounded half away from zero, and whether it is exact.
fn rescale(value: i128, factor: Option<Ratio>, step: i128) -> Result<(i128, bool), Fault> {
    let Ratio { numer, denom } = factor.unwrap_or(Ratio { numer: 1, denom: 1 });
    let above = value.checked_mul(numer).ok_or(Fault::TooLarge)?;
    let below = denom.checked_mul(step).ok_or(Fault::TooLarge)?;
    Ok((divide(above, below), above % below == 0))
}

/// Divides and rounds half away from zero. The divisor must be positive.
pub(crate) fn divide(value: i128, by: i128) -> i128 {
    let (whole, rest) = (value / by, (value % by).abs());
    if rest >= by - rest { whole + value.signum() } else { whole }
}

/// Parses a price to millionths. Returns `None` unless the text has only digits and at most one
/// point, no more than six decimals, and fits in 64 bits.
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

/// Converts a double to millionths, or returns `None` if it is not the closest double to any
/// decimal with six places. Below [`DISTINCT`] at most one decimal matches, so it is the original.
#[inline]
pub(crate) fn millionths_of_double(value: f64) -> Option<i64> {
    let scaled = (value * UNIT).round();
    (scaled.abs() < DISTINCT && scaled / UNIT == value).then_some(scaled as i64)
}

/// Converts a turnover to millionths. Turnovers exceed the range of [`millionths_of_double`], but
/// rarely have more than three decimals, so coarser units are tried first.
#[inline]
pub(crate) fn millionths_of_large(value: f64) -> Option<i128> {
    [(1.0, 1_000_000), (100.0, 10_000), (1_000.0, 1_000), (UNIT, 1)].into_iter().find_map(|(unit, rest)| {
        let scaled = (value * unit).round();
        (scaled.abs() < DISTINCT && scaled / unit == value).then(|| i128::from(scaled as i64) * rest)
    })
}

/// Converts a decimal with up to six places to millionths, or returns `None` if it has more places
/// or overflows.
fn millionths_of_decimal(value: i128, scale: i8) -> Option<i128> {
    let power = *POWERS.get(usize::try_from(scale).ok()?)?;
    value.checked_mul(power.into())
}

/// Converts a single-precision float to millionths by its shortest decimal. Returns `None` if that
/// has more than six places, or if the value is 2^24 or more.
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

/// Returns the value, in millionths, of a number that is a single-precision float printed as a
/// double: Yahoo serves 185.64 as 185.63999938964844. Only one double in half a billion equals a
/// single by chance. Returns `None` for other numbers.
fn single_behind(number: Number<'_>) -> Option<i64> {
    let value = match number {
        Number::Double(value) => value,
        // An expanded double has at least 12 characters.
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
    fn doubles_are_parsed_to_their_original_decimals() {
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
    fn a_single_printed_as_a_double_is_recognised() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.price(Number::Double(185.639_999_389_648_44)), Ok(185_640_000));
        assert_eq!(numbers.price(Number::Text(b"185.63999938964844")), Ok(185_640_000));
        assert_eq!((numbers.widened, numbers.rounded), (2, 0));
        // `185.6399993896` is not a single and is rounded. `0.0009765625` is a single, but has more
        // than six decimals.
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
        fn prices_with_six_decimals_round_trip_through_doubles(millionths in -(1i64 << 33) * 1_000_000..(1 << 33) * 1_000_000) {
            let double: f64 = format!("{}e-6", millionths).parse().unwrap();
            prop_assert_eq!(price(Number::Double(double)), (Ok(millionths), 0));
        }

        #[test]
        fn singles_are_parsed_as_their_shortest_text(value in -16_000_000.0f32..16_000_000.0) {
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
        fn arbitrary_text_does_not_panic(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut numbers = Numbers::new("price=0.001,volume=1000000000000,turnover=3".parse().unwrap());
            let _ = numbers.price(Number::Text(&text));
            let _ = numbers.turnover(Number::Text(&text));
            let _ = numbers.volume(Number::Text(&text));
            let _ = crate::time::parse_time(&text, &mut crate::time::DayCount::new());
        }
    }
}
