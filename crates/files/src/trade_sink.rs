//! Writes single trades to a file: text, Parquet or Arrow, with the columns that an import reads.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use market::{DECIMALS_MAX, Symbol, TradeDirection, Trades, Zone};
use parquet::arrow::ArrowWriter;

use crate::sink::{PRICE_DIGITS, SCALE, WRITE_ROWS, decimal, parquet_properties, unencoded, unwritten};
use crate::{FileError, Format};

/// Writes trades to any output in one of the formats. An export is complete only after [`TradeSink::finish`].
pub struct TradeSink<W: Write + Send> {
    inner: Inner<W>,
}

enum Inner<W: Write + Send> {
    Csv(std::io::BufWriter<W>),
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<arrow_ipc::writer::FileWriter<W>>),
}

impl<W: Write + Send> std::fmt::Debug for TradeSink<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let format = match self.inner {
            Inner::Csv(_) => Format::Csv,
            Inner::Parquet(_) => Format::Parquet,
            Inner::Arrow(_) => Format::ArrowIpc,
        };
        f.debug_struct("TradeSink").field("format", &format).finish_non_exhaustive()
    }
}

impl<W: Write + Send> TradeSink<W> {
    pub fn create(format: Format, out: W) -> Result<TradeSink<W>, FileError> {
        let inner = match format {
            Format::Csv => {
                let mut out = std::io::BufWriter::with_capacity(256 * 1024, out);
                out.write_all(b"symbol,time,price,volume,direction,type\n").map_err(unwritten)?;
                Inner::Csv(out)
            }
            Format::Parquet => {
                let writer = ArrowWriter::try_new(out, schema(), Some(parquet_properties()));
                Inner::Parquet(Box::new(writer.map_err(unencoded)?))
            }
            Format::ArrowIpc => {
                let writer = arrow_ipc::writer::FileWriter::try_new(out, &schema()).map_err(unencoded)?;
                Inner::Arrow(Box::new(writer))
            }
        };
        Ok(TradeSink { inner })
    }

    /// Appends trades of one security.
    pub fn write(&mut self, symbol: &Symbol, zone: &Zone, trades: &Trades) -> Result<(), FileError> {
        match &mut self.inner {
            Inner::Csv(out) => {
                for trade in trades.iter() {
                    let (time, price) = (zone.rfc3339(trade.time), trade.price.text(DECIMALS_MAX));
                    let (direction, kind) = (trade.direction.as_str(), trade.kind);
                    writeln!(out, "{symbol},{time},{price},{},{direction},{kind}", trade.volume)
                        .map_err(unwritten)?;
                }
                Ok(())
            }
            Inner::Parquet(writer) => {
                batches(symbol, trades).try_for_each(|batch| writer.write(&batch?).map_err(unencoded))
            }
            Inner::Arrow(writer) => {
                batches(symbol, trades).try_for_each(|batch| writer.write(&batch?).map_err(unencoded))
            }
        }
    }

    /// Writes the file's end, and returns the output.
    pub fn finish(self) -> Result<W, FileError> {
        match self.inner {
            Inner::Csv(out) => out.into_inner().map_err(|error| unwritten(error.into_error())),
            Inner::Parquet(writer) => writer.into_inner().map_err(unencoded),
            Inner::Arrow(writer) => writer.into_inner().map_err(unencoded),
        }
    }
}

fn batches(symbol: &Symbol, trades: &Trades) -> impl Iterator<Item = Result<RecordBatch, FileError>> {
    let starts = (0..trades.len()).step_by(WRITE_ROWS);
    starts.map(move |start| batch(symbol, trades, start..trades.len().min(start + WRITE_ROWS)))
}

fn batch(symbol: &Symbol, trades: &Trades, rows: Range<usize>) -> Result<RecordBatch, FileError> {
    let time = trades.time.get(rows.clone()).unwrap_or_default();
    let price = trades.price.get(rows.clone()).unwrap_or_default();
    let volume = trades.volume.get(rows.clone()).unwrap_or_default();
    let direction = trades.direction.get(rows.clone()).unwrap_or_default();
    let kind = trades.kind.get(rows).unwrap_or_default();
    let millis = time.iter().map(|at| at.saturating_mul(1000)).collect::<Vec<i64>>();
    let prices = price.iter().copied().map(i128::from).collect();
    let directions = direction.iter().map(|direction| TradeDirection::as_str(*direction));
    let batch = RecordBatch::try_new(
        schema(),
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

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("symbol", DataType::Utf8, false),
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), false),
        Field::new("price", DataType::Decimal128(PRICE_DIGITS, SCALE), false),
        Field::new("volume", DataType::Int64, false),
        Field::new("direction", DataType::Utf8, false),
        Field::new("type", DataType::Utf8, false),
    ]))
}
