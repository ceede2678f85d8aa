//! Opens a table: determines its kind, its columns, and the symbols known before its first row.

use std::path::Path;

use market::Venues;

use crate::columns::ColumnTable;
use crate::file_symbols::FileSymbols;
use crate::header::{CandleColumns, Kind, TradeColumns, Vendor, recognise, time_columns, vendor_of};
use crate::input::Input;
use crate::number::Numbers;
use crate::reader::{CandleReader, Opening, Table};
use crate::session::Sessions;
use crate::source::{Lines, Source, open_source};
use crate::spelling::{SymbolFault, SymbolTable};
use crate::text::Rows;
use crate::text_header::{NamesFrom, TextHeader};
use crate::time_words::Times;
use crate::trades::{TradeReader, TradeRows};
use crate::understood::SymbolSource;
use crate::wide::{self, WideColumn};
use crate::{FileError, Problem, ReadOptions, marks, records, text_header};

/// Opens a file and determines the kind of its table.
pub fn open(path: &Path, venues: &Venues, options: &ReadOptions) -> Result<Table, FileError> {
    open_table(path, venues, options).map_err(|problem| problem.at(path))
}

fn open_table(path: &Path, venues: &Venues, options: &ReadOptions) -> Result<Table, Problem> {
    let (source, bytes) = open_source(path)?;
    let opening = Opening { path, venues, options, bytes };
    match source {
        Source::Text(mut lines) => {
            let header = text_header::read(&mut lines, options)?;
            open_text(opening, lines, header)
        }
        Source::Parquet(file) => {
            let mut table = ColumnTable::open(file)?;
            match recognise(table.names(), options)? {
                Kind::Securities(known) => {
                    records::securities(&mut table, &known, options).map(Table::Securities)
                }
                Kind::Actions(known) => records::actions(&mut table, &known, options).map(Table::Actions),
                Kind::Margins(known) => records::margins(&mut table, &known, options).map(Table::Margins),
                Kind::Suspensions(known) => {
                    records::suspensions(&mut table, &known, options).map(Table::Suspensions)
                }
                Kind::Trades { vendor, columns } => {
                    let rows = trade_rows(columns, vendor, path, options)?;
                    let input = Input::Columns(Box::new(table.trades(&rows.columns)?));
                    TradeReader::start(path, input, rows, venues, options, bytes).map(Table::Trades)
                }
                Kind::Candles { vendor, columns } => {
                    let fixed = table.symbol().map(str::to_owned);
                    let vendor = if fixed.is_some() { Vendor::Yahoo } else { vendor };
                    let rows = Rows::new(columns, vendor, fixed.as_deref(), path, options)?;
                    let input = Input::Columns(Box::new(table.candles(&rows.columns)?));
                    CandleReader::start(opening, input, rows).map(Table::Candles)
                }
            }
        }
    }
}

fn open_text(opening: Opening<'_>, lines: Lines, header: TextHeader) -> Result<Table, Problem> {
    let Opening { path, venues, options, bytes } = opening;
    let TextHeader { names, delimiter, line, symbol, wide, origin } = header;
    let width = names.len();
    if !wide.is_empty() {
        let rows = Rows::side_by_side(&wide, &names, line, Vendor::Yahoo, options)?;
        return candles(opening, lines, (delimiter, width), rows);
    }
    let kind = match recognise(&names, options) {
        Ok(kind) => kind,
        Err(problem) => {
            let Some(wide) = wide::of_names(&names) else { return Err(problem) };
            let rows = Rows::side_by_side(&wide, &names, line, vendor_of(&names, options), options)?;
            return candles(opening, lines, (delimiter, width), rows);
        }
    };
    let mut table = records::TextTable::new(lines, delimiter, width);
    match kind {
        Kind::Securities(known) => records::securities(&mut table, &known, options).map(Table::Securities),
        Kind::Actions(known) => records::actions(&mut table, &known, options).map(Table::Actions),
        Kind::Margins(known) => records::margins(&mut table, &known, options).map(Table::Margins),
        Kind::Suspensions(known) => records::suspensions(&mut table, &known, options).map(Table::Suspensions),
        Kind::Trades { vendor, columns } => {
            let mut rows = trade_rows(columns, vendor, path, options)?;
            let (price, volume) = ([rows.columns.price], [rows.columns.volume]);
            rows.numbers.mark = marks::of_table(&table.lines, delimiter, &price, &volume, options)?;
            let input = Input::text(table.lines, delimiter, width);
            TradeReader::start(path, input, rows, venues, options, bytes).map(Table::Trades)
        }
        Kind::Candles { vendor, columns } => {
            let vendor = if symbol.is_some() { Vendor::Yahoo } else { vendor };
            let mut rows = Rows::new(columns, vendor, symbol.as_deref(), path, options)?;
            rows.are_columns_guessed = origin == NamesFrom::Guess;
            candles(opening, table.lines, (delimiter, width), rows)
        }
    }
}

/// Creates the reader of a text table with candles, positioned after its header.
fn candles(
    opening: Opening<'_>,
    lines: Lines,
    (delimiter, width): (u8, usize),
    mut rows: Rows,
) -> Result<Table, Problem> {
    let (prices, volumes) = rows.number_columns();
    rows.numbers.mark = marks::of_table(&lines, delimiter, &prices, &volumes, opening.options)?;
    let input = Input::text(lines, delimiter, width);
    CandleReader::start(opening, input, rows).map(Table::Candles)
}

impl Rows {
    fn new(
        columns: CandleColumns,
        vendor: Vendor,
        fixed: Option<&str>,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Rows, Problem> {
        let symbols = FileSymbols::of(columns.symbol.is_some(), vendor, fixed, path, options)?;
        Ok(Rows::of(columns, vendor, symbols, Vec::new(), options))
    }

    /// Creates the row converter for a table with several symbols side by side.
    fn side_by_side(
        wide: &[WideColumn],
        names: &[String],
        line: u64,
        vendor: Vendor,
        options: &ReadOptions,
    ) -> Result<Rows, Problem> {
        let lacks = || Problem::WideColumns { line, ticker: "all tickers".into(), missing: "a time".into() };
        let time = time_columns(names, options).ok_or_else(lacks)?;
        let mut symbols = SymbolTable::new(vendor.spelling(), options.region);
        let mut columns = Vec::new();
        for (ticker, of_ticker) in wide::by_ticker(wide, time, line)? {
            let number = symbols.look_up(ticker.as_bytes()).map_err(|fault| match fault {
                SymbolFault::TooMany => Problem::Symbols,
                SymbolFault::Bad(reason) => {
                    Problem::NoSymbol(format!("line {line}: {reason}; pass --region for bare tickers"))
                }
            })?;
            columns.push((number, of_ticker));
        }
        let first = columns.first().map(|(_, columns)| columns.clone()).ok_or_else(lacks)?;
        let symbols = FileSymbols { symbols, fixed: 0, guessed: None, source: SymbolSource::Header };
        Ok(Rows::of(first, vendor, symbols, columns, options))
    }

    fn of(
        columns: CandleColumns,
        vendor: Vendor,
        symbols: FileSymbols,
        wide: Vec<(u32, CandleColumns)>,
        options: &ReadOptions,
    ) -> Rows {
        let FileSymbols { symbols, fixed, guessed, source } = symbols;
        Rows {
            vendor,
            columns,
            are_columns_guessed: false,
            symbols,
            fixed,
            guessed,
            symbol_source: source,
            wide,
            numbers: Numbers::new(options.scale),
            times: Times::new(options.time_format.as_ref()),
            sessions: Sessions::default(),
            estimate_turnover: options.estimate_turnover,
            period: options.period,
        }
    }

    /// Returns the indexes of the price columns and of the volume columns.
    fn number_columns(&self) -> (Vec<usize>, Vec<usize>) {
        let mut all: Vec<&CandleColumns> = self.wide.iter().map(|(_, columns)| columns).collect();
        if all.is_empty() {
            all.push(&self.columns);
        }
        let prices = all.iter().flat_map(|columns| [columns.open, columns.high, columns.low, columns.close]);
        (prices.collect(), all.iter().filter_map(|columns| columns.volume).collect())
    }
}

fn trade_rows(
    columns: TradeColumns,
    vendor: Vendor,
    path: &Path,
    options: &ReadOptions,
) -> Result<TradeRows, Problem> {
    let has_column = columns.symbol.is_some();
    let FileSymbols { symbols, fixed, guessed, .. } =
        FileSymbols::of(has_column, vendor, None, path, options)?;
    let mut times = Times::new(options.time_format.as_ref());
    times.whole_seconds = true;
    Ok(TradeRows { columns, symbols, fixed, guessed, numbers: Numbers::new(options.scale), times })
}
