//! Decimal text in requests and responses.

use std::fmt;

use market::{DECIMALS_MAX, Price};

/// Why a decimal in a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    #[error("is not a decimal")]
    Form,
    #[error("is too large")]
    Range,
    #[error("has more than {0} decimals")]
    Decimals(u32),
}

/// Maximum number of digits before the decimal point. No traded value needs more.
const WHOLE_DIGITS_MAX: usize = 18;
/// Maximum number of digits after the decimal point.
const FRACTION_DIGITS_MAX: usize = 30;

/// Parses a decimal into an integer of `10^-scale` units, rounded toward zero, and returns whether
/// the result is exact. Accepts digits with an optional minus sign and decimal point; no exponent,
/// plus sign or whitespace.
pub(crate) fn parse_units(text: &str, scale: u32) -> Result<(i128, bool), DecimalError> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(DecimalError::Form);
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > WHOLE_DIGITS_MAX {
        return Err(DecimalError::Range);
    }
    if fraction.len() > FRACTION_DIGITS_MAX {
        return Err(DecimalError::Decimals(scale));
    }
    let stored = fraction.get(..scale as usize).unwrap_or(fraction);
    let exact = fraction.get(stored.len()..).is_none_or(|rest| rest.bytes().all(|byte| byte == b'0'));
    let mut units: i128 = 0;
    for digit in whole.bytes().chain(stored.bytes()) {
        units = units * 10 + i128::from(digit - b'0');
    }
    let missing = u32::try_from(stored.len()).map_or(0, |stored| scale.saturating_sub(stored));
    units = units.checked_mul(10i128.pow(missing)).ok_or(DecimalError::Range)?;
    Ok((if negative { -units } else { units }, exact))
}

/// Parses a price in a request. A price with more than six decimals, which no tick table allows, is
/// returned as an off-tick price, so that the tick check refuses it after all earlier checks have
/// passed.
pub fn parse_price(text: &str) -> Result<Price, DecimalError> {
    let (units, exact) = parse_units(text, DECIMALS_MAX)?;
    let units = match (exact, units < 0) {
        (true, _) => units,
        (false, negative) => units / 10 * 10 + if negative { -1 } else { 1 },
    };
    match i64::try_from(units) {
        Ok(units) if units.abs() <= PRICE_MAX.0 => Ok(Price(units)),
        _ => Err(DecimalError::Range),
    }
}

/// Parses a price that need not be on a tick, such as a price in a grid rule. Refuses a price with
/// more than six decimals, because rounding would change it.
pub fn parse_exact_price(text: &str) -> Result<Price, DecimalError> {
    match parse_units(text, DECIMALS_MAX)? {
        (_, true) => parse_price(text),
        (_, false) => Err(DecimalError::Decimals(DECIMALS_MAX)),
    }
}

/// Maximum price: more than a hundred times the price of the most expensive security.
pub const PRICE_MAX: Price = Price(100_000_000 * market::PRICE_UNIT);

/// An integer of `10^-scale` units, displayed with at least `least` decimals and no trailing zeros
/// after them.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    units: i128,
    scale: u32,
    least: u32,
}

impl Plain {
    pub(crate) fn new(units: i128, scale: u32, least: u32) -> Plain {
        Plain { units, scale, least: least.min(scale) }
    }
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10u128.pow(self.scale);
        let magnitude = self.units.unsigned_abs();
        let (whole, rest) = (magnitude / unit, magnitude % unit);
        let mut decimals = if self.scale == 0 {
            String::new()
        } else {
            format!("{rest:0width$}", width = self.scale as usize)
        };
        while decimals.len() > self.least as usize && decimals.ends_with('0') {
            decimals.pop();
        }
        let sign = if self.units < 0 { "-" } else { "" };
        if decimals.is_empty() {
            f.pad(&format!("{sign}{whole}"))
        } else {
            f.pad(&format!("{sign}{whole}.{decimals}"))
        }
    }
}

/// Formats a price in its shortest form: `305.2`.
pub fn plain_price(price: Price) -> Plain {
    Plain::new(i128::from(price.0), DECIMALS_MAX, 0)
}

/// Formats a price with at least `decimals` decimals: `305.200`, `0.9801`.
pub fn exact_price(price: Price, decimals: u32) -> Plain {
    Plain::new(i128::from(price.0), DECIMALS_MAX, decimals)
}

/// Divides and rounds to the nearest integer, half away from zero. `below` must be positive.
pub(crate) fn div_round(above: i128, below: i128) -> i128 {
    let (quotient, rest) = (above / below, above % below);
    // Compare without doubling the remainder, which could overflow.
    let rest = rest.unsigned_abs();
    let half = rest >= below.unsigned_abs() - rest;
    match (half, above < 0) {
        (false, _) => quotient,
        (true, false) => quotient + 1,
        (true, true) => quotient - 1,
    }
}

/// Divides an amount of money by a quantity, both in their smallest units, and returns the price in
/// units of `10^-decimals`, rounded once. Without scaling, the quotient would be in millionths.
pub(crate) fn price_quotient(above: i128, below: i128, decimals: u32) -> i128 {
    let (above, below) = if below < 0 { (-above, -below) } else { (above, below.max(1)) };
    div_round(
        above.saturating_mul(10i128.pow(decimals)),
        below.saturating_mul(i128::from(market::PRICE_UNIT)),
    )
}

/// Divides and rounds away from zero. `below` must be positive.
pub(crate) fn div_up(above: i128, below: i128) -> i128 {
    let quotient = above / below;
    if above % below == 0 { quotient } else { quotient + above.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_decimals_are_plain_digits() {
        let check = |text: &str, expected: &str| {
            let found = match parse_price(text) {
                Ok(price) => plain_price(price).to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{text:?}");
        };
        check("305.20", "305.2");
        check("0305.2000000000", "305.2");
        check("-1", "-1");
        check(".5", "0.5");
        check("5.", "5");
        check("305.2000001", "305.200001");
        check("99999999", "99999999");
        check("100000001", "is too large");
        check(&"9".repeat(40), "is too large");
        check(&format!("1.{}", "3".repeat(40)), "has more than 6 decimals");
        check(&format!("{}.{}", "9".repeat(40), "3".repeat(40)), "is too large");
        for words in [
            "", "-", ".", "NaN", "inf", "1e3", "1E+2", "+1", " 1", "1 ", "1,000", "0x10", "--1", "1.2.3", "١",
        ] {
            check(words, "is not a decimal");
        }
    }

    #[test]
    fn an_exact_price_with_too_many_decimals_is_refused() {
        let read = |text: &str| parse_exact_price(text).map(|price| price.0);
        assert_eq!(read("0.0000010"), Ok(1));
        assert_eq!(read("305.2000001"), Err(DecimalError::Decimals(6)));
        assert_eq!(read("0.0000001"), Err(DecimalError::Decimals(6)));
        assert_eq!(read("100000001"), Err(DecimalError::Range));
        assert_eq!(read("1e3"), Err(DecimalError::Form));
    }

    #[test]
    fn quotients_round_half_away_from_zero() {
        assert_eq!([5, -5, 4, -4, 15].map(|above| div_round(above, 10)), [1, -1, 0, 0, 2]);
        assert_eq!([1, -1, 0, 10].map(|above| div_up(above, 10)), [1, -1, 0, 1]);
        assert_eq!(div_round(i128::MAX, i128::MAX), 1);
    }
}
