//! Reads Parquet files in batches of rows, and only the columns that are needed.

use std::cell::Cell;
use std::fs::File;
use std::panic;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use crate::cells::lossy;
use crate::header::{CandleColumns, TimeColumns, TradeColumns, normal};
use crate::number::{Fault, Number};
use crate::records::{RowSink, TextCells};
use crate::time::{DAY, DayCount, RawTime, TimeFault};
use crate::time_words::Times;
use crate::{BATCH_ROWS, COLUMNS_MAX, Problem, Rejected};

/// A Parquet file whose schema has been read.
pub(crate) struct ColumnTable {
    file: File,
    metadata: ArrowReaderMetadata,
    names: Vec<String>,
    symbol: Option<String>,
}

impl ColumnTable {
    pub(crate) fn open(file: File) -> Result<ColumnTable, Problem> {
        // Without the embedded Arrow schema, text columns are always read as `Utf8` and never as
        // dictionaries or views.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(|| ArrowReaderMetadata::load(&file, options).map_err(unreadable))?;
        let columns = metadata.schema().fields().len();
        if columns > COLUMNS_MAX {
            return Err(Problem::Columns(columns));
        }
        let mut names: Vec<String> = metadata.schema().fields().iter().map(|f| f.name().clone()).collect();
        let symbol = two_levels(&mut names)?;
        Ok(ColumnTable { file, metadata, names, symbol })
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the ticker of a table with two header levels, or `None` for other tables.
    pub(crate) fn symbol(&self) -> Option<&str> {
        self.symbol.as_deref()
    }

    pub(crate) fn trades(self, columns: &TradeColumns) -> Result<ColumnRows, Problem> {
        let mut wanted = vec![columns.price, columns.volume];
        wanted.extend([columns.symbol, columns.direction, columns.kind].iter().flatten());
        self.rows(wanted, columns.time)
    }

    pub(crate) fn candles(self, columns: &CandleColumns) -> Result<ColumnRows, Problem> {
        let mut wanted = vec![columns.open, columns.high, columns.low, columns.close];
        wanted.extend(
            [columns.symbol, columns.volume, columns.turnover, columns.vwap, columns.session]
                .iter()
                .flatten(),
        );
        self.rows(wanted, columns.time)
    }

    fn rows(self, mut wanted: Vec<usize>, time: TimeColumns) -> Result<ColumnRows, Problem> {
        match time {
            TimeColumns::One(time) => wanted.push(time),
            TimeColumns::DateAndClock(date, clock) => wanted.extend([date, clock]),
        }
        wanted.sort_unstable();
        wanted.dedup();
        let total = u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or_default();
        let reader = self.reader(&wanted)?;
        Ok(ColumnRows { wanted, reader, row: 0, total })
    }

    fn reader(&self, wanted: &[usize]) -> Result<ParquetRecordBatchReader, Problem> {
        let file = self.file.try_clone()?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
        let builder = builder.with_projection(mask).with_batch_size(BATCH_ROWS);
        guarded(|| builder.build().map_err(unreadable))
    }
}

impl TextCells for ColumnTable {
    fn each(&mut self, row: &mut RowSink<'_>) -> Result<(), Problem> {
        let all: Vec<usize> = (0..self.names.len()).collect();
        let mut number = 0;
        let mut reader = self.reader(&all)?;
        while let Some(batch) = read_batch(&mut reader)? {
            for at in 0..batch.num_rows() {
                number += 1;
                let cells: Vec<Vec<u8>> =
                    batch.columns().iter().map(|c| text_of(c, at).into_bytes()).collect();
                row(number, Ok(cells), row_text(&batch, at))?;
            }
        }
        Ok(())
    }
}

/// Replaces column names of yfinance's two header levels, which pandas joins as `('Close',
/// 'AAPL')`, by the first level. Returns the ticker, `None` if no name has two levels, or an error
/// if there are several tickers.
fn two_levels(names: &mut [String]) -> Result<Option<String>, Problem> {
    let mut symbol: Option<String> = None;
    for name in names {
        let pair = name
            .strip_prefix("('")
            .and_then(|rest| rest.strip_suffix("')"))
            .and_then(|r| r.split_once("', '"));
        let Some((field, ticker)) = pair.map(|(a, b)| (a.to_owned(), b.to_owned())) else { continue };
        if !ticker.is_empty() && symbol.as_ref().is_some_and(|known| *known != ticker) {
            return Err(Problem::NotATable(
                "several tickers side by side: save one file a ticker".to_owned(),
            ));
        }
        if !ticker.is_empty() && normal(&field) != "date" {
            symbol = Some(ticker);
        }
        *name = field;
    }
    Ok(symbol)
}

/// Reader of the candles or trades in a Parquet file.
pub(crate) struct ColumnRows {
    wanted: Vec<usize>,
    reader: ParquetRecordBatchReader,
    row: u64,
    total: u64,
}

impl std::fmt::Debug for ColumnRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ColumnRows")
            .field("row", &self.row)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

impl ColumnRows {
    /// Estimates how many of the file's `bytes` have been read. Based on rows, because the columns
    /// of a row are stored far apart.
    pub(crate) fn consumed(&self, bytes: u64) -> u64 {
        let share = u128::from(bytes) * u128::from(self.row) / u128::from(self.total.max(1));
        u64::try_from(share).unwrap_or(bytes)
    }

    /// Passes the next batch and the number of its first row to `read`. Returns `None` at the end
    /// of the file.
    pub(crate) fn next_batch<T>(
        &mut self,
        read: impl FnOnce(&Batch<'_>, u64) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        let Some(batch) = read_batch(&mut self.reader)? else { return Ok(None) };
        let first = self.row + 1;
        self.row += batch.num_rows() as u64;
        read(&Batch { batch: &batch, wanted: &self.wanted }, first).map(Some)
    }
}

fn read_batch(reader: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>, Problem> {
    guarded(|| reader.next().transpose().map_err(unreadable))
}

/// A column of parsed cells. Faults are stored separately, because they are rare and a `Result` per
/// cell would double the memory.
pub(crate) struct Column<T> {
    cells: Vec<T>,
    faults: Vec<(usize, Fault)>,
}

impl<T: Copy + Default> Column<T> {
    /// Parses an array of any supported type with `number`. `double` and `integer` are fast paths
    /// for the most common types: converting each cell to a [`Number`] first costs more than
    /// parsing it.
    pub(crate) fn read(
        array: &dyn Array,
        double: impl Fn(f64) -> Option<T>,
        integer: impl Fn(i64) -> Option<T>,
        mut number: impl FnMut(Number<'_>) -> Result<T, Fault>,
    ) -> Result<Column<T>, Problem> {
        let mut column = Column { cells: Vec::with_capacity(array.len()), faults: Vec::new() };
        let whole = array.null_count() == 0;
        if let Some(cells) = array.as_primitive_opt::<Float64Type>().filter(|_| whole) {
            for &cell in cells.values() {
                match double(cell) {
                    Some(cell) => column.cells.push(cell),
                    None => column.push(number(Number::Double(cell))),
                }
            }
        } else if let Some(cells) = array.as_primitive_opt::<Int64Type>().filter(|_| whole) {
            for &cell in cells.values() {
                match integer(cell) {
                    Some(cell) => column.cells.push(cell),
                    None => column.push(number(Number::Int(cell))),
                }
            }
        } else {
            each_number(array, |cell| column.push(cell.and_then(&mut number)))?;
        }
        Ok(column)
    }

    #[inline(never)]
    fn push(&mut self, cell: Result<T, Fault>) {
        let cell = cell.unwrap_or_else(|fault| {
            self.faults.push((self.cells.len(), fault));
            T::default()
        });
        self.cells.push(cell);
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Result<T, Fault> {
        if !self.faults.is_empty()
            && let Ok(place) = self.faults.binary_search_by_key(&at, |(row, _)| *row)
        {
            return Err(self.faults.get(place).map_or(Fault::Empty, |(_, fault)| *fault));
        }
        self.cells.get(at).copied().ok_or(Fault::Empty)
    }
}

pub(crate) struct Batch<'a> {
    pub(crate) batch: &'a RecordBatch,
    wanted: &'a [usize],
}

impl Batch<'_> {
    /// Returns the array of a column, by the column's index in the file.
    pub(crate) fn array(&self, column: usize) -> Result<&dyn Array, Problem> {
        let place = self.wanted.binary_search(&column).ok();
        let array = place.and_then(|place| self.batch.columns().get(place));
        array.map(|array| array.as_ref()).ok_or_else(|| Problem::Parquet("a column is missing".to_owned()))
    }

    /// Builds the report entry of a row that could not be parsed.
    pub(crate) fn rejected(
        &self,
        at: usize,
        first: u64,
        symbols: Option<&dyn Array>,
        reason: String,
    ) -> Rejected {
        let symbol = symbols.map(|array| lossy(text_of(array, at).as_bytes()));
        Rejected { line: first + at as u64, symbol, text: row_text(self.batch, at), reason }
    }

    pub(crate) fn times(
        &self,
        columns: TimeColumns,
        reader: &mut Times,
    ) -> Result<Vec<Result<RawTime, TimeFault>>, Problem> {
        match columns {
            TimeColumns::One(column) => times(self.array(column)?, reader),
            TimeColumns::DateAndClock(date, clock) => {
                let (date, clock) = (self.array(date)?, self.array(clock)?);
                let both = |at| reader.two(text_of(date, at).as_bytes(), text_of(clock, at).as_bytes());
                Ok((0..self.batch.num_rows()).map(both).collect())
            }
        }
    }
}

/// Calls `each` for every cell of a numeric column.
fn each_number(array: &dyn Array, mut each: impl FnMut(Result<Number<'_>, Fault>)) -> Result<(), Problem> {
    macro_rules! cells {
        ($type:ty, $number:expr) => {
            each_cell::<$type>(array, |cell| each(cell.ok_or(Fault::Empty).and_then($number)))
        };
    }
    match array.data_type() {
        DataType::Float64 => cells!(Float64Type, |v| Ok(Number::Double(v))),
        DataType::Float32 => cells!(Float32Type, |v| Ok(Number::Single(v))),
        DataType::Int64 => cells!(Int64Type, |v| Ok(Number::Int(v))),
        DataType::Int32 => cells!(Int32Type, |v| Ok(Number::Int(v.into()))),
        DataType::Int16 => cells!(Int16Type, |v| Ok(Number::Int(v.into()))),
        DataType::Int8 => cells!(Int8Type, |v| Ok(Number::Int(v.into()))),
        DataType::UInt64 => {
            cells!(UInt64Type, |v| i64::try_from(v).map(Number::Int).map_err(|_| Fault::TooLarge));
        }
        DataType::UInt32 => cells!(UInt32Type, |v| Ok(Number::Int(v.into()))),
        DataType::UInt16 => cells!(UInt16Type, |v| Ok(Number::Int(v.into()))),
        DataType::UInt8 => cells!(UInt8Type, |v| Ok(Number::Int(v.into()))),
        DataType::Decimal128(_, scale) => cells!(Decimal128Type, |v| Ok(Number::Decimal(v, *scale))),
        DataType::Utf8 => {
            for cell in array.as_string::<i32>() {
                each(cell.map(|text| Number::Text(text.trim().as_bytes())).ok_or(Fault::Empty));
            }
        }
        // A column with only nulls.
        DataType::Null => (0..array.len()).for_each(|_| each(Err(Fault::Empty))),
        other => return Err(Problem::Parquet(format!("a number column has the type {other}"))),
    }
    Ok(())
}

/// Calls `each` for every cell. Columns without nulls skip the null check.
fn each_cell<T: ArrowPrimitiveType>(array: &dyn Array, mut each: impl FnMut(Option<T::Native>)) {
    let cells = array.as_primitive::<T>();
    if cells.null_count() == 0 {
        cells.values().iter().for_each(|cell| each(Some(*cell)));
    } else {
        cells.iter().for_each(each);
    }
}

fn times(array: &dyn Array, reader: &mut Times) -> Result<Vec<Result<RawTime, TimeFault>>, Problem> {
    if let Some(text) = array.as_string_opt::<i32>() {
        let cells = text.iter().map(|cell| reader.one(cell.unwrap_or_default().trim().as_bytes()));
        return Ok(cells.collect());
    }
    let whole_seconds = reader.whole_seconds;
    let days: &mut DayCount = &mut reader.days;
    macro_rules! cells {
        ($type:ty, $time:expr) => {{
            let mut times = Vec::with_capacity(array.len());
            each_cell::<$type>(array, |cell| times.push(cell.ok_or(TimeFault::Empty).and_then($time)));
            times
        }};
    }
    Ok(match array.data_type() {
        DataType::Int64 => cells!(Int64Type, |v| Ok(RawTime::Number(v))),
        DataType::Int32 => cells!(Int32Type, |v| Ok(RawTime::Number(v.into()))),
        DataType::UInt64 => {
            cells!(UInt64Type, |v| i64::try_from(v).map(RawTime::Number).map_err(|_| TimeFault::Range))
        }
        DataType::UInt32 => cells!(UInt32Type, |v| Ok(RawTime::Number(v.into()))),
        DataType::Float64 => cells!(Float64Type, |v: f64| whole(if whole_seconds { v.floor() } else { v })),
        DataType::Date32 => cells!(Date32Type, |v| days.date(v.into()).map(RawTime::Date)),
        DataType::Date64 => cells!(Date64Type, |v| days.date(v.div_euclid(DAY * 1000)).map(RawTime::Date)),
        DataType::Timestamp(unit, zone) => {
            // pandas writes local times without a zone, so a missing zone means the market's local
            // time.
            let kind = StampKind { naive: zone.is_none(), whole_seconds };
            match unit {
                TimeUnit::Second => cells!(TimestampSecondType, |v| stamp(v, 1, kind, days)),
                TimeUnit::Millisecond => cells!(TimestampMillisecondType, |v| stamp(v, 1_000, kind, days)),
                TimeUnit::Microsecond => {
                    cells!(TimestampMicrosecondType, |v| stamp(v, 1_000_000, kind, days))
                }
                TimeUnit::Nanosecond => {
                    cells!(TimestampNanosecondType, |v| stamp(v, 1_000_000_000, kind, days))
                }
            }
        }
        other => return Err(Problem::Parquet(format!("the time column has the type {other}"))),
    })
}

#[derive(Clone, Copy)]
struct StampKind {
    naive: bool,
    whole_seconds: bool,
}

fn stamp(value: i64, per: i64, kind: StampKind, days: &mut DayCount) -> Result<RawTime, TimeFault> {
    if value % per != 0 && !kind.whole_seconds {
        return Err(TimeFault::Fraction);
    }
    let seconds = value.div_euclid(per);
    if !kind.naive {
        return Ok(RawTime::Instant(seconds));
    }
    let date = days.date(seconds.div_euclid(DAY))?;
    Ok(RawTime::Wall { date, seconds: i32::try_from(seconds.rem_euclid(DAY)).map_err(|_| TimeFault::Range)? })
}

fn whole(value: f64) -> Result<RawTime, TimeFault> {
    // Doubles represent integers exactly up to 2^53.
    if value.is_nan() || value != value.trunc() || value.abs() > 9e15 {
        return Err(if value.is_nan() { TimeFault::Empty } else { TimeFault::Form });
    }
    Ok(RawTime::Number(value as i64))
}

fn row_text(batch: &RecordBatch, at: usize) -> String {
    let cells: Vec<String> = batch.columns().iter().map(|column| text_of(column, at)).collect();
    lossy(cells.join(",").as_bytes())
}

fn unreadable(error: impl std::fmt::Display) -> Problem {
    Problem::Parquet(error.to_string())
}

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs a call into the Parquet reader and converts a panic to [`Problem::Damaged`]. Callers drop
/// the reader after an error, so its state after a panic does not matter.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    // The panic message and backtrace would not help the user.
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                previous(info);
            }
        }));
    });
    IS_GUARDED.set(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(false);
    read.unwrap_or(Err(Problem::Damaged))
}

/// Returns the text of a cell, formatted as in a text table; empty for nulls and unsupported types.
/// Slow; used only for small tables, split dates and reports.
pub(crate) fn text_of(array: &dyn Array, at: usize) -> String {
    if at >= array.len() || array.is_null(at) {
        return String::new();
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(at).trim().to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(at).trim().to_owned(),
        DataType::Int64 => native::<Int64Type>(array, at),
        DataType::Int32 => native::<Int32Type>(array, at),
        DataType::Int16 => native::<Int16Type>(array, at),
        DataType::Int8 => native::<Int8Type>(array, at),
        DataType::UInt64 => native::<UInt64Type>(array, at),
        DataType::UInt32 => native::<UInt32Type>(array, at),
        DataType::UInt16 => native::<UInt16Type>(array, at),
        DataType::UInt8 => native::<UInt8Type>(array, at),
        DataType::Float64 => native::<Float64Type>(array, at),
        DataType::Float32 => native::<Float32Type>(array, at),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(at),
        DataType::Date32 => array
            .as_primitive::<Date32Type>()
            .value_as_date(at)
            .map_or(String::new(), |date| date.to_string()),
        DataType::Timestamp(unit, zone) => {
            let (value, per) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(at), 1),
                TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(at), 1_000),
                TimeUnit::Microsecond => {
                    (array.as_primitive::<TimestampMicrosecondType>().value(at), 1_000_000)
                }
                TimeUnit::Nanosecond => {
                    (array.as_primitive::<TimestampNanosecondType>().value(at), 1_000_000_000)
                }
            };
            let text = market::Timestamp(value.div_euclid(per)).to_string();
            if zone.is_some() { text } else { text.trim_end_matches('Z').to_owned() }
        }
        _ => String::new(),
    }
}

fn native<T: ArrowPrimitiveType>(array: &dyn Array, at: usize) -> String
where
    T::Native: std::fmt::Display,
{
    array.as_primitive::<T>().value(at).to_string()
}

/// Like [`text_of`], but passes the text to `read` without copying it.
pub(crate) fn with_cell<T>(array: &dyn Array, at: usize, read: impl FnOnce(&[u8]) -> T) -> T {
    match array.as_string_opt::<i32>() {
        Some(text) if text.is_valid(at) => read(text.value(at).as_bytes().trim_ascii()),
        _ => read(text_of(array, at).as_bytes()),
    }
}
