//! Opens a table: determines its kind, its columns, and the symbols known before its first row.

use std::fs::File;
use std::path::Path;

use market::{Market, Venues};

use crate::columns::ColumnTable;
use crate::file_name;
use crate::file_symbols::{FileSymbols, NamedBy};
use crate::header::{CandleColumns, Kind, TradeColumns, Vendor, recognise, time_columns, vendor_of};
use crate::input::Input;
use crate::lots::{self, Evidence};
use crate::number::Numbers;
use crate::reader::{CandleReader, Opening, Table};
use crate::session::Sessions;
use crate::source::{Lines, Source, open_source};
use crate::spelling::{SymbolFault, SymbolTable};
use crate::text::Rows;
use crate::text_header::{NamesFrom, TextHeader};
use crate::time_words::Times;
use crate::trades::{TradeReader, TradeRows};
use crate::understood::{Basis, SymbolSource};
use crate::wide::{self, WideColumn};
use crate::{FileError, Problem, ReadOptions, Scale, marks, records, text_header};

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
                    let named = NamedBy { header: fixed.as_deref(), title: None };
                    let mut rows = Rows::new(columns, vendor, &named, path, options)?;
                    if lots::may_be_in(vendor) {
                        let mut first_rows = ColumnTable::open(File::open(path)?)?;
                        rows.convert_lots(lots::of_parquet(&mut first_rows, &rows.columns)?, options);
                    }
                    let input = Input::Columns(Box::new(table.candles(&rows.columns)?));
                    CandleReader::start(opening, input, rows).map(Table::Candles)
                }
            }
        }
    }
}

fn open_text(opening: Opening<'_>, lines: Lines, header: TextHeader) -> Result<Table, Problem> {
    let Opening { path, venues, options, bytes } = opening;
    let TextHeader { names, delimiter, line, symbol, wide, origin, title } = header;
    let width = names.len();
    let mut notes = lines.notes.clone();
    notes.extend(title.as_ref().map(|title| {
        let title: String = title.chars().take(80).collect();
        format!("the text above the header was skipped: {title:?}")
    }));
    if !wide.is_empty() {
        let mut rows = Rows::side_by_side(&wide, &names, line, Vendor::Yahoo, options)?;
        rows.notes.splice(0..0, notes);
        return candles(opening, lines, (delimiter, width), rows);
    }
    let kind = match recognise(&names, options) {
        Ok(kind) => kind,
        Err(problem) => {
            let Some(wide) = wide::of_names(&names) else { return Err(problem) };
            let mut rows = Rows::side_by_side(&wide, &names, line, vendor_of(&names, options), options)?;
            rows.notes.splice(0..0, notes);
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
            rows.notes.splice(0..0, notes);
            let (price, volume) = ([rows.columns.price], [rows.columns.volume]);
            rows.numbers.mark = marks::of_table(&table.lines, delimiter, &price, &volume, options)?;
            let input = Input::text(table.lines, delimiter, width);
            TradeReader::start(path, input, rows, venues, options, bytes).map(Table::Trades)
        }
        Kind::Candles { vendor, columns } => {
            let vendor = match vendor {
                _ if symbol.is_some() => Vendor::Yahoo,
                // The column names of both are the same.
                Vendor::Eastmoney if title.is_some() => Vendor::Tongdaxin,
                vendor => vendor,
            };
            let named = NamedBy { header: symbol.as_deref(), title: title.as_deref() };
            let mut rows = Rows::new(columns, vendor, &named, path, options)?;
            rows.are_columns_guessed = origin == NamesFrom::Guess;
            rows.notes.splice(0..0, notes);
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
    if rows.wide.is_empty() && lots::may_be_in(rows.vendor) {
        let evidence = lots::of_lines(&lines, delimiter, &rows.columns, rows.numbers.mark);
        rows.convert_lots(evidence, opening.options);
    }
    let input = Input::text(lines, delimiter, width);
    CandleReader::start(opening, input, rows).map(Table::Candles)
}

impl Rows {
    fn new(
        columns: CandleColumns,
        vendor: Vendor,
        named: &NamedBy<'_>,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Rows, Problem> {
        let symbols = FileSymbols::of(columns.symbol.is_some(), vendor, named, path, options)?;
        let mut rows = Rows::of(columns, vendor, symbols, Vec::new(), options);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let said = |word: &str| name.contains(word) || named.title.is_some_and(|title| title.contains(word));
        rows.named_period = file_name::period_of(path).or(named.title.and_then(file_name::period_of_title));
        if said("前复权") || said("qfq") {
            rows.basis = Basis::ForwardAdjusted;
        }
        if said("后复权") || said("hfq") {
            rows.notes
                .push("prices are adjusted backwards (后复权); import prices as traded instead".to_owned());
        }
        Ok(rows)
    }

    /// Sets the factors that convert lots to shares, unless the user has set factors.
    fn convert_lots(&mut self, mut evidence: Evidence, options: &ReadOptions) {
        let is_set = options.scale.volume.is_some() || options.scale.turnover.is_some();
        if is_set || self.columns.volume.is_none() {
            return;
        }
        let has_turnover = self.columns.turnover.is_some();
        let mainland = self.symbols.symbols().iter().all(|symbol| symbol.market() == Market::Cn);
        evidence.is_elsewhere |= !mainland;
        let unit = evidence.unit(self.vendor, self.columns.is_dated, has_turnover);
        let Scale { volume, turnover, .. } = unit.scale(has_turnover);
        (self.numbers.scale.volume, self.numbers.scale.turnover) = (volume, turnover);
        self.notes.extend(unit.note(has_turnover).map(str::to_owned));
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
                SymbolFault::Bad(reason) => Problem::Tickers { line, reason },
            })?;
            columns.push((number, of_ticker));
        }
        let first = columns.first().map(|(_, columns)| columns.clone()).ok_or_else(lacks)?;
        let notes = Vec::new();
        let symbols = FileSymbols { symbols, fixed: 0, source: SymbolSource::Header, notes };
        Ok(Rows::of(first, vendor, symbols, columns, options))
    }

    fn of(
        columns: CandleColumns,
        vendor: Vendor,
        symbols: FileSymbols,
        wide: Vec<(u32, CandleColumns)>,
        options: &ReadOptions,
    ) -> Rows {
        let FileSymbols { symbols, fixed, source, notes } = symbols;
        Rows {
            vendor,
            columns,
            are_columns_guessed: false,
            symbols,
            fixed,
            symbol_source: source,
            basis: Basis::of(vendor),
            named_period: None,
            notes,
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
    let named = NamedBy { header: None, title: None };
    let FileSymbols { symbols, fixed, notes, .. } =
        FileSymbols::of(has_column, vendor, &named, path, options)?;
    let mut times = Times::new(options.time_format.as_ref());
    times.whole_seconds = true;
    Ok(TradeRows { columns, symbols, fixed, notes, numbers: Numbers::new(options.scale), times })
}
