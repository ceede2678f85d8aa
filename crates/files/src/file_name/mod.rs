//! Finds the symbol and the period in a file's name.
//!
//! `words.rs` has the words that are no tickers, `exchange.rs` the prefixes of exchanges, and
//! `period.rs` the words for periods.

mod exchange;
mod period;
mod words;

use std::path::Path;

use market::{Period, Region, Symbol};

use crate::spelling::{Spelling, parse_symbol, presumed};
use exchange::{Prefixed, prefixed};
use words::{is_generic, is_number, is_vendor, split};

/// How a symbol was derived from a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The name is the symbol, with its region or exchange.
    Said,
    /// The name is a ticker, and its region was assumed.
    RegionAssumed,
    /// The symbol is one of several words in the name.
    Guessed,
}

/// Why a name has no symbol, and a symbol that it suggests nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoName {
    pub reason: String,
    pub perhaps: Option<Symbol>,
}

/// Returns the symbol in a file's name, or the reason why there is none.
pub(crate) fn symbol_of(path: &Path, region: Option<Region>) -> Result<(Symbol, Certainty), NoName> {
    let stem = file_stem(path);
    if let Some(found) = whole(&stem) {
        return found;
    }
    let words = split(&stem);
    // A single letter alone is a ticker: D, W.
    let is_letter = |word: &str| words.len() == 1 && word.len() == 1;
    let is_filler = |word: &str| {
        let is_period = period::is_word(word) && !is_letter(word);
        let is_other = is_generic(word) || is_vendor(word) || is_number(word) || is_region(word);
        is_period || is_other || !word.is_ascii()
    };
    // Symbols with their region, as one word or as two.
    let mut named: Vec<(Symbol, usize)> =
        words.iter().filter_map(|word| Some((complete(word)?, 1))).collect();
    named.extend(pairs(&words));
    named.dedup_by(|a, b| a.0 == b.0);
    if let [(symbol, used)] = named.as_slice() {
        let rest = words.iter().filter(|word| period::is_word(word)).count() + used;
        let certainty = if rest >= words.len() { Certainty::Said } else { Certainty::Guessed };
        return Ok((symbol.clone(), certainty));
    }
    let tickers: Vec<&str> = words.iter().copied().filter(|word| !is_filler(word)).collect();
    let quoted = || format!("{:?}", shown(&stem));
    let perhaps = |ticker: &str| {
        of_ticker(ticker, region).or_else(|| presumed_loosely(ticker)).filter(|_| is_even(ticker))
    };
    let certainty = |is_alone: bool| match (is_alone, region) {
        (true, Some(_)) => Certainty::Said,
        (true, None) => Certainty::RegionAssumed,
        (false, _) => Certainty::Guessed,
    };
    match tickers.as_slice() {
        _ if named.len() > 1 => {
            let reason = format!("the file's name, {}, names several securities", quoted());
            Err(NoName { reason, perhaps: named.into_iter().next().map(|(symbol, _)| symbol) })
        }
        [ticker] => {
            let rest: Vec<&&str> = words.iter().filter(|word| *word != ticker).collect();
            let is_alone = rest.iter().all(|word| period::is_word(word));
            // In lower case, other words may be ordinary ones: `my data`.
            let is_plain = is_upper(ticker) || !rest.iter().any(|word| is_generic(word));
            match of_ticker(ticker, region).filter(|_| is_plain && is_even(ticker)) {
                Some(symbol) => Ok((symbol, certainty(is_alone))),
                None => Err(NoName {
                    reason: format!("the file's name, {}, does not name a security for certain", quoted()),
                    perhaps: perhaps(ticker),
                }),
            }
        }
        // Digits are tickers only where nothing else is.
        [] => {
            let digits: Vec<&str> = words.iter().copied().filter(|word| is_number(word)).collect();
            let is_alone = words.iter().all(|word| is_number(word) || period::is_word(word));
            let found = match digits.as_slice() {
                [only] if is_alone => of_ticker(only, region),
                several => {
                    match several.iter().filter_map(|word| presumed(word)).collect::<Vec<_>>().as_slice() {
                        [only] => Some(only.clone()),
                        _ => None,
                    }
                }
            };
            found.map(|symbol| (symbol, certainty(is_alone && digits.len() == 1))).ok_or_else(|| NoName {
                reason: format!("the file's name, {}, does not name a security", quoted()),
                perhaps: words
                    .first()
                    .filter(|word| words.len() == 1 && is_upper(word))
                    .and_then(|word| perhaps(word)),
            })
        }
        [first, ..] => Err(NoName {
            reason: format!(
                "the file's name, {}, has several words, any of which could be a symbol",
                quoted()
            ),
            perhaps: tickers
                .iter()
                .find(|word| is_upper(word))
                .or(Some(first))
                .and_then(|word| perhaps(word)),
        }),
    }
}

/// Returns the period in a file's name, or `None` if it names none or several.
pub(crate) fn period_of(path: &Path) -> Option<Period> {
    period::of_stem(&file_stem(path))
}

/// Returns the period in the title above a header.
pub(crate) fn period_of_title(title: &str) -> Option<Period> {
    period::of_stem(title)
}

/// Reads names that follow the conventions of an exchange or a program: `NASDAQ_AAPL, 1D`,
/// `SH#600519`, `^HSI`, `AAPL1440`. Returns `None` for other names.
fn whole(stem: &str) -> Option<Result<(Symbol, Certainty), NoName>> {
    let ticker = stem.split_once(", ").map_or(stem, |(ticker, _)| ticker);
    match prefixed(ticker) {
        Some(Prefixed::Symbol(symbol)) => return Some(Ok((symbol, Certainty::Said))),
        Some(Prefixed::Guess(symbol)) => return Some(Ok((symbol, Certainty::Guessed))),
        // TradingView separates the period by a comma, so its prefix is an exchange.
        Some(Prefixed::OtherExchange(exchange)) if stem.contains(", ") || exchange.is_known => {
            let reason = format!(
                "the exchange {} of the file's name, {:?}, is not one of Hong Kong, the US, Shanghai and Shenzhen",
                exchange.name,
                shown(stem)
            );
            return Some(Err(NoName { reason, perhaps: None }));
        }
        _ => {}
    }
    if stem.starts_with('^') {
        return parse_symbol(stem, Spelling::Yahoo, None).ok().map(|symbol| Ok((symbol, Certainty::Said)));
    }
    // MetaTrader 4 appends the minutes to the ticker.
    let (ticker, _) = period::metatrader(stem)?;
    if is_generic(ticker) {
        return None;
    }
    presumed(ticker).map(|symbol| Ok((symbol, Certainty::Guessed)))
}

/// Returns the symbol of a word that has its region: `700.HK`, `HK.00700`, `600519.SS`, `SH600519`.
fn complete(word: &str) -> Option<Symbol> {
    if word.contains('.') {
        return parse_symbol(word, Spelling::Yahoo, None).ok().filter(|symbol| has_region(word, symbol));
    }
    exchange::region_and_digits(word)
}

fn has_region(word: &str, symbol: &Symbol) -> bool {
    let is = |part: &str| exchange::region(part) == Some(symbol.region());
    word.rsplit_once('.').is_some_and(|(_, last)| is(last)) || word.split('.').next().is_some_and(is)
}

/// Returns the symbols of two words, a ticker before or behind its region, with the number of words.
fn pairs(words: &[&str]) -> Vec<(Symbol, usize)> {
    let symbol = |ticker: &str, region: &str| {
        let region = exchange::region(region)?;
        let is_ticker = is_number(ticker) || !is_generic(ticker) && !is_vendor(ticker) && !is_region(ticker);
        let is_ticker = is_ticker && (is_number(ticker) || !period::is_word(ticker));
        parse_symbol(ticker, Spelling::Yahoo, Some(region)).ok().filter(|_| is_ticker)
    };
    let of = |pair: &[&str], is_behind: bool| {
        let &[first, second] = pair else { return None };
        let (ticker, region) = if is_behind { (first, second) } else { (second, first) };
        symbol(ticker, region).map(|symbol| (symbol, 2))
    };
    let behind: Vec<_> = words.windows(2).filter_map(|pair| of(pair, true)).collect();
    if !behind.is_empty() {
        return behind;
    }
    words.windows(2).filter_map(|pair| of(pair, false)).collect()
}

/// Completes a ticker by the user's region, or by its form.
fn of_ticker(ticker: &str, region: Option<Region>) -> Option<Symbol> {
    match region {
        Some(region) => parse_symbol(ticker, Spelling::Yahoo, Some(region)).ok(),
        None => presumed(ticker),
    }
}

/// Completes a ticker for a suggestion: short numbers are mostly of Hong Kong.
fn presumed_loosely(ticker: &str) -> Option<Symbol> {
    presumed(ticker).or_else(|| Symbol::new(ticker, Region::Hk).ok().filter(|_| is_number(ticker)))
}

fn is_region(word: &str) -> bool {
    exchange::region(word).is_some()
}

fn is_upper(word: &str) -> bool {
    !word.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Returns whether a word is all upper or all lower case. `Apple` is a name and not a ticker.
fn is_even(word: &str) -> bool {
    is_upper(word) || !word.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn shown(stem: &str) -> String {
    stem.chars().take(60).collect()
}

/// Returns a file's name without extensions and the marks of copies, such as `(1)`.
fn file_stem(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut stem = name.trim();
    let extensions = [".csv", ".gz", ".zst", ".zstd", ".zip", ".parquet", ".pq", ".txt", ".tsv", ".xlsx"];
    while let Some(shorter) = extensions.iter().find_map(|end| strip_end(stem, end)) {
        stem = shorter;
    }
    // Browsers and file managers number copies.
    while let Some((rest, number)) = stem.strip_suffix(')').and_then(|rest| rest.rsplit_once('('))
        && is_number(number)
        && !rest.trim().is_empty()
    {
        stem = rest.trim_end();
    }
    stem.to_owned()
}

fn strip_end<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(end.len())?;
    let (head, tail) = text.split_at_checked(at)?;
    (tail.eq_ignore_ascii_case(end) && !head.is_empty()).then_some(head)
}

#[cfg(test)]
mod tests;
