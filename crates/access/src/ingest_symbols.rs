//! The symbols for which a program may add candles and trades. In an OAuth scope, `ingest` means
//! all symbols, `ingest:*.HK` those of a region, and `ingest:700.HK` a single symbol.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use market::{Region, Symbol};

/// The scope for all symbols, and the prefix of the scopes for some symbols.
const INGEST: &str = "ingest";
const BOUND: &str = "ingest:";
/// Maximum number of symbols and regions in a scope. A stored scope has at most 1,024 bytes.
const PATTERNS_MAX: usize = 25;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IngestSymbols {
    All,
    /// At least one symbol or region.
    Only(BTreeSet<SymbolPattern>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolPattern {
    /// All symbols of a region, such as `*.HK`.
    Region(Region),
    Symbol(Symbol),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseIngestSymbolsError {
    #[error("{0:?} is neither a symbol, like 700.HK, nor all symbols of a region, like *.HK")]
    Pattern(String),
    #[error("there are more than {PATTERNS_MAX} symbols and regions")]
    TooMany,
}

impl IngestSymbols {
    /// Parses the text of a requested scope. Returns `None` if a word is not an ingest scope, if
    /// its symbol or region is invalid, or if there are too many.
    pub(crate) fn of_requested_scope(scope: &str) -> Option<IngestSymbols> {
        let words = || scope.split(' ').filter(|word| !word.is_empty());
        if words().next().is_none() || !words().all(|word| word == INGEST || word.starts_with(BOUND)) {
            return None;
        }
        let patterns: Option<BTreeSet<SymbolPattern>> =
            words().filter_map(|word| word.strip_prefix(BOUND)).map(|text| text.parse().ok()).collect();
        let patterns = patterns.filter(|patterns| patterns.len() <= PATTERNS_MAX)?;
        let is_all = words().any(|word| word == INGEST);
        Some(if is_all { IngestSymbols::All } else { IngestSymbols::Only(patterns) })
    }

    /// Returns the symbols in a stored scope, ignoring other words. Returns `None` if the scope
    /// does not permit ingest.
    pub fn of_scope(scope: &str) -> Option<IngestSymbols> {
        let mut patterns = BTreeSet::new();
        for word in scope.split(' ') {
            match word.strip_prefix(BOUND) {
                Some(text) => patterns.extend(text.parse::<SymbolPattern>()),
                None if word == INGEST => return Some(IngestSymbols::All),
                None => {}
            }
        }
        if patterns.is_empty() { None } else { Some(IngestSymbols::Only(patterns)) }
    }

    /// Returns the scope text of a token that is valid for these symbols.
    pub fn scope(&self) -> String {
        match self {
            IngestSymbols::All => INGEST.to_owned(),
            IngestSymbols::Only(patterns) => {
                let words: Vec<String> = patterns.iter().map(|pattern| format!("{BOUND}{pattern}")).collect();
                words.join(" ")
            }
        }
    }

    pub fn has(&self, symbol: &Symbol) -> bool {
        match self {
            IngestSymbols::All => true,
            IngestSymbols::Only(patterns) => patterns.iter().any(|pattern| pattern.has(symbol)),
        }
    }
}

/// Parses a list, such as `*.HK,AAPL.US`.
impl FromStr for IngestSymbols {
    type Err = ParseIngestSymbolsError;

    fn from_str(text: &str) -> Result<IngestSymbols, ParseIngestSymbolsError> {
        let patterns: BTreeSet<SymbolPattern> =
            text.split(',').map(|part| part.trim().parse()).collect::<Result<_, _>>()?;
        if patterns.len() > PATTERNS_MAX {
            return Err(ParseIngestSymbolsError::TooMany);
        }
        Ok(IngestSymbols::Only(patterns))
    }
}

/// Formats the symbols as a list, such as `*.HK, AAPL.US`. Empty for all symbols.
impl fmt::Display for IngestSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IngestSymbols::All => Ok(()),
            IngestSymbols::Only(patterns) => {
                let list: Vec<String> = patterns.iter().map(SymbolPattern::to_string).collect();
                f.write_str(&list.join(", "))
            }
        }
    }
}

impl SymbolPattern {
    fn has(&self, symbol: &Symbol) -> bool {
        match self {
            SymbolPattern::Region(region) => symbol.region() == *region,
            SymbolPattern::Symbol(one) => one == symbol,
        }
    }
}

impl FromStr for SymbolPattern {
    type Err = ParseIngestSymbolsError;

    fn from_str(text: &str) -> Result<SymbolPattern, ParseIngestSymbolsError> {
        let wrong = || ParseIngestSymbolsError::Pattern(text.chars().take(40).collect());
        match text.strip_prefix("*.") {
            Some(region) => Region::parse(region).map(SymbolPattern::Region).ok_or_else(wrong),
            None => text.parse().map(SymbolPattern::Symbol).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for SymbolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymbolPattern::Region(region) => write!(f, "*.{region}"),
            SymbolPattern::Symbol(symbol) => write!(f, "{symbol}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_may_be_limited_to_symbols() {
        for (scope, canonical) in [
            ("ingest", "ingest"),
            ("ingest:*.hk", "ingest:*.HK"),
            ("ingest:00700.hk  ingest:AAPL.US ingest:700.HK", "ingest:700.HK ingest:AAPL.US"),
            ("ingest:AAPL.US ingest:*.HK", "ingest:*.HK ingest:AAPL.US"),
            ("ingest ingest:*.HK", "ingest"),
        ] {
            let symbols = IngestSymbols::of_requested_scope(scope).unwrap();
            assert_eq!(symbols.scope(), canonical, "{scope}");
            assert_eq!(IngestSymbols::of_scope(canonical), Some(symbols));
        }
        for scope in ["", " ", "openapi", "openapi ingest", "ingest:", "ingest:*", "ingest:*.XX", "ingest:HK"]
        {
            assert_eq!(IngestSymbols::of_requested_scope(scope), None, "{scope}");
        }
        let many: Vec<String> = (1..=PATTERNS_MAX + 1).map(|ticker| format!("{ticker}.HK")).collect();
        assert_eq!(many.join(",").parse::<IngestSymbols>(), Err(ParseIngestSymbolsError::TooMany));
        let many: Vec<String> = many.iter().map(|symbol| format!("ingest:{symbol}")).collect();
        assert_eq!(IngestSymbols::of_requested_scope(&many.join(" ")), None);
    }

    #[test]
    fn a_limited_scope_permits_only_its_symbols() {
        let symbols: IngestSymbols = "*.HK, aapl.us".parse().unwrap();
        assert_eq!(symbols.to_string(), "*.HK, AAPL.US");
        let has = |text: &str| symbols.has(&text.parse().unwrap());
        assert!(has("700.HK") && has("00005.HK") && has("AAPL.US"));
        assert!(!has("MSFT.US") && !has("600519.SH"));
        assert!(IngestSymbols::All.has(&"600519.SH".parse().unwrap()));
        let wrong = "700".parse::<IngestSymbols>().unwrap_err().to_string();
        assert_eq!(wrong, "\"700\" is neither a symbol, like 700.HK, nor all symbols of a region, like *.HK");
        assert_eq!(IngestSymbols::of_scope("openapi quote"), None);
    }
}
