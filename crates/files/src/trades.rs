//! Reads single trades from text or Parquet tables, in batches.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use market::{Market, Price, Symbol, Timestamp, Trade, TradeDirection, TradeType, Venues};

use crate::cells::lossy;
use crate::clock::{Clock, Reading, Unit};
use crate::columns::with_cell;
use crate::columns::{Batch, Column};
use crate::header::TradeColumns;
use crate::input::{Input, Position, SAMPLE_ROWS, TableRows, TextLine};
use crate::number::{Number, Numbers, millionths_of_double};
use crate::row::{RawChunk, RowBatch, RowFault, named};
use crate::sample::read_trade_sample;
use crate::spelling::SymbolTable;
use crate::time::RawTime;
use crate::time_words::Times;
use crate::{FileError, Problem, ReadOptions, Rejected};

/// One row of a trade table. The caller must check that the row is a valid trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeRow {
    /// Index into [`TradeReader::symbols`].
    pub symbol: u32,
    /// Line of a text file or row of a Parquet file, starting at 1.
    pub line: u64,
    pub trade: Trade,
}

pub type TradeBatch = RowBatch<TradeRow>;

/// A row whose time is not resolved yet, because the time format depends on the whole file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawTrade {
    time: RawTime,
    row: TradeRow,
}

/// Converts rows of text and Parquet tables to trades.
#[derive(Debug)]
pub(crate) struct TradeRows {
    pub columns: TradeColumns,
    pub symbols: SymbolTable,
    /// Index of the symbol of every row, for a table without a symbol column.
    pub fixed: u32,
    /// Notes for the user about how the table was found and interpreted.
    pub notes: Vec<String>,
    pub numbers: Numbers,
    pub times: Times,
}

/// Reads a file's trades in batches.
#[derive(Debug)]
pub struct TradeReader {
    path: PathBuf,
    input: Input,
    rows: TradeRows,
    clock: Clock,
    reading: Reading,
    pending: VecDeque<RawChunk<RawTrade>>,
    bytes: u64,
}

impl TradeReader {
    pub(crate) fn start(
        path: &Path,
        mut input: Input,
        mut rows: TradeRows,
        venues: &Venues,
        options: &ReadOptions,
        bytes: u64,
    ) -> Result<TradeReader, Problem> {
        let pending = input.sample(&mut rows, |_, sampled| sampled >= SAMPLE_ROWS)?;
        let sampled = pending.iter().flat_map(|chunk| &chunk.rows);
        let sample: Vec<(u64, RawTime)> = sampled.map(|row| (row.row.line, row.time)).collect();
        let reading = read_trade_sample(&sample, options)?;
        let clock = Clock::new(venues);
        Ok(TradeReader { path: path.to_path_buf(), input, rows, clock, reading, pending, bytes })
    }

    /// Returns the symbols found so far, in order of appearance. [`TradeRow::symbol`] is an index
    /// into this slice.
    pub fn symbols(&self) -> &[Symbol] {
        self.rows.symbols.symbols()
    }

    /// Returns notes for the user about this file. The list is complete after the last batch.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.rows.notes.clone();
        notes.extend(self.rows.symbols.note());
        if self.rows.columns.direction.is_none() {
            notes.push("there is no direction column; sides are inferred by the tick rule".to_owned());
        }
        if self.rows.columns.kind.is_none() {
            notes.push("there is no type column; all trades are treated as ordinary".to_owned());
        }
        if self.rows.numbers.rounded > 0 {
            notes.push(format!("prices rounded to 6 decimals: {}", self.rows.numbers.rounded));
        }
        notes
    }

    pub fn position(&self) -> Position {
        self.input.position(self.bytes)
    }

    /// Returns the next batch, or `None` at the end of the file.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator of results would hide that an error is final"
    )]
    pub fn next(&mut self) -> Result<Option<TradeBatch>, FileError> {
        let chunk = match self.pending.pop_front() {
            Some(chunk) => chunk,
            None => match self.input.read(&mut self.rows).map_err(|problem| problem.at(&self.path))? {
                Some(chunk) => chunk,
                None => return Ok(None),
            },
        };
        Ok(Some(self.finish(chunk)))
    }

    /// Returns the number of rejected rows stored with the sample.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.pending.iter().map(|chunk| chunk.rejected.len()).sum()
    }

    fn finish(&mut self, chunk: RawChunk<RawTrade>) -> TradeBatch {
        let RawChunk { rejected, omitted, .. } = chunk;
        let mut batch = TradeBatch { rows: Vec::with_capacity(chunk.rows.len()), rejected, omitted };
        let already = batch.rejected.len();
        for RawTrade { time, mut row } in chunk.rows {
            let market = self.rows.symbols.market(row.symbol);
            let whole = whole_seconds(time, self.reading.unit);
            match self.clock.resolve(&self.reading, whole, market) {
                Ok(at) => {
                    row.trade.time = at;
                    batch.rows.push(row);
                }
                Err(fault) => batch.rejected.push(Rejected {
                    line: row.line,
                    symbol: self.symbols().get(row.symbol as usize).map(Symbol::to_string),
                    text: time.to_string(),
                    reason: fault.to_string(),
                }),
            }
        }
        if batch.rejected.len() > already {
            batch.rejected.sort_by_key(|rejected| rejected.line);
        }
        batch
    }
}

/// Truncates a numeric time to whole seconds.
fn whole_seconds(time: RawTime, unit: Unit) -> RawTime {
    match (time, unit) {
        (RawTime::Number(number), Unit::PerSecond(per)) => RawTime::Number(number - number.rem_euclid(per)),
        (RawTime::Number(number), Unit::Thousandths) => RawTime::Number(number - number.rem_euclid(1000)),
        (time, _) => time,
    }
}

impl TableRows for TradeRows {
    type Row = RawTrade;

    fn symbol_column(&self) -> Option<usize> {
        self.columns.symbol
    }

    fn of_cells(&mut self, line: &TextLine<'_>) -> Result<RawTrade, RowFault> {
        line.check_width()?;
        let cell = |column: usize| line.cell(column);
        let symbol = match self.columns.symbol {
            Some(column) => self.symbols.look_up(cell(column))?,
            None => self.fixed,
        };
        let time = line.time(self.columns.time, &mut self.times)?;
        let price = self.numbers.price(Number::Text(cell(self.columns.price))).map_err(named("price"))?;
        let volume = self.numbers.volume(Number::Text(cell(self.columns.volume))).map_err(named("volume"))?;
        let direction =
            self.columns.direction.map_or(Ok(TradeDirection::Untold), |at| direction(cell(at)))?;
        let market = self.symbols.market(symbol);
        let kind = self.columns.kind.map_or(Ok(TradeType::BLANK), |at| kind(cell(at), market))?;
        let trade = Trade { time: Timestamp(0), price: Price(price), volume, direction, kind };
        Ok(RawTrade { time, row: TradeRow { symbol, line: line.number, trade } })
    }

    fn of_batch(&mut self, batch: &Batch<'_>, first: u64) -> Result<RawChunk<RawTrade>, Problem> {
        let columns = self.columns.clone();
        let scale = self.numbers.scale;
        let double = |cell| scale.price.is_none().then(|| millionths_of_double(cell)).flatten();
        let price = batch.array(columns.price)?;
        let price = Column::read(price, double, |_| None, |number| self.numbers.price(number))?;
        let integer = |cell| scale.volume.is_none().then_some(cell);
        let volume = batch.array(columns.volume)?;
        let volume = Column::read(volume, |_| None, integer, |number| self.numbers.volume(number))?;
        let times = batch.times(columns.time, &mut self.times)?;
        let array = |column: Option<usize>| column.map(|column| batch.array(column)).transpose();
        let (symbols, directions) = (array(columns.symbol)?, array(columns.direction)?);
        let kinds = array(columns.kind)?;
        let mut chunk = RawChunk::with_capacity(batch.batch.num_rows());
        chunk.consumed = batch.batch.num_rows() as u64;
        for (at, time) in times.into_iter().enumerate() {
            let mut read = || -> Result<RawTrade, RowFault> {
                let symbol = match symbols {
                    Some(array) => with_cell(array, at, |cell| self.symbols.look_up(cell))?,
                    None => self.fixed,
                };
                let market = self.symbols.market(symbol);
                let direction = match directions {
                    Some(array) => with_cell(array, at, direction)?,
                    None => TradeDirection::Untold,
                };
                let kind = match kinds {
                    Some(array) => with_cell(array, at, |cell| kind(cell, market))?,
                    None => TradeType::BLANK,
                };
                let price = Price(price.get(at).map_err(named("price"))?);
                let volume = volume.get(at).map_err(named("volume"))?;
                let trade = Trade { time: Timestamp(0), price, volume, direction, kind };
                Ok(RawTrade { time: time?, row: TradeRow { symbol, line: first + at as u64, trade } })
            };
            chunk.push(read(), |reason| batch.rejected(at, first, symbols, reason))?;
        }
        Ok(chunk)
    }
}

fn direction(cell: &[u8]) -> Result<TradeDirection, RowFault> {
    TradeDirection::parse(cell).ok_or_else(|| {
        RowFault::Row(format!("direction {:?} is not one of 0 neutral, 1 down, 2 up", short(cell)))
    })
}

fn kind(cell: &[u8], market: Market) -> Result<TradeType, RowFault> {
    TradeType::parse(cell, market)
        .ok_or_else(|| RowFault::Row(format!("type {:?} is not a trade type of {market}", short(cell))))
}

fn short(cell: &[u8]) -> String {
    lossy(cell).chars().take(20).collect()
}
