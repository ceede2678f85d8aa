use std::fmt;

use crate::{DECIMALS_MAX, PRICE_UNIT, parse_scaled};

/// Share of a position's value that must be covered by margin, from 0 to 10, with six decimals.
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
            Err(crate::DecimalError::Range) => return Err(ParseMarginError::Range),
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
    /// Omits trailing zeros, so that equal factors have equal texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / PRICE_UNIT, format!("{:06}", self.0 % PRICE_UNIT));
        match decimals.trim_end_matches('0') {
            "" => f.pad(&whole.to_string()),
            decimals => f.pad(&format!("{whole}.{decimals}")),
        }
    }
}
