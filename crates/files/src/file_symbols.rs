//! Symbols that are known before a file's first row: from its header, its name or the user.

use std::path::Path;

use market::Symbol;

use crate::file_name::{Certainty, NoName, symbol_of};
use crate::header::Vendor;
use crate::options::GivenSymbol;
use crate::spelling::{Spelling, SymbolFault, SymbolTable, parse_symbol, presumed};
use crate::understood::SymbolSource;
use crate::{Problem, ReadOptions};

/// A file's symbols, and where they were found.
pub(crate) struct FileSymbols {
    pub symbols: SymbolTable,
    /// Index of the symbol of every row, for a table without a symbol column.
    pub fixed: u32,
    pub source: SymbolSource,
    /// Notes for the user about guesses.
    pub notes: Vec<String>,
}

/// What a table without a symbol column says about its security, besides the file's name.
pub(crate) struct NamedBy<'a> {
    /// The ticker in the header.
    pub header: Option<&'a str>,
    /// The text above the header.
    pub title: Option<&'a str>,
}

impl FileSymbols {
    pub(crate) fn of(
        has_column: bool,
        vendor: Vendor,
        named: &NamedBy<'_>,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<FileSymbols, Problem> {
        let mut symbols = SymbolTable::new(vendor.spelling(), options.region);
        if has_column {
            return Ok(FileSymbols { symbols, fixed: 0, source: SymbolSource::Column, notes: Vec::new() });
        }
        let (symbol, source) = fixed_symbol(vendor, named, path, options)?;
        let note = match source {
            SymbolSource::Header if named.header.is_none() => Some(format!(
                "the symbol {symbol} is a guess from the text above the header; pass --symbol to set it"
            )),
            SymbolSource::WordOfFileName => {
                Some(format!("the symbol {symbol} is a guess from the file name; pass --symbol to set it"))
            }
            SymbolSource::TickerOption => {
                Some(format!("the given ticker was completed to {symbol}; pass --region to set its market"))
            }
            _ => None,
        };
        let fixed = symbols.add(symbol).map_err(|_: SymbolFault| Problem::Symbols)?;
        Ok(FileSymbols { symbols, fixed, source, notes: note.into_iter().collect() })
    }
}

/// Returns the symbol of a table without a symbol column: from the user, the header or the file's
/// name.
fn fixed_symbol(
    vendor: Vendor,
    named: &NamedBy<'_>,
    path: &Path,
    options: &ReadOptions,
) -> Result<(Symbol, SymbolSource), Problem> {
    match (&options.symbol, named.header) {
        (Some(GivenSymbol::Whole(symbol)), _) => Ok((symbol.clone(), SymbolSource::Option)),
        (Some(GivenSymbol::Ticker(ticker)), _) => completed(ticker, vendor, options),
        (None, Some(text)) => parse_symbol(text, vendor.spelling(), options.region)
            .map(|symbol| (symbol, SymbolSource::Header))
            .map_err(|error| Problem::NoSymbol {
                reason: format!("the header names {text:?} ({error})"),
                perhaps: None,
            }),
        (None, None) => {
            let no_symbol = |NoName { reason, perhaps }| Problem::NoSymbol {
                reason: format!("there is no symbol column, and {reason}"),
                perhaps,
            };
            let found = symbol_of(path, options.region);
            let of_title = || named.title.and_then(|title| symbol_of(Path::new(title), None).ok());
            if let (Err(_), Some((symbol, _))) = (&found, of_title()) {
                return Ok((symbol, SymbolSource::Header));
            }
            let (symbol, certainty) = found.map_err(no_symbol)?;
            let source = match certainty {
                Certainty::Said => SymbolSource::FileName,
                Certainty::RegionAssumed => SymbolSource::FileNameWithoutRegion,
                Certainty::Guessed => SymbolSource::WordOfFileName,
            };
            Ok((symbol, source))
        }
    }
}

/// Completes the ticker that the user has given: by the region that the user has set, by the
/// vendor's market, or by its form.
fn completed(ticker: &str, vendor: Vendor, options: &ReadOptions) -> Result<(Symbol, SymbolSource), Problem> {
    let is_american = vendor.spelling() == Spelling::BareUs;
    let by_region = options.region.or(is_american.then_some(market::Region::Us));
    let found = match by_region {
        Some(region) => parse_symbol(ticker, Spelling::Yahoo, Some(region))
            .ok()
            .map(|symbol| (symbol, SymbolSource::Option)),
        None => presumed(ticker).map(|symbol| (symbol, SymbolSource::TickerOption)),
    };
    found.ok_or_else(|| Problem::NoSymbol {
        reason: format!("{ticker:?} has no market: write it as in 700.HK, or set its region with --region"),
        perhaps: Symbol::new(ticker, market::Region::Hk).ok(),
    })
}
