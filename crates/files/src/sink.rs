//! Writes candles or single trades as CSV, Parquet or Arrow, with the columns that an import reads.
//! Rows are streamed, so memory use does not depend on the size of the export.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Decimal128Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use market::{Candle, Candles, DECIMALS_MAX, Session, Symbol, TradeDirection, Trades, Zone};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::{FileError, Problem};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    Parquet,
    /// The Arrow IPC file format, also called Feather version 2.
    ArrowIpc,
}

/// Rows per Parquet row group: large enough to compress well, small enough to buffer.
const GROUP_ROWS: usize = 128 * 1024;
/// Rows per Arrow batch.
const WRITE_ROWS: usize = 32 * 1024;
/// Precision of a price column in digits: twelve before the point and six after it.
const PRICE_DIGITS: u8 = 18;
/// Precision of a turnover column in digits.
const TURNOVER_DIGITS: u8 = 30;
const SCALE: i8 = DECIMALS_MAX as i8;

impl Format {
    /// Returns the usual file extension.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::ArrowIpc => "arrow",
        }
    }

    /// Returns the format for a file's extension, or `None` if it is unknown.
    pub fn of(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Some(Format::Csv),
            "parquet" | "pq" => Some(Format::Parquet),
            "arrow" | "feather" | "ipc" => Some(Format::ArrowIpc),
            _ => None,
        }
    }
}

/// Writer of the output, by kind of format.
#[derive(Debug)]
enum Output<W: Write + Send> {
    Text(BufWriter<W>),
    Columns(Columns<W>),
}

enum Columns<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<FileWriter<W>>),
}

impl<W: Write + Send> std::fmt::Debug for Columns<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Columns::Parquet(_) => "Parquet",
            Columns::Arrow(_) => "Arrow",
        })
    }
}

impl<W: Write + Send> Output<W> {
    fn create(format: Format, out: W, schema: &SchemaRef) -> Result<Output<W>, FileError> {
        Ok(match format {
            Format::Csv => {
                let mut out = BufWriter::with_capacity(256 * 1024, out);
                let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                writeln!(out, "{}", names.join(",")).map_err(unwritten)?;
                Output::Text(out)
            }
            Format::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(GROUP_ROWS))
                    .build();
                let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties));
                Output::Columns(Columns::Parquet(Box::new(writer.map_err(unencoded)?)))
            }
            Format::ArrowIpc => {
                let writer = FileWriter::try_new(out, schema).map_err(unencoded)?;
                Output::Columns(Columns::Arrow(Box::new(writer)))
            }
        })
    }

    fn finish(self) -> Result<W, FileError> {
        match self {
            Output::Text(out) => out.into_inner().map_err(|error| unwritten(error.into_error())),
            Output::Columns(Columns::Parquet(writer)) => writer.into_inner().map_err(unencoded),
            Output::Columns(Columns::Arrow(writer)) => writer.into_inner().map_err(unencoded),
        }
    }
}

impl<W: Write + Send> Columns<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        match self {
            Columns::Parquet(writer) => writer.write(batch).map_err(unencoded),
            Columns::Arrow(writer) => writer.write(batch).map_err(unencoded),
        }
    }
}

/// Writes candles in one of the formats. The output is complete only after [`CandleSink::finish`].
#[derive(Debug)]
pub struct CandleSink<W: Write + Send> {
    output: Output<W>,
    pending: Pending,
}

/// Rows buffered for the next batch.
#[derive(Debug, Default)]
struct Pending {
    symbols: Vec<Arc<str>>,
    candles: Candles,
}

impl<W: Write + Send> CandleSink<W> {
    pub fn create(format: Format, out: W) -> Result<CandleSink<W>, FileError> {
        let output = Output::create(format, out, &candle_schema())?;
        Ok(CandleSink { output, pending: Pending::default() })
    }

    /// Appends candles of one security. `decimals` is the minimum number of decimals in text;
    /// prices with more decimals are written exactly.
    pub fn write(
        &mut self,
        symbol: &Symbol,
        zone: &Zone,
        decimals: u32,
        candles: &Candles,
    ) -> Result<(), FileError> {
        match &mut self.output {
            Output::Text(out) => {
                let mut line = Vec::with_capacity(160);
                for candle in candles.iter() {
                    line.clear();
                    text_line(&mut line, symbol, zone, decimals, &candle).map_err(unwritten)?;
                    out.write_all(&line).map_err(unwritten)?;
                }
                Ok(())
            }
            Output::Columns(columns) => self.pending.add(symbol, candles, |batch| columns.write(&batch)),
        }
    }

    /// Writes the remaining rows and the footer, and returns the output.
    pub fn finish(mut self) -> Result<W, FileError> {
        if let (Output::Columns(columns), Some(batch)) = (&mut self.output, self.pending.take()?) {
            columns.write(&batch)?;
        }
        self.output.finish()
    }
}

impl Pending {
    fn add(
        &mut self,
        symbol: &Symbol,
        candles: &Candles,
        mut write: impl FnMut(RecordBatch) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let name: Arc<str> = symbol.as_str().into();
        for candle in candles.iter() {
            self.symbols.push(Arc::clone(&name));
            self.candles.push(candle);
            if self.symbols.len() >= WRITE_ROWS
                && let Some(batch) = self.take()?
            {
                write(batch)?;
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Option<RecordBatch>, FileError> {
        if self.symbols.is_empty() {
            return Ok(None);
        }
        let (names, candles) = (std::mem::take(&mut self.symbols), std::mem::take(&mut self.candles));
        let price = |column: Vec<i64>| decimal(column.into_iter().map(i128::from).collect(), PRICE_DIGITS);
        let millis = candles.time.iter().map(|at| at.saturating_mul(1000)).collect::<Vec<i64>>();
        let session = candles.session.iter().map(|session| Session::as_str(*session));
        let batch = RecordBatch::try_new(
            candle_schema(),
            vec![
                Arc::new(StringArray::from_iter_values(names)),
                Arc::new(TimestampMillisecondArray::from(millis).with_timezone("UTC")),
                Arc::new(price(candles.open)?),
                Arc::new(price(candles.high)?),
                Arc::new(price(candles.low)?),
                Arc::new(price(candles.close)?),
                Arc::new(Int64Array::from(candles.volume)),
                Arc::new(decimal(candles.turnover, TURNOVER_DIGITS)?),
                Arc::new(StringArray::from_iter_values(session)),
            ],
        );
        batch.map(Some).map_err(unencoded)
    }
}

/// Writes trades in one of the formats. The output is complete only after [`TradeSink::finish`].
#[derive(Debug)]
pub struct TradeSink<W: Write + Send> {
    output: Output<W>,
}

impl<W: Write + Send> TradeSink<W> {
    pub fn create(format: Format, out: W) -> Result<TradeSink<W>, FileError> {
        Ok(TradeSink { output: Output::create(format, out, &trade_schema())? })
    }

    /// Appends trades of one security.
    pub fn write(&mut self, symbol: &Symbol, zone: &Zone, trades: &Trades) -> Result<(), FileError> {
        match &mut self.output {
            Output::Text(out) => {
                for trade in trades.iter() {
                    let (time, price) = (zone.rfc3339(trade.time), trade.price.text(DECIMALS_MAX));
                    let (direction, kind) = (trade.direction.as_str(), trade.kind);
                    writeln!(out, "{symbol},{time},{price},{},{direction},{kind}", trade.volume)
                        .map_err(unwritten)?;
                }
                Ok(())
            }
            Output::Columns(columns) => {
                trade_batches(symbol, trades).try_for_each(|batch| columns.write(&batch?))
            }
        }
    }

    /// Writes the footer and returns the output.
    pub fn finish(self) -> Result<W, FileError> {
        self.output.finish()
    }
}

fn trade_batches(symbol: &Symbol, trades: &Trades) -> impl Iterator<Item = Result<RecordBatch, FileError>> {
    let starts = (0..trades.len()).step_by(WRITE_ROWS);
    starts.map(move |start| trade_batch(symbol, trades, start..trades.len().min(start + WRITE_ROWS)))
}

fn trade_batch(symbol: &Symbol, trades: &Trades, rows: Range<usize>) -> Result<RecordBatch, FileError> {
    let time = trades.time.get(rows.clone()).unwrap_or_default();
    let price = trades.price.get(rows.clone()).unwrap_or_default();
    let volume = trades.volume.get(rows.clone()).unwrap_or_default();
    let direction = trades.direction.get(rows.clone()).unwrap_or_default();
    let kind = trades.kind.get(rows).unwrap_or_default();
    let millis = time.iter().map(|at| at.saturating_mul(1000)).collect::<Vec<i64>>();
    let prices = price.iter().copied().map(i128::from).collect();
    let directions = direction.iter().map(|direction| TradeDirection::as_str(*direction));
    let batch = RecordBatch::try_new(
        trade_schema(),
        vec![
            Arc::new(StringArray::from_iter_values(time.iter().map(|_| symbol.as_str()))),
            Arc::new(TimestampMillisecondArray::from(millis).with_timezone("UTC")),
            Arc::new(decimal(prices, PRICE_DIGITS)?),
            Arc::new(Int64Array::from(volume.to_vec())),
            Arc::new(StringArray::from_iter_values(directions)),
            Arc::new(StringArray::from_iter_values(kind.iter().map(ToString::to_string))),
        ],
    );
    batch.map_err(unencoded)
}

fn decimal(values: Vec<i128>, digits: u8) -> Result<Decimal128Array, FileError> {
    let array = Decimal128Array::from(values).with_precision_and_scale(digits, SCALE).map_err(unencoded)?;
    array.validate_decimal_precision(digits).map_err(unencoded)?;
    Ok(array)
}

fn candle_schema() -> SchemaRef {
    let price = DataType::Decimal128(PRICE_DIGITS, SCALE);
    Arc::new(Schema::new(vec![
        Field::new("symbol", DataType::Utf8, false),
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), false),
        Field::new("open", price.clone(), false),
        Field::new("high", price.clone(), false),
        Field::new("low", price.clone(), false),
        Field::new("close", price, false),
        Field::new("volume", DataType::Int64, false),
        Field::new("turnover", DataType::Decimal128(TURNOVER_DIGITS, SCALE), false),
        Field::new("session", DataType::Utf8, false),
    ]))
}

fn trade_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("symbol", DataType::Utf8, false),
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), false),
        Field::new("price", DataType::Decimal128(PRICE_DIGITS, SCALE), false),
        Field::new("volume", DataType::Int64, false),
        Field::new("direction", DataType::Utf8, false),
        Field::new("type", DataType::Utf8, false),
    ]))
}

fn text_line(
    out: &mut Vec<u8>,
    symbol: &Symbol,
    zone: &Zone,
    decimals: u32,
    candle: &Candle,
) -> std::io::Result<()> {
    write!(out, "{symbol},{}", zone.rfc3339(candle.time))?;
    for price in [candle.open, candle.high, candle.low, candle.close] {
        out.push(b',');
        write_decimal(out, i128::from(price.0), decimals)?;
    }
    write!(out, ",{},", candle.volume)?;
    write_decimal(out, candle.turnover.0, 0)?;
    writeln!(out, ",{}", candle.session)
}

/// Writes a value in millionths with at least `decimals` decimals, and more if needed to be exact.
fn write_decimal(out: &mut Vec<u8>, value: i128, decimals: u32) -> std::io::Result<()> {
    let unit = 10u64.pow(DECIMALS_MAX);
    if value < 0 {
        out.push(b'-');
    }
    // 64-bit division is many times faster than 128-bit division, and sufficient for all prices and
    // most turnovers.
    let mut rest = match u64::try_from(value.unsigned_abs()) {
        Ok(small) => {
            write!(out, "{}", small / unit)?;
            small % unit
        }
        Err(_) => {
            write!(out, "{}", value.unsigned_abs() / u128::from(unit))?;
            u64::try_from(value.unsigned_abs() % u128::from(unit)).unwrap_or_default()
        }
    };
    let mut width = DECIMALS_MAX;
    while width > decimals.min(DECIMALS_MAX) && rest % 10 == 0 {
        rest /= 10;
        width -= 1;
    }
    if width > 0 {
        write!(out, ".{rest:0width$}", width = width as usize)?;
    }
    Ok(())
}

fn unwritten(error: std::io::Error) -> FileError {
    Problem::Write(error).at(Path::new("export"))
}

fn unencoded(error: impl std::error::Error + Send + Sync + 'static) -> FileError {
    Problem::Encode(Box::new(error)).at(Path::new("export"))
}
