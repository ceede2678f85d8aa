//! Prefixes of exchanges and regions in file names: `NASDAQ_AAPL`, `SH#600519`, `sz000001`.

use market::{Region, Symbol};

use super::period;
use super::words::{is_generic, is_number};
use crate::spelling::{Spelling, parse_symbol};

/// A name with a prefix.
pub(super) enum Prefixed<'a> {
    Symbol(Symbol),
    /// The prefix is an exchange, but the rest has more than a ticker.
    Guess(Symbol),
    OtherExchange(OtherExchange<'a>),
}

pub(super) struct OtherExchange<'a> {
    pub name: &'a str,
    /// Whether the prefix is in the list of exchanges below.
    pub is_known: bool,
}

/// Exchanges as named by TradingView and others, and the region of their tickers.
const SERVED: [(&str, Region); 17] = [
    ("NASDAQ", Region::Us),
    ("NYSE", Region::Us),
    ("AMEX", Region::Us),
    ("ARCA", Region::Us),
    ("NYSEARCA", Region::Us),
    ("NYSEAMERICAN", Region::Us),
    ("BATS", Region::Us),
    ("CBOEBZX", Region::Us),
    ("OTC", Region::Us),
    ("HKEX", Region::Hk),
    ("SEHK", Region::Hk),
    ("SSE", Region::Sh),
    ("XSHG", Region::Sh),
    ("SHSE", Region::Sh),
    ("SZSE", Region::Sz),
    ("XSHE", Region::Sz),
    ("SS", Region::Sh),
];

/// Other exchanges that TradingView exports from, and prefixes of currencies and indices.
const OTHERS: [&str; 36] = [
    "ASX",
    "BINANCE",
    "BIST",
    "BITFINEX",
    "BITSTAMP",
    "BMFBOVESPA",
    "BSE",
    "BYBIT",
    "CBOE",
    "CBOT",
    "CME",
    "COINBASE",
    "COMEX",
    "CRYPTOCAP",
    "DJ",
    "EURONEXT",
    "FOREXCOM",
    "FX",
    "FXCM",
    "INDEX",
    "KRAKEN",
    "KRX",
    "LSE",
    "MIL",
    "NSE",
    "NYMEX",
    "OANDA",
    "OKX",
    "SGX",
    "SIX",
    "SP",
    "TSE",
    "TSX",
    "TVC",
    "TWSE",
    "XETR",
];

/// Markets of TongDaXin's extended data: Hong Kong's main board and GEM, and US stocks.
const TONGDAXIN: [(&str, Region); 3] = [("31", Region::Hk), ("48", Region::Hk), ("74", Region::Us)];

/// Returns the region of a word: a region, or an exchange.
pub(super) fn region(word: &str) -> Option<Region> {
    let is_it = |(name, _): &&(&str, Region)| name.eq_ignore_ascii_case(word);
    Region::parse(word).or_else(|| SERVED.iter().find(is_it).map(|(_, region)| *region))
}

/// Reads a name whose first word is an exchange or, before `#`, a market of TongDaXin.
pub(super) fn prefixed(name: &str) -> Option<Prefixed<'_>> {
    if let Some((market, ticker)) = name.split_once('#')
        && !market.is_empty()
    {
        let extended = || TONGDAXIN.iter().find(|(number, _)| *number == market).map(|(_, region)| *region);
        let region = region(market).or_else(extended)?;
        let ticker = ticker.split(['_', ' ', '-']).next().unwrap_or(ticker);
        return Symbol::new(ticker, region).ok().map(Prefixed::Symbol);
    }
    let (exchange, rest) = name.split_once(['_', ':'])?;
    // Delayed quotes have their own prefix: HKEX_DLY_700.
    let rest = rest.strip_prefix("DLY_").unwrap_or(rest);
    let (ticker, behind) = rest.split_once(['_', ' ']).unwrap_or((rest, ""));
    // Regions are pairs of words, which are read in either order.
    let is_exchange = SERVED.iter().any(|(known, _)| known.eq_ignore_ascii_case(exchange));
    match region(exchange).filter(|_| is_exchange) {
        Some(region) => {
            let symbol = parse_symbol(ticker, Spelling::Yahoo, Some(region)).ok()?;
            let is_all = behind.is_empty() || period::is_word(behind);
            Some(if is_all { Prefixed::Symbol(symbol) } else { Prefixed::Guess(symbol) })
        }
        None => {
            let is_ticker = !period::is_word(ticker) && !is_generic(ticker);
            let is_known = OTHERS.contains(&exchange) && is_ticker;
            let is_upper = !exchange.is_empty() && exchange.bytes().all(|byte| byte.is_ascii_uppercase());
            (is_known || is_upper)
                .then_some(Prefixed::OtherExchange(OtherExchange { name: exchange, is_known }))
        }
    }
}

/// Reads a region and a code in one word: `SH600519`, `hk00700`, `000001SZ`.
pub(super) fn region_and_digits(word: &str) -> Option<Symbol> {
    let (head, tail) = word.split_at_checked(2)?;
    let (start, end) = word.split_at_checked(word.len() - 2)?;
    let ahead = region(head).filter(|_| is_number(tail)).map(|region| (region, tail));
    let behind = || region(end).filter(|_| is_number(start)).map(|region| (region, start));
    let (region, digits) = ahead.or_else(behind).filter(|(region, _)| *region != Region::Us)?;
    // Shorter numbers are counters.
    if region == Region::Hk && digits.len() < 4 { None } else { Symbol::new(digits, region).ok() }
}
