//! Converts the rows of a candle table.

use market::{Grain, Period, Symbol};

use crate::cells::lossy;
use crate::columns::with_cell;
use crate::columns::{Batch, Column};
use crate::header::{CandleColumns, Vendor};
use crate::input::{TableRows, TextLine};
use crate::number::{Fault, Number, Numbers, divide, millionths_of_double, millionths_of_large};
use crate::row::{RawChunk, RawRow, RowFault, named};
use crate::session::Sessions;
use crate::spelling::SymbolTable;
use crate::time::RawTime;
use crate::time_words::Times;
use crate::understood::{Basis, SymbolSource};
use crate::{Problem, Rejected};

/// Converts rows of text and Parquet tables to numbers.
#[derive(Debug)]
pub(crate) struct Rows {
    pub vendor: Vendor,
    pub columns: CandleColumns,
    /// Whether the table has no header and its columns were guessed.
    pub are_columns_guessed: bool,
    pub symbols: SymbolTable,
    /// Index of the symbol of every row, for a table without a symbol column.
    pub fixed: u32,
    pub symbol_source: SymbolSource,
    pub basis: Basis,
    /// The period in the file's name or title, for rows that do not show theirs.
    pub named_period: Option<Period>,
    /// Notes for the user about how the table was found and interpreted.
    pub notes: Vec<String>,
    /// The symbols of a table with several symbols side by side, each with its columns. Empty for
    /// other tables.
    pub wide: Vec<(u32, CandleColumns)>,
    pub numbers: Numbers,
    pub times: Times,
    pub sessions: Sessions,
    pub estimate_turnover: bool,
    /// The period set by the user; `None` if it is inferred.
    pub period: Option<Grain>,
}

/// Estimates the turnover as the volume times the VWAP, or times the typical price (the mean of
/// high, low and close) if there is none.
fn estimate(vwap: Option<i64>, high: i64, low: i64, close: i64, volume: i64) -> i128 {
    match vwap {
        Some(vwap) => i128::from(vwap) * i128::from(volume),
        None => divide((i128::from(high) + i128::from(low) + i128::from(close)) * i128::from(volume), 3),
    }
}

impl TableRows for Rows {
    type Row = RawRow;

    fn symbol_column(&self) -> Option<usize> {
        self.columns.symbol
    }

    fn of_cells(&mut self, line: &TextLine<'_>) -> Result<RawRow, RowFault> {
        line.check_width()?;
        let columns = self.columns.clone();
        if let Some(column) = columns.per {
            check_per(line.cell(column), self.period)?;
        }
        let symbol = match columns.symbol {
            Some(column) => self.symbols.look_up(line.cell(column))?,
            None => self.fixed,
        };
        let time = line.time(columns.time, &mut self.times)?;
        self.of_columns(&columns, symbol, time, line)
    }

    /// Appends the line's rows. In a table with several symbols side by side, a symbol whose prices
    /// are all blank has no row.
    fn of_line(&mut self, line: &TextLine<'_>, chunk: &mut RawChunk<RawRow>) -> Result<(), Problem> {
        if self.wide.is_empty() {
            chunk.consumed += 1;
            let row = self.of_cells(line);
            return chunk.push(row, |reason| line.rejected(self.columns.symbol, reason));
        }
        let wide = std::mem::take(&mut self.wide);
        for (symbol, columns) in &wide {
            let prices = [columns.open, columns.high, columns.low, columns.close];
            if !line.is_short() && prices.iter().all(|column| line.cell(*column).is_empty()) {
                continue;
            }
            chunk.consumed += 1;
            let row = line
                .check_width()
                .and_then(|()| line.time(columns.time, &mut self.times))
                .and_then(|time| self.of_columns(columns, *symbol, time, line));
            chunk.push(row, |reason| {
                let symbol = self.symbols.symbols().get(*symbol as usize).map(Symbol::to_string);
                Rejected { symbol, ..line.rejected(None, reason) }
            })?;
        }
        self.wide = wide;
        Ok(())
    }

    fn of_batch(&mut self, batch: &Batch<'_>, first: u64) -> Result<RawChunk<RawRow>, Problem> {
        let columns = self.columns.clone();
        let Numbers { scale, .. } = self.numbers;
        let numbers = &mut self.numbers;
        let mut price = |column| {
            let double = |cell| scale.price.is_none().then(|| millionths_of_double(cell)).flatten();
            Column::read(batch.array(column)?, double, |_| None, |number| numbers.price(number))
        };
        let (open, high) = (price(columns.open)?, price(columns.high)?);
        let (low, close) = (price(columns.low)?, price(columns.close)?);
        let vwap = columns.vwap.filter(|_| self.estimate_turnover).map(&mut price).transpose()?;
        let volume = columns.volume.map(|column| {
            let integer = |cell| scale.volume.is_none().then_some(cell);
            Column::read(batch.array(column)?, |_| None, integer, |number| self.numbers.volume(number))
        });
        let volume = volume.transpose()?;
        let turnover = columns.turnover.map(|column| {
            let double = |cell| scale.turnover.is_none().then(|| millionths_of_large(cell)).flatten();
            Column::read(batch.array(column)?, double, |_| None, |number| self.numbers.turnover(number))
        });
        let turnover = turnover.transpose()?;
        let times = batch.times(columns.time, &mut self.times)?;
        let symbol = columns.symbol.map(|column| batch.array(column)).transpose()?;
        let session = columns.session.map(|column| batch.array(column)).transpose()?;

        let mut chunk = RawChunk::with_capacity(batch.batch.num_rows());
        chunk.consumed = batch.batch.num_rows() as u64;
        for (at, time) in times.into_iter().enumerate() {
            let mut read = || -> Result<RawRow, RowFault> {
                let symbol = match symbol {
                    Some(array) => with_cell(array, at, |cell| self.symbols.look_up(cell))?,
                    None => self.fixed,
                };
                let (open, high) =
                    (open.get(at).map_err(named("open"))?, high.get(at).map_err(named("high"))?);
                let (low, close) =
                    (low.get(at).map_err(named("low"))?, close.get(at).map_err(named("close"))?);
                let volume =
                    volume.as_ref().map_or(Ok(0), |column| column.get(at)).map_err(named("volume"))?;
                let given = match turnover.as_ref().map(|column| column.get(at)) {
                    None | Some(Err(Fault::Empty)) => None,
                    Some(given) => Some(given.map_err(named("turnover"))?),
                };
                let turnover = match given {
                    Some(given) => given,
                    None if self.estimate_turnover => {
                        let vwap = vwap.as_ref().and_then(|column| column.get(at).ok());
                        estimate(vwap, high, low, close, volume)
                    }
                    None => 0,
                };
                let session = match session {
                    Some(array) => with_cell(array, at, |cell| self.sessions.read(first + at as u64, cell)),
                    None => None,
                };
                Ok(RawRow {
                    line: first + at as u64,
                    symbol,
                    time: time?,
                    open,
                    high,
                    low,
                    close,
                    volume,
                    turnover,
                    session,
                })
            };
            chunk.push(read(), |reason| batch.rejected(at, first, symbol, reason))?;
        }
        Ok(chunk)
    }
}

impl Rows {
    fn of_columns(
        &mut self,
        columns: &CandleColumns,
        symbol: u32,
        time: RawTime,
        line: &TextLine<'_>,
    ) -> Result<RawRow, RowFault> {
        let cell = |column: usize| line.cell(column);
        let numbers = &mut self.numbers;
        let mut price = |column, name| numbers.price(Number::Text(cell(column))).map_err(named(name));
        let (open, high) = (price(columns.open, "open")?, price(columns.high, "high")?);
        let (low, close) = (price(columns.low, "low")?, price(columns.close, "close")?);
        let volume = match columns.volume {
            Some(column) => self.numbers.volume(Number::Text(cell(column))).map_err(named("volume"))?,
            None => 0,
        };
        let turnover = match columns.turnover {
            Some(column) => match self.numbers.turnover(Number::Text(cell(column))) {
                Err(Fault::Empty) => None,
                turnover => Some(turnover.map_err(named("turnover"))?),
            },
            None => None,
        };
        let turnover = match turnover {
            Some(turnover) => turnover,
            None if self.estimate_turnover => {
                // An unreadable VWAP does not reject the row, because turnover can also be
                // estimated from the prices.
                let vwap = columns.vwap.and_then(|at| self.numbers.price(Number::Text(cell(at))).ok());
                estimate(vwap, high, low, close, volume)
            }
            None => 0,
        };
        let session = match columns.session {
            Some(column) => self.sessions.read(line.number, cell(column)),
            None => None,
        };
        Ok(RawRow { line: line.number, symbol, time, open, high, low, close, volume, turnover, session })
    }
}

/// Checks Stooq's period column. Stooq's times of day are in Warsaw time, which the file does not
/// state, and would be mistaken for the market's local time. The user must therefore set the period
/// explicitly.
fn check_per(cell: &[u8], report: Option<Grain>) -> Result<(), RowFault> {
    let grain = match cell {
        b"D" | b"d" => return Ok(()),
        b"1" => Grain::Minute,
        b"5" => Grain::Own5,
        b"15" => Grain::Own15,
        b"30" => Grain::Own30,
        b"60" => Grain::Own60,
        other => return Err(RowFault::File(Problem::NamedPeriod(lossy(other)))),
    };
    if report == Some(grain) { Ok(()) } else { Err(RowFault::File(Problem::TimesOfWarsaw(grain))) }
}
