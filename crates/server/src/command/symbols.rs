//! Symbols in requests.

use market::Symbol;

use crate::refusal::Refusal;

/// Most symbols of one request.
pub(crate) const SYMBOLS_MAX: usize = 500;

/// Parses one symbol, as typed.
pub(crate) fn symbol(text: &str) -> Result<Symbol, Refusal> {
    if text.is_empty() {
        return Err(Refusal::BadQuery("symbol is missing".to_owned()));
    }
    text.parse().map_err(|error: market::ParseSymbolError| Refusal::BadQuery(error.to_string()))
}

/// Parses a list: canonical symbols, without duplicates, in the order of the request. Invalid texts
/// are skipped.
pub(super) fn symbols(texts: &[String]) -> Result<Vec<Symbol>, Refusal> {
    if texts.is_empty() {
        return Err(Refusal::BadQuery("no symbol is named".to_owned()));
    }
    if texts.len() > SYMBOLS_MAX {
        return Err(Refusal::TooMany(format!(
            "{} symbols in one request: {SYMBOLS_MAX} are the most",
            texts.len()
        )));
    }
    let mut symbols: Vec<Symbol> = Vec::with_capacity(texts.len());
    for symbol in texts.iter().filter_map(|text| text.parse().ok()) {
        if !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
    }
    Ok(symbols)
}
