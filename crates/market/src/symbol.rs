use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Date, Price, parse_date};

/// Maximum length of a ticker. The longest tickers in use are US option codes with 21 characters
/// (root 6, date 6, side 1, strike 8).
const TICKER_MAX: usize = 24;

/// Region in which a security is listed: the part after the last dot of its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    Hk,
    Us,
    Sh,
    Sz,
}

/// A set of trading rules: time zone, calendar and sessions. Shanghai and Shenzhen share one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Market {
    Hk,
    Us,
    Cn,
}

impl Region {
    pub const ALL: [Region; 4] = [Region::Hk, Region::Us, Region::Sh, Region::Sz];

    pub fn as_str(self) -> &'static str {
        match self {
            Region::Hk => "HK",
            Region::Us => "US",
            Region::Sh => "SH",
            Region::Sz => "SZ",
        }
    }

    pub fn market(self) -> Market {
        match self {
            Region::Hk => Market::Hk,
            Region::Us => Market::Us,
            Region::Sh | Region::Sz => Market::Cn,
        }
    }

    /// Parses a region, ignoring case. Returns `None` if the text is unknown.
    pub fn parse(text: &str) -> Option<Region> {
        Region::ALL.into_iter().find(|r| r.as_str().eq_ignore_ascii_case(text))
    }
}

impl Market {
    pub const ALL: [Market; 3] = [Market::Hk, Market::Us, Market::Cn];

    pub fn as_str(self) -> &'static str {
        match self {
            Market::Hk => "HK",
            Market::Us => "US",
            Market::Cn => "CN",
        }
    }

    pub fn parse(text: &str) -> Option<Market> {
        Market::ALL.into_iter().find(|m| m.as_str().eq_ignore_ascii_case(text))
    }

    /// Returns the default trading currency of a listing. A security record may override it.
    pub fn currency(self) -> &'static str {
        match self {
            Market::Hk => "HKD",
            Market::Us => "USD",
            Market::Cn => "CNY",
        }
    }
}

impl fmt::Display for Market {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A security code in canonical form: upper case, and Hong Kong numbers without leading zeros.
/// `00700.hk` and `700.HK` parse to the same value, so no other code needs to normalize symbols.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    /// Shared, because the paper trading engine clones symbols often.
    text: Arc<str>,
    region: Region,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSymbolError {
    #[error("{0:?} is not a symbol: write ticker.region, like 700.HK, AAPL.US or 600519.SH")]
    Form(String),
    #[error("{0:?} has an unknown region: HK, US, SH and SZ are served")]
    Region(String),
    #[error("{0:?} is not a ticker of {1}")]
    Ticker(String, Region),
}

impl Symbol {
    pub fn new(ticker: &str, region: Region) -> Result<Symbol, ParseSymbolError> {
        let wrong = || ParseSymbolError::Ticker(printable(ticker), region);
        let upper = ticker.to_ascii_uppercase();
        let digits = !upper.is_empty() && upper.bytes().all(|b| b.is_ascii_digit());
        let canonical = match region {
            Region::Hk if digits => {
                let stripped = upper.trim_start_matches('0');
                // Hong Kong codes have at most five digits, so a longer number is a typo.
                if stripped.is_empty() || stripped.len() > 5 {
                    return Err(wrong());
                }
                stripped
            }
            Region::Hk => upper.as_str(),
            Region::Sh | Region::Sz => {
                if !digits || upper.len() != 6 {
                    return Err(wrong());
                }
                upper.as_str()
            }
            Region::Us => upper.as_str(),
        };
        // A leading dot marks a US index. Any other dot or hyphen separates a share class.
        let body = match (region, canonical.strip_prefix('.')) {
            (Region::Us, Some(rest)) => rest,
            _ => canonical,
        };
        let parts_ok =
            body.split(['.', '-']).all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_alphanumeric()));
        if !parts_ok || canonical.len() > TICKER_MAX {
            return Err(wrong());
        }
        Ok(Symbol { text: format!("{canonical}.{region}").into(), region })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn ticker(&self) -> &str {
        // The region suffix, including the dot, is always the last three bytes.
        self.text.len().checked_sub(3).and_then(|end| self.text.get(..end)).unwrap_or_default()
    }

    pub fn region(&self) -> Region {
        self.region
    }

    pub fn market(&self) -> Market {
        self.region.market()
    }

    /// Returns whether this is a US option code: a root, six digits that form a valid date, `C` or
    /// `P`, and a strike of one to eight digits.
    pub fn is_us_option(&self) -> bool {
        self.region == Region::Us && Parts::of(self.ticker()).is_some()
    }

    /// Returns whether this is an index, by the naming conventions of its region.
    pub fn is_index(&self) -> bool {
        let ticker = self.ticker();
        match self.region {
            Region::Us => ticker.starts_with('.'),
            Region::Hk => !ticker.bytes().all(|byte| byte.is_ascii_digit()),
            Region::Sh => ticker.starts_with("000"),
            Region::Sz => ticker.starts_with("399"),
        }
    }

    /// Returns the terms of a US option, or `None` for any other security.
    pub fn option(&self) -> Option<OptionTerms> {
        if self.region == Region::Us { Parts::of(self.ticker())?.terms() } else { None }
    }

    /// Removes the leading zeros that clearing houses and many vendors write in the strike of an
    /// option code. Returns other symbols unchanged.
    pub fn with_plain_strike(self) -> Symbol {
        let plain = if self.region == Region::Us { plain_strike(self.ticker()) } else { None };
        match plain.map(|ticker| format!("{ticker}.{}", self.region)) {
            Some(text) => Symbol { text: text.into(), region: self.region },
            None => self,
        }
    }
}

impl FromStr for Symbol {
    type Err = ParseSymbolError;

    fn from_str(text: &str) -> Result<Symbol, ParseSymbolError> {
        let Some((ticker, region)) = text.rsplit_once('.') else {
            return Err(ParseSymbolError::Form(printable(text)));
        };
        if ticker.is_empty() {
            return Err(ParseSymbolError::Form(printable(text)));
        }
        let region = Region::parse(region).ok_or_else(|| ParseSymbolError::Region(printable(text)))?;
        Symbol::new(ticker, region)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Truncates input for an error message. The caller formats it with `{:?}`, which escapes terminal
/// control characters.
fn printable(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The kind of a listed security, which determines tick sizes and stamp duty. Options and indices
/// are recognized by their symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecurityKind {
    Equity,
    Etf,
    Reit,
    /// Includes callable bull/bear contracts and inline warrants.
    Warrant,
}

/// Board name of derivative warrants in Hong Kong.
const WARRANT_BOARD: &str = "HKWarrant";

impl SecurityKind {
    pub const ALL: [SecurityKind; 4] =
        [SecurityKind::Equity, SecurityKind::Etf, SecurityKind::Reit, SecurityKind::Warrant];

    pub fn as_str(self) -> &'static str {
        match self {
            SecurityKind::Equity => "equity",
            SecurityKind::Etf => "etf",
            SecurityKind::Reit => "reit",
            SecurityKind::Warrant => "warrant",
        }
    }

    /// Parses a kind, ignoring case. Returns `None` if the text is unknown.
    pub fn parse(text: &str) -> Option<SecurityKind> {
        SecurityKind::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text))
    }

    /// Returns the presumed kind of a security that was imported without a kind: a warrant if its
    /// board or its code range is reserved for warrants, otherwise an equity.
    pub fn presumed(symbol: &Symbol, board: Option<&str>) -> SecurityKind {
        let is_warrant = board == Some(WARRANT_BOARD) || is_warrant_code(symbol);
        if is_warrant { SecurityKind::Warrant } else { SecurityKind::Equity }
    }
}

/// Returns whether a code is in the five-digit ranges that the Hong Kong exchange reserves for
/// warrants, inline warrants, and callable bull/bear contracts.
fn is_warrant_code(symbol: &Symbol) -> bool {
    let code = || symbol.ticker().parse::<u32>().ok();
    symbol.region() == Region::Hk
        && code().is_some_and(|code| matches!(code, 10_000..=29_999 | 43_000..=49_999 | 50_000..=69_999))
}

impl fmt::Display for SecurityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Terms of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionTerms {
    pub underlying: Symbol,
    /// Last trading day.
    pub expiry: Date,
    pub right: OptionRight,
    pub strike: Price,
}

/// Formats the default name of an option: `AAPL 2026-04-17 190 Call`.
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

/// Factor from strikes, which codes give in thousandths, to prices in millionths.
const STRIKE_UNIT: i64 = 1_000;
const STRIKE_DECIMALS: u32 = 3;
/// Maximum number of digits in a strike.
const STRIKE_MAX: usize = 8;
const DATE_DIGITS: usize = 6;

/// Parts of an option ticker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    /// Part of the ticker before the strike: root, date, and `C` or `P`.
    head: &'a str,
    root: &'a str,
    expiry: Date,
    right: OptionRight,
    strike: &'a str,
}

impl<'a> Parts<'a> {
    /// Parses a ticker from its end: the digits of the strike, `C` or `P`, and six digits that form
    /// a valid date. The root may start with a dot, which marks an index. Returns `None` if the
    /// ticker is not an option code.
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

    /// Returns the terms, or `None` if the root is not a valid ticker.
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

/// Returns an option ticker with the leading zeros of its strike removed, or `None` if there are
/// none to remove.
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
    fn an_option_name_shows_its_terms() {
        let name = |code: &str| code.parse::<Symbol>().unwrap().option().unwrap().to_string();
        assert_eq!(name("AAPL260417C190000.US"), "AAPL 2026-04-17 190 Call");
        assert_eq!(name("SPY261218P612500.US"), "SPY 2026-12-18 612.5 Put");
        assert_eq!(name("F270115C2.US"), "F 2027-01-15 0.002 Call");
    }
}
