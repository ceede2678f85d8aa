//! Parses vendors' spellings of symbols, and interns a file's symbols.

use std::collections::HashMap;

use market::{Market, Region, Symbol};

use crate::SYMBOLS_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `700.HK`. For tickers without a region, the user must set one.
    Plain,
    /// `0700.HK`, `600519.SS`, `BRK-B`, `^VIX`. Tickers without a region are US.
    Yahoo,
    /// `aapl.us`, `brk-b.us`. Tickers without a region are US.
    Stooq,
    /// `AAPL`, `BRK.B`, `O:AAPL260417C00190000`. All symbols are US.
    BareUs,
    /// `HK.00700`, `US.AAPL`.
    Prefixed,
    /// Six digits, of which the first determines the exchange, or five digits for Hong Kong.
    ChineseDigits,
}

/// A file's symbols, numbered in order of appearance.
#[derive(Debug)]
pub(crate) struct SymbolTable {
    spelling: Spelling,
    region: Option<Region>,
    symbols: Vec<Symbol>,
    by_symbol: HashMap<Symbol, u32>,
    by_text: HashMap<Box<[u8]>, Option<u32>>,
    /// The last symbol's text, cached because consecutive rows mostly have the same symbol.
    last_text: Vec<u8>,
    last: Option<u32>,
    /// The first symbol whose region was assumed by the form of its ticker.
    presumed: Option<Symbol>,
}

#[derive(Debug)]
pub(crate) enum SymbolFault {
    Bad(String),
    TooMany,
}

impl SymbolTable {
    pub(crate) fn new(spelling: Spelling, region: Option<Region>) -> SymbolTable {
        SymbolTable {
            spelling,
            region,
            symbols: Vec::new(),
            by_symbol: HashMap::new(),
            by_text: HashMap::new(),
            last_text: Vec::new(),
            last: None,
            presumed: None,
        }
    }

    pub(crate) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Returns a note for the user if the regions of tickers were assumed.
    pub(crate) fn note(&self) -> Option<String> {
        let symbol = self.presumed.as_ref()?;
        Some(format!("tickers without a market were completed, as in {symbol}; pass --region to set it"))
    }

    pub(crate) fn market(&self, index: u32) -> Market {
        self.symbols.get(index as usize).map_or(Market::Us, Symbol::market)
    }

    pub(crate) fn add(&mut self, symbol: Symbol) -> Result<u32, SymbolFault> {
        if let Some(index) = self.by_symbol.get(&symbol) {
            return Ok(*index);
        }
        let index = u32::try_from(self.symbols.len()).map_err(|_| SymbolFault::TooMany)?;
        if self.symbols.len() >= SYMBOLS_MAX {
            return Err(SymbolFault::TooMany);
        }
        self.symbols.push(symbol.clone());
        self.by_symbol.insert(symbol, index);
        Ok(index)
    }

    pub(crate) fn look_up(&mut self, text: &[u8]) -> Result<u32, SymbolFault> {
        if let Some(index) = self.last
            && self.last_text == text
        {
            return Ok(index);
        }
        let known = self.by_text.get(text).copied();
        let index = match known {
            Some(Some(index)) => index,
            Some(None) => return Err(SymbolFault::Bad(self.parse(text).err().unwrap_or_default())),
            None => {
                // Invalid symbols count towards the limit, so that a column of random text cannot
                // fill the memory.
                if self.by_text.len() >= 2 * SYMBOLS_MAX {
                    return Err(SymbolFault::TooMany);
                }
                let parsed = self.parse(text);
                let index = match &parsed {
                    Ok(symbol) => Some(self.add(symbol.clone())?),
                    Err(_) => None,
                };
                self.by_text.insert(text.into(), index);
                index.ok_or_else(|| SymbolFault::Bad(parsed.err().unwrap_or_default()))?
            }
        };
        self.last_text.clear();
        self.last_text.extend_from_slice(text);
        self.last = Some(index);
        Ok(index)
    }

    fn parse(&mut self, text: &[u8]) -> Result<Symbol, String> {
        let text = std::str::from_utf8(text).map_err(|_| "symbol is not UTF-8".to_owned())?.trim();
        let read = parse_symbol(text, self.spelling, self.region);
        // Words in lower case are rather other text than tickers.
        let is_ticker = read.is_err() && !text.bytes().any(|byte| byte.is_ascii_lowercase());
        match is_ticker.then(|| presumed(text)).flatten() {
            Some(symbol) => {
                self.presumed.get_or_insert_with(|| symbol.clone());
                Ok(symbol)
            }
            None => read,
        }
    }
}

/// Completes a ticker without a region by its form: letters are of the US, six digits of a mainland
/// range of Shanghai or Shenzhen, and five digits, or four with a leading zero, of Hong Kong. Returns
/// `None` for other text.
pub(crate) fn presumed(text: &str) -> Option<Symbol> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let region = match text.len() {
            6 if ["5", "60", "68", "90"].iter().any(|range| text.starts_with(range)) => Region::Sh,
            // Other ranges are also months, such as 202401.
            6 if ["00", "15", "16", "30"].iter().any(|range| text.starts_with(range)) => Region::Sz,
            5 => Region::Hk,
            4 if text.starts_with('0') => Region::Hk,
            _ => return None,
        };
        return Symbol::new(text, region).ok();
    }
    let (ticker, class) = text.split_once(['-', '.']).unwrap_or((text, "A"));
    let is_letters = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_ticker =
        (1..=5).contains(&ticker.len()) && class.len() == 1 && is_letters(ticker) && is_letters(class);
    is_ticker.then(|| Symbol::new(&class_share(text, Region::Us, Spelling::Yahoo), Region::Us).ok()).flatten()
}

/// Parses a symbol in a vendor's spelling.
pub(crate) fn parse_symbol(text: &str, spelling: Spelling, region: Option<Region>) -> Result<Symbol, String> {
    if text.is_empty() {
        return Err("symbol is empty".to_owned());
    }
    let new = |ticker: &str, region: Region| {
        Symbol::new(ticker, region).map(Symbol::with_plain_strike).map_err(|error| error.to_string())
    };
    if let Some(index) = text.strip_prefix('^') {
        return match index.to_ascii_uppercase().as_str() {
            "HSI" => new("HSI", Region::Hk),
            "HSCE" => new("HSCEI", Region::Hk),
            "GSPC" => new(".SPX", Region::Us),
            other => new(&format!(".{other}"), Region::Us),
        };
    }
    if spelling == Spelling::BareUs {
        let text = text.strip_suffix(".US").unwrap_or(text);
        // Massive marks options with a prefix.
        return new(text.strip_prefix("O:").unwrap_or(text), Region::Us);
    }
    if spelling == Spelling::Prefixed
        && let Some((region, ticker)) = text.split_once('.')
        && let Some(region) = Region::parse(region)
    {
        return new(ticker, region);
    }
    if let Some((ticker, suffix)) = text.rsplit_once('.')
        && let Some(region) = region_of(suffix)
        && !ticker.is_empty()
    {
        return new(&class_share(ticker, region, spelling), region);
    }
    if let Some((prefix, ticker)) = text.split_once('.')
        && let Some(region) = Region::parse(prefix)
    {
        return new(ticker, region);
    }
    if let Some(region) = region {
        return new(&class_share(text, region, spelling), region);
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match spelling {
        Spelling::ChineseDigits if digits => match (text.len(), text.as_bytes()) {
            (6, [b'5' | b'6' | b'9', ..]) => new(text, Region::Sh),
            (6, [b'0' | b'1' | b'2' | b'3', ..]) => new(text, Region::Sz),
            (5, _) => new(text, Region::Hk),
            _ => Err(format!("{text:?} is listed on no exchange that is served")),
        },
        Spelling::Yahoo | Spelling::Stooq
            if text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.contains('.') =>
        {
            new(&class_share(text, Region::Us, spelling), Region::Us)
        }
        // The canonical parser has the best error message.
        _ => text.parse::<Symbol>().map_err(|error| error.to_string()),
    }
}

fn region_of(suffix: &str) -> Option<Region> {
    Region::parse(suffix).or_else(|| match suffix.to_ascii_uppercase().as_str() {
        "SS" | "XSHG" => Some(Region::Sh),
        "XSHE" => Some(Region::Sz),
        _ => None,
    })
}

/// Converts the hyphen before a share class, as used by Yahoo and Stooq, to a dot.
fn class_share(ticker: &str, region: Region, spelling: Spelling) -> String {
    let hyphens = matches!(spelling, Spelling::Yahoo | Spelling::Stooq) && region == Region::Us;
    match ticker.rsplit_once('-') {
        Some((root, class)) if hyphens && class.len() == 1 => format!("{root}.{class}"),
        _ => ticker.to_owned(),
    }
}
