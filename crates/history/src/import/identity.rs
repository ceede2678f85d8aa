//! Identity of an import: the digest of the file's bytes, and the options that change the meaning
//! of its rows.

use std::io::Read;
use std::path::Path;

use files::{GivenSymbol, ReadOptions, Table};
use market::Symbol;
use store::ImportRecord;

use super::Options;

/// Formats the options that change the meaning of a file's rows, for the ledger. The same file with
/// different options is a different import.
fn meaning(options: &ReadOptions) -> String {
    let ReadOptions {
        period,
        region,
        symbol,
        map,
        ignored,
        time_format,
        columns,
        decimal,
        scale,
        stamp,
        estimate_turnover,
    } = options;
    let mut parts = Vec::new();
    parts.extend(period.map(|grain| format!("period={}", grain.written())));
    parts.extend(region.map(|region| format!("region={region}")));
    parts.extend(symbol.as_ref().map(|symbol| format!("symbol={symbol}")));
    parts.extend(map.iter().map(|(field, column)| format!("map {}={column}", field.as_str())));
    parts.extend(ignored.iter().map(|column| format!("map {column}=-")));
    parts.extend(time_format.as_ref().map(|format| format!("time-format={format}")));
    parts.extend((!columns.is_empty()).then(|| format!("columns={}", columns.join(","))));
    parts.extend(decimal.map(|mark| format!("decimal={}", mark.as_str())));
    let factors = [("price", scale.price), ("volume", scale.volume), ("turnover", scale.turnover)];
    parts.extend(factors.into_iter().filter_map(|(name, factor)| Some(format!("scale {name}={}", factor?))));
    parts.extend(stamp.map(|stamp| format!("stamp={stamp:?}").to_lowercase()));
    parts.extend(estimate_turnover.then(|| "estimate-turnover".to_owned()));
    parts.join(" ")
}

/// Returns the options text for the ledger. If the symbol comes from the file name, the text
/// includes the symbol, so that the same bytes under another name are a different import. Factors
/// that convert lots to shares are included as if the user had set them. `build` is appended when
/// candles are built from trades.
pub(super) fn ledger_options(options: &Options, table: &Table, build: Option<&str>) -> String {
    let mut read = options.read.clone();
    if let Table::Candles(reader) = table {
        read.scale = reader.scale();
    }
    let is_complete = matches!(read.symbol, Some(GivenSymbol::Whole(_)));
    let symbol =
        first_symbols(table).and_then(|symbols| if let [symbol] = symbols { Some(symbol) } else { None });
    let completed = symbol.filter(|_| !is_complete);
    if completed.is_some() {
        read.symbol = None;
    }
    let mut parts = vec![meaning(&read)];
    parts.extend(build.map(str::to_owned));
    parts.extend(completed.map(|symbol| format!("symbol={symbol}")));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// Returns the symbols read so far, or `None` if the table has no candles or trades.
fn first_symbols(table: &Table) -> Option<&[Symbol]> {
    match table {
        Table::Candles(reader) => Some(reader.symbols()),
        Table::Trades(reader) => Some(reader.symbols()),
        Table::Securities(_) | Table::Actions(_) | Table::Margins(_) | Table::Suspensions(_) => None,
    }
}

/// Returns the ledger options for a file that could not be opened.
pub(super) fn options_of_unreadable(options: &Options) -> String {
    meaning(&options.read)
}

/// Returns the BLAKE3 digest and the size in bytes of a file, which identify the file even if it is
/// renamed or extracted from an archive.
pub(super) fn fingerprint(path: &Path) -> std::io::Result<([u8; 32], u64)> {
    let mut file = files::read_bytes(path)?;
    let mut hash = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
        hash.update(chunk);
        bytes += read as u64;
    }
    Ok((*hash.finalize().as_bytes(), bytes))
}

/// Current state of an import's source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFile {
    Same,
    Changed,
    Absent,
}

/// Compares the file at the ledger's path with the digest of its import.
pub fn source_file(import: &ImportRecord) -> SourceFile {
    match fingerprint(Path::new(&import.file)) {
        Err(_) => SourceFile::Absent,
        Ok((digest, _)) if digest == import.digest => SourceFile::Same,
        Ok(_) => SourceFile::Changed,
    }
}
