//! US option codes: `AAPL260417C190000` is a call on AAPL that expires on 17 April 2026, at 190.

use crate::{Date, Price, Region, Symbol, parse_date};

/// The terms of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionTerms {
    pub underlying: Symbol,
    /// The last day on which it is traded.
    pub expiry: Date,
    pub right: OptionRight,
    pub strike: Price,
}

/// A name for an option that has no other: `AAPL 2026-04-17 190 Call`.
impl std::fmt::Display for OptionTerms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let right = match self.right {
            OptionRight::Call => "Call",
            OptionRight::Put => "Put",
        };
        let strike = self.strike.text(STRIKE_DECIMALS).to_string();
        let strike = strike.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{} {} {strike} {right}", self.underlying.ticker(), self.expiry)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptionRight {
    Call,
    Put,
}

/// A strike is written in thousandths, a price is stored in millionths.
const STRIKE_UNIT: i64 = 1_000;
const STRIKE_DECIMALS: u32 = 3;
/// Maximum digits of a strike.
const STRIKE_MAX: usize = 8;
const DATE_DIGITS: usize = 6;

/// The parts of an option's ticker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    /// Everything before the strike.
    head: &'a str,
    root: &'a str,
    expiry: Date,
    right: OptionRight,
    strike: &'a str,
}

impl<'a> Parts<'a> {
    /// Parses a ticker from its end: digits of the strike, `C` or `P`, six digits that are a date.
    /// A leading dot marks an index.
    pub(crate) fn of(ticker: &'a str) -> Option<Parts<'a>> {
        let head = ticker.trim_end_matches(|c: char| c.is_ascii_digit());
        let strike = ticker.get(head.len()..).filter(|strike| (1..=STRIKE_MAX).contains(&strike.len()))?;
        let right = match head.as_bytes().last()? {
            b'C' => OptionRight::Call,
            b'P' => OptionRight::Put,
            _ => return None,
        };
        let dated = head.get(..head.len() - 1)?;
        let (root, yymmdd) = dated.split_at_checked(dated.len().checked_sub(DATE_DIGITS)?)?;
        if root.is_empty() || root.starts_with('.') || !yymmdd.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let expiry = parse_date(&format!("20{yymmdd}")).ok()?;
        Some(Parts { head, root, expiry, right, strike })
    }

    /// `None` where the root is no ticker by itself.
    pub(crate) fn terms(&self) -> Option<OptionTerms> {
        let thousandths: i64 = self.strike.parse().ok()?;
        Some(OptionTerms {
            underlying: Symbol::new(self.root, Region::Us).ok()?,
            expiry: self.expiry,
            right: self.right,
            strike: Price(thousandths * STRIKE_UNIT),
        })
    }
}

/// The ticker of an option without leading zeros in its strike; `None` if there are none.
pub(crate) fn plain_strike(ticker: &str) -> Option<String> {
    let Parts { head, strike, .. } = Parts::of(ticker)?;
    let plain = strike.trim_start_matches('0');
    let plain = if plain.is_empty() { "0" } else { plain };
    (plain.len() < strike.len()).then(|| format!("{head}{plain}"))
}

#[cfg(test)]
mod tests {
    use crate::Symbol;

    #[test]
    fn an_option_is_named_by_its_terms() {
        let name = |code: &str| code.parse::<Symbol>().unwrap().option().unwrap().to_string();
        assert_eq!(name("AAPL260417C190000.US"), "AAPL 2026-04-17 190 Call");
        assert_eq!(name("SPY261218P612500.US"), "SPY 2026-12-18 612.5 Put");
        assert_eq!(name("F270115C2.US"), "F 2027-01-15 0.002 Call");
    }
}
