//! Finds the symbol in a file's name, for files without a symbol column.

use std::path::Path;

use market::{Region, Symbol};

use crate::spelling::{Spelling, parse_symbol};

/// How a symbol was derived from a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The name is the symbol.
    Said,
    /// The name is a ticker, and its region was assumed.
    RegionAssumed,
    /// The symbol is one of several words in the name.
    Guessed,
}

/// Returns the symbol in a file's name, or the reason why there is none.
pub(crate) fn symbol_of(
    path: &Path,
    spelling: Spelling,
    region: Option<Region>,
) -> Result<(Symbol, Certainty), String> {
    let stem = file_stem(path);
    let guess = || guess(&stem, spelling, region).map(|symbol| (symbol, Certainty::Guessed));
    // A vendor prefix would be parsed as a ticker with a hyphen.
    let first = stem.split(BETWEEN).next().unwrap_or_default();
    if is_one_of(first, &VENDORS) && first.len() < stem.len() {
        return guess().ok_or_else(|| format!("{stem:?} has several words, any of which could be a symbol"));
    }
    // By setting a region, the user declares that file names are tickers.
    if region.is_none() && says_nothing(&stem) {
        // Digits without a region are not a symbol, but `600519_SH_day` has a code and a region.
        let parts = || stem.split(|c| c == '.' || BETWEEN.contains(&c));
        let names = |symbol: &Symbol| parts().any(|part| Region::parse(part) == Some(symbol.region()));
        return guess()
            .filter(|(symbol, _)| names(symbol))
            .ok_or_else(|| format!("the file's name, {stem:?}, does not name a security"));
    }
    let said = parse_symbol(&stem, spelling, region).or_else(|reason| bare_us(&stem).ok_or(reason));
    let reason = match said {
        Ok(symbol) if region.is_some() || names_region(&stem, &symbol) => {
            return Ok((symbol, Certainty::Said));
        }
        Ok(symbol) => return Ok((symbol, Certainty::RegionAssumed)),
        Err(reason) => reason,
    };
    guess().ok_or_else(|| format!("{stem:?} does not say one ({reason})"))
}

/// Returns whether a name contains the region of its symbol: `0700.HK`, `HK.00700`, `^HSI`.
fn names_region(stem: &str, symbol: &Symbol) -> bool {
    let is_shanghai = |part: &str| part.eq_ignore_ascii_case("SS") || part.eq_ignore_ascii_case("XSHG");
    let is_shenzhen = |part: &str| part.eq_ignore_ascii_case("XSHE");
    stem.starts_with('^')
        || stem.split('.').any(|part| match Region::parse(part) {
            Some(region) => region == symbol.region(),
            None => is_shanghai(part) || is_shenzhen(part),
        })
}

const BETWEEN: [char; 3] = ['_', '-', ' '];
/// Vendors' names, which are not tickers.
const VENDORS: [&str; 14] = [
    "yahoofinance",
    "yahoo",
    "yfinance",
    "stooq",
    "alpaca",
    "polygon",
    "massive",
    "tushare",
    "akshare",
    "futu",
    "eastmoney",
    "longbridge",
    "longport",
    "finance",
];
/// Words that describe a file's content and are not tickers.
const WORDS: [&str; 55] = [
    "min",
    "mins",
    "minute",
    "minutes",
    "hour",
    "day",
    "days",
    "daily",
    "week",
    "candles",
    "candlesticks",
    "kline",
    "klines",
    "bars",
    "ohlc",
    "ohlcv",
    "history",
    "historical",
    "data",
    "price",
    "prices",
    "intraday",
    "export",
    "exported",
    "bar",
    "book",
    "candle",
    "candlestick",
    "chart",
    "copy",
    "csv",
    "document",
    "download",
    "downloads",
    "file",
    "input",
    "market",
    "new",
    "output",
    "quote",
    "quotes",
    "result",
    "results",
    "sample",
    "sheet",
    "stock",
    "stocks",
    "table",
    "temp",
    "test",
    "tick",
    "ticks",
    "tmp",
    "trades",
    "untitled",
];

/// Returns whether a name consists only of vendors' names and generic words: `prices`, `Book1`,
/// `stock_data (2)`.
fn says_nothing(stem: &str) -> bool {
    let letters = |word: &str| word.trim_matches(|c: char| !c.is_alphabetic()).to_owned();
    let is_known = |word: &str| is_one_of(word, &WORDS) || is_one_of(word, &VENDORS);
    let words: Vec<&str> = stem.split(BETWEEN).collect();
    words.iter().any(|word| is_known(&letters(word)))
        && words.iter().all(|word| letters(word).is_empty() || is_known(&letters(word)) || is_filler(word))
}

/// Parses a name that is only a US ticker, regardless of the header. US tickers have up to five
/// letters and an optional share class.
fn bare_us(stem: &str) -> Option<Symbol> {
    let (ticker, class) = stem.split_once(['-', '.']).unwrap_or((stem, ""));
    let is_ticker = (1..=5).contains(&ticker.len()) && ticker.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_class = class.len() <= 1 && class.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_ticker && is_class).then(|| parse_symbol(stem, Spelling::Yahoo, None).ok()).flatten()
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns the symbol among the words of a name, such as `NVDL_US_Min_1_2024` or
/// `yahoofinance-AAPL-20040819-20180120`. Returns `None` if several words qualify.
fn guess(stem: &str, spelling: Spelling, region: Option<Region>) -> Option<Symbol> {
    let words: Vec<&str> = stem.split(BETWEEN).filter(|word| !word.is_empty()).collect();
    let whole = words
        .iter()
        .filter(|word| word.contains('.'))
        .filter_map(|word| parse_symbol(word, spelling, None).ok());
    let pairs = words.windows(2).filter_map(|pair| {
        let &[ticker, region] = pair else { return None };
        // The word before a region is its ticker, unless it is a filler word other than a number.
        Symbol::new(ticker, Region::parse(region)?).ok().filter(|_| !is_filler(ticker) || is_number(ticker))
    });
    let named: Vec<Symbol> = whole.chain(pairs).collect();
    if let Some(symbol) = only(named) {
        return Some(symbol);
    }
    let bare = words.iter().filter(|word| !is_filler(word) && word.len() <= TICKER_LENGTH);
    let bare: Vec<&str> = bare.copied().collect();
    let [ticker] = bare.as_slice() else { return None };
    let is_american = matches!(spelling, Spelling::Yahoo | Spelling::Stooq | Spelling::BareUs)
        || words.iter().any(|word| {
            is_one_of(word, &["yahoofinance", "yahoo", "yfinance", "stooq", "alpaca", "polygon"])
        });
    match region.or(is_american.then_some(Region::Us)) {
        Some(region) => Symbol::new(ticker, region).ok(),
        None => parse_symbol(ticker, spelling, None).ok(),
    }
}

/// Maximum length of a ticker: five letters, a separator and a share class.
const TICKER_LENGTH: usize = 7;

/// Returns whether a word is a vendor's name, a region, a period, a date, a counter or a generic
/// word.
fn is_filler(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    // Matches words such as `1m`, `5min`, `2024`, `20240102`, `09` and `1d`.
    let counts = digits > 0 && word.starts_with(|c: char| c.is_ascii_digit());
    counts || is_one_of(word, &VENDORS) || is_one_of(word, &WORDS) || Region::parse(word).is_some()
}

/// Returns whether a word is a number, which is a valid ticker next to a region.
fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

fn only(mut symbols: Vec<Symbol>) -> Option<Symbol> {
    symbols.dedup();
    match symbols.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// Returns a file's name without extensions and period suffixes.
fn file_stem(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut stem = name.as_str();
    let extensions = [".csv", ".gz", ".zst", ".zstd", ".zip", ".parquet", ".pq", ".txt", ".tsv"];
    while let Some(shorter) = extensions.iter().find_map(|end| strip_end(stem, end)) {
        stem = shorter;
    }
    let endings = ["1m", "1min", "1minute", "minute", "min", "m1", "1d", "d", "day", "1day", "daily"];
    while let Some((rest, ending)) = stem.rsplit_once(['_', '-', ' '])
        && endings.iter().any(|known| known.eq_ignore_ascii_case(ending))
        // A D after a hyphen is a share class.
        && !(ending.eq_ignore_ascii_case("d") && stem.ends_with(&format!("-{ending}")))
    {
        stem = rest;
    }
    // Stooq names its files aapl_us_d.csv.
    match stem.rsplit_once('_') {
        Some((ticker, region)) if Region::parse(region).is_some() => format!("{ticker}.{region}"),
        _ => stem.to_owned(),
    }
}

fn strip_end<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(end.len())?;
    let (head, tail) = text.split_at_checked(at)?;
    (tail.eq_ignore_ascii_case(end) && !head.is_empty()).then_some(head)
}
