//! Parses a batch: JSON or lines of JSON, plain or compressed. Only errors in its head refuse the
//! whole batch; rows are refused individually.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use history::ingest::{Receipt, Rows};
use market::Timestamp;
use serde_json::{Map, Value};

use crate::ingest::{BYTES_MAX, NewBatch, ROWS_MAX};
use crate::kit::doc::described_only;
use crate::kit::{Call, Problem};

const SOURCE_MAX: usize = 40;
const NDJSON: &str = "application/x-ndjson";

/// A batch with unparsed rows. `Err` contains the text of a line that is not valid JSON.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) source: String,
    pub(super) seq: Option<i64>,
    pub(super) gap: bool,
    pub(super) build: bool,
    pub(super) rows: Vec<Result<Value, String>>,
}

described_only! {
    /// A batch of candles.
    #[schemars(rename = "IngestCandles")]
    pub(super) struct CandleBatch {
        /// Name of the feed: lower-case letters, digits, `.`, `_` and `-`, at most 40.
        source: String,
        /// Number of the batch: one more than the number of the source's previous batch.
        seq: Option<i64>,
        /// Whether batches with lower numbers may be missing.
        gap: Option<bool>,
        rows: Vec<CandleRow>,
    }

    #[schemars(rename = "IngestCandle")]
    pub(super) struct CandleRow {
        symbol: String,
        /// `1m`, the default, or `day`.
        period: Option<String>,
        /// Start of the candle: RFC 3339, or Unix seconds or milliseconds.
        time: Value,
        /// A decimal, as text or as a number, like all prices.
        open: Value,
        high: Value,
        low: Value,
        close: Value,
        volume: Value,
        turnover: Option<Value>,
        /// Whether the candle is complete; default: true if its period has ended.
        r#final: Option<bool>,
    }

    /// A batch of trades.
    #[schemars(rename = "IngestTrades")]
    pub(super) struct TradeBatch {
        /// Name of the feed: lower-case letters, digits, `.`, `_` and `-`, at most 40.
        source: String,
        /// Number of the batch: one more than the number of the source's previous batch.
        seq: Option<i64>,
        /// Whether batches with lower numbers may be missing.
        gap: Option<bool>,
        /// Whether to build one-minute candles from the trades.
        build: Option<bool>,
        rows: Vec<TradeRow>,
    }

    #[schemars(rename = "IngestTrade")]
    pub(super) struct TradeRow {
        symbol: String,
        /// RFC 3339, or Unix seconds or milliseconds.
        time: Value,
        price: Value,
        volume: Value,
        /// `up`, `down` or `neutral`, or a number of the protocol.
        direction: Option<Value>,
        /// Trade type of the exchange.
        r#type: Option<String>,
        /// Id of the trade at its source. A trade whose id is already stored is not added again.
        id: Option<Value>,
    }
}

/// The body of a request, decompressed.
#[derive(Debug)]
pub(super) struct Body<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) is_lines: bool,
}

impl<'a> Body<'a> {
    pub(super) fn of(call: &Call<'a>) -> Result<Body<'a>, Problem> {
        let is_gzip = match call.header("content-encoding").map(str::trim) {
            None | Some("" | "identity") => false,
            Some(coding) if coding.eq_ignore_ascii_case("gzip") => true,
            Some(_) => return Err(wrong("content-encoding is gzip, or absent")),
        };
        let bytes = if is_gzip { Cow::Owned(unpack(call.body)?) } else { Cow::Borrowed(call.body) };
        let media = call.header("content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        Ok(Body { bytes, is_lines: media.eq_ignore_ascii_case(NDJSON) })
    }
}

impl Batch {
    pub(super) fn read(body: &Body<'_>) -> Result<Batch, Problem> {
        let batch = if body.is_lines { of_lines(&body.bytes) } else { of_json(&body.bytes) }?;
        if batch.rows.len() > ROWS_MAX {
            return Err(Problem::file_too_large(format!("a batch has at most {ROWS_MAX} rows")));
        }
        Ok(batch)
    }

    /// Returns the batch with parsed rows.
    pub(super) fn with(self, rows: Rows, now: Timestamp, answer: fn(&Receipt) -> String) -> NewBatch {
        let Batch { source, seq, gap, build, .. } = self;
        NewBatch { source, seq, gap, build, rows, now, answer }
    }

    fn of(mut head: Map<String, Value>, rows: Vec<Result<Value, String>>) -> Result<Batch, Problem> {
        let source = match head.remove("source") {
            Some(Value::String(source)) if is_source(&source) => source,
            _ => {
                return Err(wrong(
                    "source is required: at most 40 lower-case letters, digits, dots, underscores and hyphens",
                ));
            }
        };
        let seq = match head.remove("seq") {
            None | Some(Value::Null) => None,
            Some(seq) => Some(seq.as_i64().ok_or_else(|| wrong("seq is a whole number"))?),
        };
        let mut flag = |name: &str| match head.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(wrong(&format!("{name} is true or false"))),
        };
        let (gap, build) = (flag("gap")?, flag("build")?);
        Ok(Batch { source, seq, gap, build, rows })
    }
}

pub(super) fn is_source(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    (1..=SOURCE_MAX).contains(&text.len()) && text.bytes().all(fits)
}

fn of_json(body: &[u8]) -> Result<Batch, Problem> {
    let mut head: Map<String, Value> =
        serde_json::from_slice(body).map_err(|error| wrong(&format!("the body is not a batch: {error}")))?;
    match head.remove("rows") {
        Some(Value::Array(rows)) => Batch::of(head, rows.into_iter().map(Ok).collect()),
        _ => Err(wrong("rows is required: a list")),
    }
}

fn of_lines(body: &[u8]) -> Result<Batch, Problem> {
    let mut lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let head = lines.next().unwrap_or_default();
    let head: Map<String, Value> = serde_json::from_slice(head)
        .map_err(|error| wrong(&format!("the first line is not a head: {error}")))?;
    let row =
        |line: &[u8]| serde_json::from_slice(line).map_err(|_| String::from_utf8_lossy(line).into_owned());
    // Keep one row more than permitted, so that a batch with too many rows is refused.
    Batch::of(head, lines.take(ROWS_MAX + 1).map(row).collect())
}

fn unpack(body: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(body).take(BYTES_MAX as u64 + 1).read_to_end(&mut unpacked);
    read.map_err(|_| wrong("the body cannot be decompressed"))?;
    if unpacked.len() > BYTES_MAX {
        return Err(Problem::file_too_large(format!("a batch has at most {BYTES_MAX} bytes")));
    }
    Ok(unpacked)
}

fn wrong(text: &str) -> Problem {
    Problem::bad_request(text)
}
