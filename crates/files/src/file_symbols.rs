//! Symbols that are known before a file's first row: from its header, its name or the user.

use std::path::Path;

use market::Symbol;

use crate::file_name::{Certainty, symbol_of};
use crate::header::Vendor;
use crate::spelling::{SymbolFault, SymbolTable, parse_symbol};
use crate::understood::SymbolSource;
use crate::{Problem, ReadOptions};

/// A file's symbols, and where they were found.
pub(crate) struct FileSymbols {
    pub symbols: SymbolTable,
    /// Index of the symbol of every row, for a table without a symbol column.
    pub fixed: u32,
    pub guessed: Option<Symbol>,
    pub source: SymbolSource,
}

impl FileSymbols {
    pub(crate) fn of(
        has_column: bool,
        vendor: Vendor,
        fixed: Option<&str>,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<FileSymbols, Problem> {
        let mut symbols = SymbolTable::new(vendor.spelling(), options.region);
        if has_column {
            return Ok(FileSymbols { symbols, fixed: 0, guessed: None, source: SymbolSource::Column });
        }
        let (symbol, source) = fixed_symbol(vendor, fixed, path, options).map_err(|reason| {
            Problem::NoSymbol(format!(
                "there is no symbol column, and {reason}; pass --symbol, or --region for bare tickers"
            ))
        })?;
        let guessed = (source == SymbolSource::WordOfFileName).then(|| symbol.clone());
        let fixed = symbols.add(symbol).map_err(|_: SymbolFault| Problem::Symbols)?;
        Ok(FileSymbols { symbols, fixed, guessed, source })
    }
}

/// Returns the symbol of a table without a symbol column: from the user, the header or the file's
/// name.
fn fixed_symbol(
    vendor: Vendor,
    fixed: Option<&str>,
    path: &Path,
    options: &ReadOptions,
) -> Result<(Symbol, SymbolSource), String> {
    match (&options.symbol, fixed) {
        (Some(symbol), _) => Ok((symbol.clone(), SymbolSource::Option)),
        (None, Some(text)) => parse_symbol(text, vendor.spelling(), options.region)
            .map(|symbol| (symbol, SymbolSource::Header))
            .map_err(|reason| format!("{text:?} does not say one ({reason})")),
        (None, None) => {
            let (symbol, certainty) = symbol_of(path, vendor.spelling(), options.region)?;
            let source = match certainty {
                Certainty::Said => SymbolSource::FileName,
                Certainty::RegionAssumed => SymbolSource::FileNameWithoutRegion,
                Certainty::Guessed => SymbolSource::WordOfFileName,
            };
            Ok((symbol, source))
        }
    }
}
