//! Detection of symbols such as `700.HK` in a text.

use market::{Region, Symbol};

/// Maximum number of symbols taken from a text.
pub(crate) const KEPT_MAX: usize = 20;
/// Maximum number of mentions parsed; the same symbol may occur many times.
pub(crate) const READ_MAX: usize = 1_000;

/// Returns the symbols in a text in order of position. Only upper case is recognized, because an
/// ordinary word may end like a symbol.
pub(crate) fn find(text: &str) -> impl Iterator<Item = Symbol> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    text.split(move |letter: char| !is_part(letter)).filter_map(symbol)
}

fn symbol(word: &str) -> Option<Symbol> {
    // Strip surrounding punctuation.
    let word = word.trim_end_matches(['.', '-']).trim_start_matches('-');
    let (ticker, region) = word.rsplit_once('.')?;
    let region = Region::ALL.into_iter().find(|known| known.as_str() == region)?;
    if ticker.contains(|letter: char| letter.is_ascii_lowercase()) {
        return None;
    }
    Symbol::new(ticker, region).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_within_a_sentence() {
        for (text, expected) in [
            ("700.HK", "700.HK"),
            ("Buy 00700.HK, sell AAPL.US.", "700.HK AAPL.US"),
            ("看好700.HK和600519.SH！", "700.HK 600519.SH"),
            ("(BRK.B.US) -- .SPX.US - 5.HK-", "BRK.B.US .SPX.US 5.HK"),
            ("[700.HK](https://example.com/700.HK)", "700.HK 700.HK"),
            ("see.US the.HK 700.hk 700.XX 700 .HK 1234567.HK", ""),
            ("1.SH 700.HK5 A700.HKD", ""),
            ("", ""),
        ] {
            let found: Vec<String> = find(text).map(|symbol| symbol.to_string()).collect();
            assert_eq!(found.join(" "), expected, "{text:?}");
        }
    }
}
