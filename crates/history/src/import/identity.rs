//! The identity of a file: the digest of its bytes, and the options that change what its rows mean.

use std::io::Read;
use std::path::Path;

use files::{ReadOptions, Table};
use market::Symbol;
use store::ImportRecord;

use super::Options;

/// The options that change what a file's rows mean, as text for the ledger: the same file with other options is
/// another import.
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

/// The options of an import in the ledger. If the file name gives the symbol, the same bytes under
/// another name are another import. `build` is added when candles are built.
pub(super) fn ledger_options(options: &Options, table: &Table, build: Option<&str>) -> String {
    let mut parts = vec![meaning(&options.read)];
    parts.extend(build.map(str::to_owned));
    if let Some([symbol]) = first_symbols(table)
        && options.read.symbol.is_none()
    {
        parts.push(format!("symbol={symbol}"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// The symbols read so far in a table of candles or trades.
fn first_symbols(table: &Table) -> Option<&[Symbol]> {
    match table {
        Table::Candles(reader) => Some(reader.symbols()),
        Table::Trades(reader) => Some(reader.symbols()),
        Table::Securities(_) | Table::Actions(_) | Table::Margins(_) => None,
    }
}

/// The same for a file that could not be opened.
pub(super) fn options_of_unreadable(options: &Options) -> String {
    meaning(&options.read)
}

/// The file's BLAKE3 digest and size: they identify it under another name, and outside of an
/// archive, too.
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

/// The current state of an import's source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFile {
    Same,
    Changed,
    Absent,
}

/// Checks the file that the ledger names: whether the same content can be imported again.
pub fn source_file(import: &ImportRecord) -> SourceFile {
    match fingerprint(Path::new(&import.file)) {
        Err(_) => SourceFile::Absent,
        Ok((digest, _)) if digest == import.digest => SourceFile::Same,
        Ok(_) => SourceFile::Changed,
    }
}
