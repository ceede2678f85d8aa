//! Exact numbers as scaled integers: prices, turnovers and margin factors.

use std::fmt;

/// Number of decimals stored for prices and turnovers. No source in the specification has more.
pub const DECIMALS_MAX: u32 = 6;
/// One currency unit as the integer value of a [`Price`] or [`Turnover`].
pub const PRICE_UNIT: i64 = 10i64.pow(DECIMALS_MAX);

/// A price in millionths of the trading currency. Prices are exact integers, never binary floating
/// point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(pub i64);

/// An amount in millionths of the trading currency. Needs 128 bits, because a candle's turnover may
/// have 18 digits before the decimal point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turnover(pub i128);

impl Turnover {
    /// Largest turnover that can be stored: 18 digits before the decimal point and six after it.
    pub const MAX: Turnover = Turnover(10i128.pow(24) - 1);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    #[error("not a number")]
    Form,
    #[error("too large")]
    Range,
    #[error("more than {DECIMALS_MAX} decimals")]
    Decimals,
}

impl Price {
    pub fn parse(text: &str) -> Result<Price, DecimalError> {
        let (value, exact) = parse_scaled(text.as_bytes(), DECIMALS_MAX)?;
        if !exact {
            return Err(DecimalError::Decimals);
        }
        i64::try_from(value).map(Price).map_err(|_| DecimalError::Range)
    }

    /// Formats the price with exactly `decimals` decimals, rounded half away from zero. Prices are
    /// rounded only for output, and for values that must agree with the output.
    pub fn text(self, decimals: u32) -> Fixed {
        Fixed { value: i128::from(self.0), decimals }
    }

    /// Returns the price rounded to `decimals` like [`text`](Price::text).
    pub fn rounded(self, decimals: u32) -> Price {
        let step = 10i64.pow(DECIMALS_MAX.saturating_sub(decimals));
        Price(self.0.saturating_add(self.0.signum() * (step / 2)) / step * step)
    }
}

impl Turnover {
    pub fn parse(text: &str) -> Result<Turnover, DecimalError> {
        let (value, exact) = parse_scaled(text.as_bytes(), DECIMALS_MAX)?;
        if exact { Ok(Turnover(value)) } else { Err(DecimalError::Decimals) }
    }

    /// Formats the turnover with three decimals, which is the same for all markets.
    pub fn text(self) -> Fixed {
        Fixed { value: self.0, decimals: 3 }
    }
}

/// A decimal to be formatted with a fixed number of decimals; see [`Price::text`].
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    value: i128,
    decimals: u32,
}

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = self.decimals.min(DECIMALS_MAX);
        let step = 10u64.pow(DECIMALS_MAX - decimals);
        let value = self.value.unsigned_abs();
        let rounded = match u64::try_from(value) {
            Ok(value) if value < u64::MAX - step => u128::from((value + step / 2) / step),
            _ => (value + u128::from(step / 2)) / u128::from(step),
        };
        f.pad(DecimalText::new(self.value < 0 && rounded != 0, rounded, decimals).as_str())
    }
}

/// A formatted decimal, without an allocation. Pushes contain several decimals each, and divisions
/// of 128-bit numbers are slow, so only numbers that need 128 bits use them.
#[derive(Clone, Copy, Debug)]
pub struct DecimalText {
    bytes: [u8; DecimalText::BYTES_MAX],
    start: usize,
}

impl DecimalText {
    /// Digits of the largest 128-bit number, with a sign and a point.
    const BYTES_MAX: usize = 41;

    /// Formats `units` divided by `10^decimals`, with all decimals. There are at most 38 decimals.
    pub fn new(is_negative: bool, units: u128, decimals: u32) -> DecimalText {
        let mut text = DecimalText { bytes: [0; DecimalText::BYTES_MAX], start: DecimalText::BYTES_MAX };
        let (mut high, mut digits) = (units, 0);
        let low = loop {
            match u64::try_from(high) {
                Ok(low) => break low,
                Err(_) => text.digit((high % 10) as u8, &mut digits, decimals),
            }
            high /= 10;
        };
        let mut low = low;
        while low > 0 || digits <= decimals {
            text.digit((low % 10) as u8, &mut digits, decimals);
            low /= 10;
        }
        if is_negative {
            text.put(b'-');
        }
        text
    }

    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(self.start..).unwrap_or_default();
        // All bytes are ASCII.
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// Adds a digit before the digits so far, of which there are `digits`.
    fn digit(&mut self, digit: u8, digits: &mut u32, decimals: u32) {
        if *digits == decimals && decimals > 0 {
            self.put(b'.');
        }
        self.put(b'0' + digit);
        *digits += 1;
    }

    fn put(&mut self, byte: u8) {
        self.start = self.start.saturating_sub(1);
        if let Some(place) = self.bytes.get_mut(self.start) {
            *place = byte;
        }
    }
}

/// Parses a decimal, with or without an exponent, into an integer in units of `10^-scale`. The flag
/// is `true` if the value is exact; otherwise it was rounded half away from zero. Does not use
/// binary floating point.
pub fn parse_scaled(text: &[u8], scale: u32) -> Result<(i128, bool), DecimalError> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mut value: i128 = 0;
    let mut exponent: i32 = 0;
    let (mut seen_digit, mut seen_point) = (false, false);
    let mut bytes = rest.iter();
    for byte in bytes.by_ref() {
        match byte {
            b'0'..=b'9' => {
                seen_digit = true;
                // No price has more than 36 digits, and an i128 holds up to 38.
                if value >= 10i128.pow(36) {
                    return Err(DecimalError::Range);
                }
                value = value * 10 + i128::from(byte - b'0');
                exponent -= i32::from(seen_point);
            }
            b'.' if !seen_point => seen_point = true,
            b'e' | b'E' if seen_digit => {
                let power = std::str::from_utf8(bytes.as_slice()).map_err(|_| DecimalError::Form)?;
                let power: i32 = power.parse().map_err(|_| DecimalError::Form)?;
                if power.unsigned_abs() > 60 {
                    return Err(DecimalError::Range);
                }
                exponent += power;
                bytes = [].iter();
                break;
            }
            _ => return Err(DecimalError::Form),
        }
    }
    if !seen_digit || bytes.next().is_some() {
        return Err(DecimalError::Form);
    }
    if value == 0 {
        return Ok((0, true));
    }
    let shift = exponent + scale as i32;
    let (value, exact) = if shift >= 0 {
        let factor = 10i128.checked_pow(shift as u32).ok_or(DecimalError::Range)?;
        (value.checked_mul(factor).ok_or(DecimalError::Range)?, true)
    } else {
        match 10i128.checked_pow(shift.unsigned_abs()) {
            Some(step) => ((value + step / 2) / step, value % step == 0),
            None => (0, value == 0),
        }
    };
    Ok((if negative { -value } else { value }, exact))
}

/// Share of a position's value that margin must cover: a number from 0 to 10 with up to six
/// decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarginFactor(i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseMarginError {
    #[error("not a number")]
    Form,
    #[error("not a number from 0 to {}", MarginFactor::MAX)]
    Range,
    #[error("a number of more than {DECIMALS_MAX} decimals")]
    Decimals,
}

impl MarginFactor {
    pub const MAX: MarginFactor = MarginFactor(10 * PRICE_UNIT);

    pub fn parse(text: &str) -> Result<MarginFactor, ParseMarginError> {
        let (value, exact) = match parse_scaled(text.as_bytes(), DECIMALS_MAX) {
            Ok(parsed) => parsed,
            Err(DecimalError::Range) => return Err(ParseMarginError::Range),
            Err(_) => return Err(ParseMarginError::Form),
        };
        // A negative number is out of range, regardless of its decimals.
        let factor = i64::try_from(value).ok().map(MarginFactor).ok_or(ParseMarginError::Range)?;
        if factor < MarginFactor(0) || factor > MarginFactor::MAX {
            return Err(ParseMarginError::Range);
        }
        if exact { Ok(factor) } else { Err(ParseMarginError::Decimals) }
    }

    /// Returns the factor in millionths of the position's value.
    pub fn millionths(self) -> i64 {
        self.0
    }
}

impl fmt::Display for MarginFactor {
    /// Omits trailing zeros, so that equal factors have the same text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / PRICE_UNIT, format!("{:06}", self.0 % PRICE_UNIT));
        match decimals.trim_end_matches('0') {
            "" => f.pad(&whole.to_string()),
            decimals => f.pad(&format!("{whole}.{decimals}")),
        }
    }
}
