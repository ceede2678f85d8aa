//! Words in file names: how names are split, and which words are not tickers.

use crate::spelling::presumed;

/// Vendors' names.
const VENDORS: [&str; 27] = [
    "akshare",
    "alpaca",
    "alphavantage",
    "baostock",
    "eastmoney",
    "excel",
    "finance",
    "futu",
    "google",
    "ib",
    "ibkr",
    "investing",
    "kaggle",
    "longbridge",
    "longport",
    "massive",
    "metatrader",
    "nasdaqcom",
    "polygon",
    "stooq",
    "tdx",
    "tradingview",
    "tushare",
    "vantage",
    "yahoo",
    "yahoofinance",
    "yfinance",
];

/// Words that describe a file's content, in singular.
const GENERIC: [&str; 63] = [
    "adj",
    "adjusted",
    "all",
    "auto",
    "bar",
    "book",
    "candle",
    "candlestick",
    "chart",
    "close",
    "copy",
    "csv",
    "data",
    "dataset",
    "document",
    "download",
    "equity",
    "export",
    "exported",
    "file",
    "full",
    "hist",
    "historic",
    "historical",
    "historicaldata",
    "historicalprice",
    "history",
    "input",
    "instrument",
    "intraday",
    "kline",
    "latest",
    "market",
    "mappe",
    "merged",
    "my",
    "new",
    "of",
    "ohlc",
    "ohlcv",
    "old",
    "output",
    "price",
    "qfq",
    "quote",
    "raw",
    "report",
    "result",
    "sample",
    "series",
    "sheet",
    "share",
    "stock",
    "symbol",
    "table",
    "temp",
    "test",
    "tick",
    "ticker",
    "tmp",
    "trade",
    "unnamed",
    "untitled",
];

/// Chinese and German words of the same kind, which are no tickers anyway, but say that the rest of
/// a name may be one.
const FOREIGN: [&str; 10] =
    ["历史数据", "历史行情", "行情", "数据", "前复权", "后复权", "不复权", "kurse", "kursdaten", "工作簿"];

/// Returns whether a word describes a file's content: `prices`, `Book1`, `Historical`.
pub(super) fn is_generic(word: &str) -> bool {
    let letters = word.trim_matches(|letter: char| !letter.is_alphabetic()).to_lowercase();
    let singular = letters.strip_suffix('s').unwrap_or(&letters);
    let is_known = |known: &&str| *known == letters || *known == singular;
    GENERIC.iter().any(is_known) || FOREIGN.iter().any(is_known)
}

pub(super) fn is_vendor(word: &str) -> bool {
    VENDORS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns whether a word is a number, as in dates, counters and codes.
pub(super) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Splits a name into words. A hyphen is part of a ticker only before a share class, as in `BRK-B`.
pub(super) fn split(stem: &str) -> Vec<&str> {
    let is_between = |letter: char| {
        letter.is_whitespace() || matches!(letter, '_' | ',' | '(' | ')' | '[' | ']' | '#' | '+')
    };
    stem.split(is_between)
        .flat_map(|word| {
            let is_class = presumed(word).is_some() && word.contains('-');
            let between: &[char] = if is_class { &[] } else { &['-'] };
            word.split(between)
        })
        .filter(|word| !word.is_empty())
        .collect()
}
