//! Candles from a text table.

use market::{Grain, Symbol};

use crate::cells::{Cells, OpenQuote, lossy};
use crate::header::{CandleColumns, TimeColumns, Vendor};
use crate::number::{Fault, Number, Numbers, divide};
use crate::row::{RawChunk, RawRow};
use crate::session::Sessions;
use crate::source::Lines;
use crate::spelling::{SymbolFault, SymbolTable};
use crate::time::{RawTime, TimeFault};
use crate::time_words::Times;
use crate::understood::SymbolSource;
use crate::{Problem, Rejected};

/// Converts rows to numbers, for text tables and columnar ones.
#[derive(Debug)]
pub(crate) struct Rows {
    pub vendor: Vendor,
    pub columns: CandleColumns,
    /// The table has no header, and the columns were guessed.
    pub are_columns_guessed: bool,
    pub symbols: SymbolTable,
    /// The symbol of every row of a table without a symbol column.
    pub fixed: u32,
    /// That symbol, if it is a guess.
    pub guessed: Option<Symbol>,
    pub symbol_source: SymbolSource,
    /// The symbols of a table that has several side by side, with the columns of each; none in any other table.
    pub wide: Vec<(u32, CandleColumns)>,
    pub numbers: Numbers,
    pub times: Times,
    pub sessions: Sessions,
    pub estimate_turnover: bool,
    /// The period set by the user.
    pub period: Option<Grain>,
}

/// Why one row is left out; an error of the whole file is a [`Problem`].
pub(crate) enum RowFault {
    Row(String),
    File(Problem),
}

impl From<SymbolFault> for RowFault {
    fn from(fault: SymbolFault) -> RowFault {
        match fault {
            SymbolFault::Bad(reason) => RowFault::Row(reason),
            SymbolFault::TooMany => RowFault::File(Problem::Symbols),
        }
    }
}

impl From<TimeFault> for RowFault {
    fn from(fault: TimeFault) -> RowFault {
        RowFault::Row(fault.to_string())
    }
}

pub(crate) fn named(field: &'static str) -> impl Fn(Fault) -> RowFault {
    move |fault| RowFault::Row(format!("{field} {fault}"))
}

/// The turnover of a row without one: the average price, or the middle of the candle, times the volume.
pub(crate) fn estimate(vwap: Option<i64>, high: i64, low: i64, close: i64, volume: i64) -> i128 {
    match vwap {
        Some(vwap) => i128::from(vwap) * i128::from(volume),
        None => divide((i128::from(high) + i128::from(low) + i128::from(close)) * i128::from(volume), 3),
    }
}

/// A text table positioned after its header.
#[derive(Debug)]
pub(crate) struct TextRows {
    lines: Lines,
    delimiter: u8,
    width: usize,
    cells: Cells,
}

impl TextRows {
    pub(crate) fn new(lines: Lines, delimiter: u8, width: usize) -> TextRows {
        TextRows { lines, delimiter, width, cells: Cells::default() }
    }

    pub(crate) fn consumed(&self) -> u64 {
        self.lines.consumed()
    }

    pub(crate) fn read(&mut self, rows: &mut Rows, limit: usize) -> Result<Option<RawChunk>, Problem> {
        let mut chunk = RawChunk { rows: Vec::with_capacity(limit), ..RawChunk::default() };
        while chunk.consumed < limit as u64 {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { break };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let split = self.cells.split(line, self.delimiter);
            if split.is_ok() && !rows.wide.is_empty() {
                rows.of_wide_line(&self.cells, line, self.width, number, &mut chunk)?;
                continue;
            }
            chunk.consumed += 1;
            let row = match split {
                Ok(()) => rows.of_cells(&self.cells, line, self.width, number),
                Err(OpenQuote) => Err(RowFault::Row("a quote is not closed on its line".to_owned())),
            };
            match row {
                Ok(row) => chunk.rows.push(row),
                Err(RowFault::Row(reason)) => {
                    let symbol = rows.columns.symbol.map(|at| lossy(self.cells.get(line, at)));
                    chunk.rejected.push(Rejected { line: number, symbol, text: lossy(line), reason });
                }
                Err(RowFault::File(problem)) => return Err(problem),
            }
        }
        Ok((chunk.consumed > 0).then_some(chunk))
    }
}

impl Rows {
    fn of_cells(
        &mut self,
        cells: &Cells,
        line: &[u8],
        width: usize,
        number: u64,
    ) -> Result<RawRow, RowFault> {
        check_width(cells, line, width)?;
        let columns = self.columns.clone();
        let cell = |column: usize| cells.get(line, column);
        if let Some(column) = columns.per {
            check_per(cell(column), self.period)?;
        }
        let symbol = match columns.symbol {
            Some(column) => self.symbols.look_up(cell(column))?,
            None => self.fixed,
        };
        let time = self.time(&columns, cells, line)?;
        self.of_columns(&columns, symbol, time, (cells, line, number))
    }

    /// The rows of one line of a table with several symbols side by side. A symbol whose prices are all blank has none.
    fn of_wide_line(
        &mut self,
        cells: &Cells,
        line: &[u8],
        width: usize,
        number: u64,
        chunk: &mut RawChunk,
    ) -> Result<(), Problem> {
        let wide = std::mem::take(&mut self.wide);
        for (symbol, columns) in &wide {
            let prices = [columns.open, columns.high, columns.low, columns.close];
            if cells.len() >= width && prices.iter().all(|column| cells.get(line, *column).is_empty()) {
                continue;
            }
            chunk.consumed += 1;
            let row = check_width(cells, line, width)
                .and_then(|()| self.time(columns, cells, line))
                .and_then(|time| self.of_columns(columns, *symbol, time, (cells, line, number)));
            match row {
                Ok(row) => chunk.rows.push(row),
                Err(RowFault::Row(reason)) => {
                    let symbol = self.symbols.symbols().get(*symbol as usize).map(Symbol::to_string);
                    chunk.rejected.push(Rejected { line: number, symbol, text: lossy(line), reason });
                }
                Err(RowFault::File(problem)) => return Err(problem),
            }
        }
        self.wide = wide;
        Ok(())
    }

    fn time(&mut self, columns: &CandleColumns, cells: &Cells, line: &[u8]) -> Result<RawTime, RowFault> {
        let cell = |column: usize| cells.get(line, column);
        Ok(match columns.time {
            TimeColumns::One(column) => self.times.one(cell(column))?,
            TimeColumns::DateAndClock(date, clock) => self.times.two(cell(date), cell(clock))?,
        })
    }

    fn of_columns(
        &mut self,
        columns: &CandleColumns,
        symbol: u32,
        time: RawTime,
        (cells, line, number): (&Cells, &[u8], u64),
    ) -> Result<RawRow, RowFault> {
        let cell = |column: usize| cells.get(line, column);
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
                // An unreadable vwap does not reject the row: the estimate has a fallback.
                let vwap = columns.vwap.and_then(|at| self.numbers.price(Number::Text(cell(at))).ok());
                estimate(vwap, high, low, close, volume)
            }
            None => 0,
        };
        let session = match columns.session {
            Some(column) => self.sessions.read(number, cell(column)),
            None => None,
        };
        Ok(RawRow { line: number, symbol, time, open, high, low, close, volume, turnover, session })
    }
}

fn check_width(cells: &Cells, line: &[u8], width: usize) -> Result<(), RowFault> {
    if cells.len() != width {
        let surplus = (width..cells.len()).all(|column| cells.get(line, column).is_empty());
        if cells.len() < width || !surplus {
            return Err(RowFault::Row(format!("{} cells where the header has {width}", cells.len())));
        }
    }
    Ok(())
}

/// Stooq has the period in every row. Its times of day are those of Warsaw, which the file does not
/// say, and which would look like times of the market: so the user has to set the period
/// explicitly.
fn check_per(cell: &[u8], told: Option<Grain>) -> Result<(), RowFault> {
    let grain = match cell {
        b"D" | b"d" => return Ok(()),
        b"1" => Grain::Minute,
        b"5" => Grain::Own5,
        b"15" => Grain::Own15,
        b"30" => Grain::Own30,
        b"60" => Grain::Own60,
        other => return Err(RowFault::File(Problem::NamedPeriod(lossy(other)))),
    };
    if told == Some(grain) { Ok(()) } else { Err(RowFault::File(Problem::TimesOfWarsaw(grain))) }
}
