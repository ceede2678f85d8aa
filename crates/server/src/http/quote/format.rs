//! Candle formats and content negotiation.

use std::fmt::Write;
use std::io::Cursor;

use bytes::Bytes;
use files::CandleSink;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use market::{Price, Zone};
use serde_json::Value;

use crate::kit::envelope::Problem;
use crate::kit::fields::echo;
use crate::preferences::{self, preferences};
use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Csv,
    Arrow,
    Parquet,
}

impl Format {
    const ALL: [Format; 4] = [Format::Json, Format::Csv, Format::Arrow, Format::Parquet];

    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Arrow => "arrow",
            Format::Parquet => "parquet",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Csv => "text/csv",
            Format::Arrow => "application/vnd.apache.arrow.stream",
            Format::Parquet => "application/vnd.apache.parquet",
        }
    }

    pub(super) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Format::Json => "application/json; charset=utf-8",
            Format::Csv => "text/csv; charset=utf-8; header=present",
            other => other.media_type(),
        })
    }

    pub(super) fn parse(name: &str) -> Result<Format, Refusal> {
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            Refusal::Malformed(format!("format {:?} is not one of json, csv, arrow, parquet", echo(name)))
        })
    }

    /// Returns the format that the `Accept` header prefers, or JSON if there is no such header.
    /// Among formats of equal weight, the first wins.
    pub(super) fn accepted(headers: &HeaderMap) -> Result<Format, Problem> {
        let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
        let mut best: Option<(u16, Format)> = None;
        let mut any = false;
        for range in preferences(lines) {
            any = true;
            let Some(format) = Format::of_range(range.value) else { continue };
            // An invalid weight is ignored.
            let weight = range.weight.unwrap_or(preferences::FULL);
            if weight > best.map_or(0, |(weight, _)| weight) {
                best = Some((weight, format));
            }
        }
        match best {
            Some((_, format)) => Ok(format),
            None if !any => Ok(Format::Json),
            None => {
                let types = Format::ALL.map(Format::media_type).join(", ");
                Err(Problem::not_acceptable(&format!(
                    "none of the accepted types is supported: supported types are {types}"
                )))
            }
        }
    }

    fn of_range(range: &str) -> Option<Format> {
        let range = range.to_ascii_lowercase();
        match range.as_str() {
            "*/*" | "application/*" => Some(Format::Json),
            "text/*" => Some(Format::Csv),
            range => Format::ALL.into_iter().find(|format| format.media_type() == range),
        }
    }

    /// Encodes candles as a response body. JSON also contains the token of the next page.
    pub(super) fn encode(
        self,
        answer: &history::Answer,
        zone: &Zone,
        next: Option<&str>,
    ) -> Result<Bytes, Problem> {
        let body = match self {
            Format::Json => {
                json(answer, zone, next).map(String::into_bytes).map_err(|error| error.to_string())
            }
            Format::Csv => file(files::Format::Csv, answer, zone),
            Format::Parquet => file(files::Format::Parquet, answer, zone),
            Format::Arrow => file(files::Format::ArrowIpc, answer, zone)
                .and_then(|file| stream(file).map_err(|error| error.to_string())),
        };
        body.map(Bytes::from).map_err(|error| {
            tracing::error!(error, format = self.name(), "cannot write candles");
            Problem::internal()
        })
    }
}

/// Writes JSON with the field names of the protocol, and `time` in RFC 3339. Candles are written
/// one at a time, so that ten thousand candles need no JSON tree in memory.
fn json(answer: &history::Answer, zone: &Zone, next: Option<&str>) -> Result<String, std::fmt::Error> {
    let mut text = String::with_capacity(256 + 240 * answer.candles.len());
    let symbol = Value::from(answer.symbol.as_str());
    write!(
        text,
        r#"{{"code":0,"message":"success","data":{{"symbol":{symbol},"period":"{}","#,
        answer.period
    )?;
    text.write_str(r#""candlesticks":["#)?;
    for (row, candle) in answer.candles.iter().enumerate() {
        let price = |price: Price| price.text(answer.decimals);
        if row > 0 {
            text.push(',');
        }
        write!(
            text,
            r#"{{"close":"{}","open":"{}","low":"{}","high":"{}","volume":{},"turnover":"{}","timestamp":{},"#,
            price(candle.close),
            price(candle.open),
            price(candle.low),
            price(candle.high),
            candle.volume,
            candle.turnover.text(),
            candle.time.0,
        )?;
        write!(
            text,
            r#""trade_session":{},"time":"{}"}}"#,
            candle.session.code(),
            zone.rfc3339(candle.time)
        )?;
    }
    write!(text, r#"],"next":{}}}}}"#, next.map_or(Value::Null, Value::from))?;
    Ok(text)
}

fn file(format: files::Format, answer: &history::Answer, zone: &Zone) -> Result<Vec<u8>, String> {
    let write = || {
        let mut sink = CandleSink::create(format, Vec::new())?;
        sink.write(&answer.symbol, zone, answer.decimals, &answer.candles)?;
        sink.finish()
    };
    write().map_err(|error: files::FileError| error.to_string())
}

/// Converts Arrow's file format to its stream format, which has the same batches without the
/// footer.
fn stream(file: Vec<u8>) -> Result<Vec<u8>, impl std::fmt::Display> {
    let convert = || {
        let batches = arrow_ipc::reader::FileReader::try_new(Cursor::new(file), None)?;
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batches.schema())?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.into_inner()
    };
    convert()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], wanted: Option<Format>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT, HeaderValue::from_str(line).unwrap());
        }
        assert_eq!(Format::accepted(&headers).ok(), wanted, "{lines:?}");
    }

    #[test]
    fn a_client_gets_the_format_it_prefers() {
        check(&[], Some(Format::Json));
        check(&[""], Some(Format::Json));
        check(&["*/*"], Some(Format::Json));
        check(&["text/csv"], Some(Format::Csv));
        check(&["Text/CSV; charset=utf-8"], Some(Format::Csv));
        check(&["application/vnd.apache.arrow.stream"], Some(Format::Arrow));
        check(&["application/vnd.apache.parquet, */*;q=0.1"], Some(Format::Parquet));
        check(&["*/*;q=0.1", "application/vnd.apache.parquet;q=0.2"], Some(Format::Parquet));
        check(&["text/csv;q=0.5, application/json;q=0.75"], Some(Format::Json));
        check(&["text/csv, application/json"], Some(Format::Csv));
        check(&["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], Some(Format::Json));
        check(&["text/csv;q=0, text/html"], None);
        check(&["text/html"], None);
        check(&["text/csv;q=nonsense"], Some(Format::Csv));
    }
}
